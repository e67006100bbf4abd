# Ignores a stop, and so does what it has started.
# expect: stopped
# stop: yes
trap '' TERM
for i in {1..20}; do bash -c 'trap "" TERM; while :; do sleep 0.1; done' & done
while :; do sleep 0.1; done
