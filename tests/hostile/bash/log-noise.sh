# Logs no text, and what steers terminals.
# expect: finished
head -c 300000 /dev/urandom
printf '\e[2J\e]0;mine\a\r\0' >&2
