# Has each process start its successor in a new session before it ends.
# expect: timeout
# timeout: 0.7
echo 'sleep 0.01; setsid bash next & ' > next
setsid bash next &
sleep 1000
