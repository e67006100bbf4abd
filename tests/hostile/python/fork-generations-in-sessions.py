# Forks, and all its forks do so, too, for nine generations, each in a session of its own.
# expect: limit
import os, time
for _ in range(9):
    if os.fork() == 0:
        os.setsid()
time.sleep(1000)
