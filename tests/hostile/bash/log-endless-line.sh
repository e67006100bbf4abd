# Logs fifty megabytes without a line break.
# expect: finished
head -c 50000000 /dev/zero | tr '\0' x
