# Gives a result without an end.
# expect: limit result
head -c 100000000 /dev/zero | tr '\0' 1 >&3
