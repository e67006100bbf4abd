# Asks without reading the answers, and ends.
# expect: finished
import os
os.set_blocking(4, False)
for _ in range(100_000):
    try:
        os.write(4, b"slot\n")
    except BlockingIOError:
        break
