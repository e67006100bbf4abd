# Logs a million lines, all of them short.
# expect: finished
import os
for _ in range(100):
    os.write(1, b"x\n" * 10_000)
