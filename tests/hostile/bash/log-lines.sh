# Logs five million empty lines, and as many errors.
# expect: finished
yes '' | head -n 5000000
yes '' | head -n 5000000 >&2
