# Becomes another program, which never ends.
# expect: timeout
# timeout: 0.5
exec tail -f /dev/null
