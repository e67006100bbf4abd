# Logs fifty megabytes without a line break.
# expect: finished
import sys
for _ in range(50):
    sys.stdout.write("x" * 1_000_000)
