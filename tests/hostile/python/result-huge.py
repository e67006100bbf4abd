# Gives more than a result may be, past the module that refuses it.
# expect: limit result
import os
data = memoryview(b'r"' + b"x" * 3_000_000 + b'"\n')
while data:
    data = data[os.write(3, data):]
