# Wants all memory there is.
# expect: script
x=xxxxxxxxxxxxxxxx
while :; do x=$x$x; done
