# Does not want to end.
# expect: timeout
# timeout: 0.5
trap '' TERM INT HUP QUIT ALRM
while :; do :; done
