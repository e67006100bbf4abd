# Run with bash, as a command of the configuration (examples/commands/hero.toml):
#   hero run --env WORDS='one two three' examples/commands/count.sh
set -euo pipefail

count=0
for word in ${WORDS:-}; do
  echo "word $((++count)): $word" # A line of the log.
done
# The result goes to a separate descriptor, so printed lines cannot be mistaken for it.
echo "{\"words\": $count}" >&"$HERO_RESULT_FD"
