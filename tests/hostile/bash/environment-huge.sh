# Starts programs with more environment than there may be.
# expect: script
# says: Argument list too long
export A=$(head -c 3000000 /dev/zero | tr '\0' x)
/bin/true
