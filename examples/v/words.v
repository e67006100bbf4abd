// Run with a pool of V, where its compiler is (hero serve --pool v=2):
//   hero run --env WORDS='one two three' examples/v/words.v
import os

words := os.getenv('WORDS').fields()
for word in words {
	println('word: ${word}') // A line of the log.
}
// The result goes to a separate descriptor, so printed lines cannot be mistaken for it.
os.fd_write(os.getenv('HERO_RESULT_FD').int(), '{"words": ${words.len}}')
