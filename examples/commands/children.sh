# Run with bash, as a command of the configuration (examples/commands/hero.toml):
#   hero run examples/commands/children.sh
# A job that splits its work: children run after this script has ended, and a continuation then reads their results.
set -euo pipefail

# Creates a job and prints its id.
ask() {
  echo "$1 $2" >&"$HERO_ASK_FD"
  read -r said answer <&"$HERO_ASK_FD"
  [ "$said" = ok ] || { echo "$answer" >&2; exit 1; }
  echo "$answer"
}

of_child='echo $(($(cat $HERO_ARGS) ** 2)) >&3'
of_continuation='echo inputs >&4; read -r said inputs <&4; echo "$inputs" >&3'
ids=
for part in 1 2 3; do
  echo "progress $part part $part of 3" >&"$HERO_ASK_FD"
  id=$(ask spawn "{\"script\": \"$of_child\", \"script_type\": \"bash\", \"args\": $part, \"name\": \"part $part\"}")
  ids="$ids${ids:+, }\"$id\""
done
continuation=$(ask then "{\"script\": \"${of_continuation//\"/\\\"}\", \"script_type\": \"bash\", \"prerequisites\": [$ids]}")
echo "$continuation" >&"$HERO_RESULT_FD"
