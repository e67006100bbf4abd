# Leaves ten thousand files and directories, however slow the disk is.
# expect: finished
# timeout: 110
import os
for at in range(100):
    os.mkdir(f"d{at}")
    for number in range(100):
        open(f"d{at}/{number}", "w").close()
