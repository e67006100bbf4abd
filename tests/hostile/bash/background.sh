# Ends at once, and leaves what holds its pipes open.
# expect: finished
sleep 1000 &
(sleep 1000; echo 1 >&3) &
