# Gives itself more than it may have, and then less than it needs.
# expect: finished or script
ulimit -c unlimited; ulimit -f unlimited; ulimit -d unlimited; ulimit -n 1000000; ulimit -s 16; ulimit -n 5
sed --version
