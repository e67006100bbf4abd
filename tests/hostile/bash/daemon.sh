# Leaves a daemon in a session of its own, which hears no signal.
# expect: finished
setsid bash -c 'trap "" TERM HUP INT; setsid sleep 1000 & exec sleep 1000' <&- >&- 2>&- 3>&- 4>&- &
sleep 0.05
