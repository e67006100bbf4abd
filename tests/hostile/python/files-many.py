# Leaves twenty thousand files and directories.
# expect: finished
import os
for at in range(100):
    os.mkdir(f"d{at}")
    for number in range(200):
        open(f"d{at}/{number}", "w").close()
