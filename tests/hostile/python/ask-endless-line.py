# Asks a question without an end.
# expect: finished
import os
for _ in range(50):
    os.write(4, b"x" * (1 << 20))
