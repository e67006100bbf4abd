# Leaves a process behind in a session of its own, as daemons do.
# expect: finished
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
