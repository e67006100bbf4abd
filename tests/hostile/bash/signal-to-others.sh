# Kills the process that watches it.
# expect: finished
# gives: refused
# In a namespace of its own it has none with a number, and 0 is its own group.
kill -9 "$(( PPID > 0 ? PPID : 1 ))" 2>/dev/null && echo killed >&3 || echo refused >&3
