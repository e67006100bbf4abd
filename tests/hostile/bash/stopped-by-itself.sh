# Stops itself, so that it hears no signal.
# expect: timeout
# timeout: 0.5
kill -STOP $$
