# Nests directories deeper than a path may be long.
# expect: finished
name=$(printf 'x%.0s' {1..200})
for ((i = 0; i < 40; i++)); do mkdir "$name" && cd -P "$name" || exit 0; done 2>/dev/null
exit 0
