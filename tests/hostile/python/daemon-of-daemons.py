# Leaves processes that start their successors in new sessions, and ends.
# expect: finished
import os, time
def follow():
    while True:
        if os.fork():
            os._exit(0)
        os.setsid()
        time.sleep(0.01)
if os.fork() == 0:
    follow()
time.sleep(0.05)
