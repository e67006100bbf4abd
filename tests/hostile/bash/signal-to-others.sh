# Kills the process that watches it.
# expect: finished
# gives: refused
kill -9 $PPID 2>/dev/null && echo killed >&3 || echo refused >&3
