# Closes all that it was given, and fails.
# expect: script
# says: exit code 7
exec 0<&- 1>&- 2>&- 3>&- 4>&-
exit 7
