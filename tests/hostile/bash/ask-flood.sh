# Asks a hundred thousand times, reads no answer, and ends.
# expect: finished
for ((i = 0; i < 100000; i++)); do echo "progress $i of many"; done >&4
echo "spawn {}" >&4
