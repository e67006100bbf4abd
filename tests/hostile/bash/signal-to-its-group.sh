# Kills everything in its own process group.
# expect: script
# says: signal 9
kill -9 0
