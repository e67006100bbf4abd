# Logs what steers terminals, and what is no text.
# expect: finished
import os
os.write(1, b"\x1b[2J\x1b]0;mine\x07\r\x00\xff\xfe\xc3(\n" * 100)
os.write(2, bytes(range(256)) * 10)
