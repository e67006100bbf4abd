# Leaves files whose names are no text, or as those that are used when they are removed.
# expect: finished
import os
for name in (b"\xff\xfe", b"\n", b" ", b"1.removed", b"2.removed", b"-rf", b"x" * 255):
    open(name, "w").close()
os.makedirs("a/1.removed/2.removed/3.removed")
os.mkfifo("pipe")
