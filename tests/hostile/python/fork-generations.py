# Forks, and all its forks do so, too, for nine generations.
# expect: limit or limit memory
import os, time
for _ in range(9):
    os.fork()
time.sleep(1000)
