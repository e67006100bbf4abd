# Gives a result that is no text.
# expect: script
# says: not UTF-8
printf '\xff\xfe' >&3
