# Starts more processes than a job may have.
# expect: limit
for i in {1..400}; do sleep 1000 & done
wait
