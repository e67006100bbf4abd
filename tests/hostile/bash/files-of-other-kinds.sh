# Leaves pipes, sockets and files with odd names, and makes devices.
# expect: finished
# gives: refused
mkfifo pipe $'line\nbreak' $'\xff'
mknod disk b 1 0 2>/dev/null && echo made >&3 || echo refused >&3
