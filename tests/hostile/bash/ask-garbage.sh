# Writes no text where questions are asked.
# expect: finished
head -c 1000000 /dev/urandom >&4 &
cat <&4 >/dev/null &
wait %1
