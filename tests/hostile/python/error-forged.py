# Tells errors of its own where the runner tells them, with fields that nobody has.
# expect: script
# says: forged
import os
for told in (b"e{}\n", b'e{"message": 1}\n', b'e{"message": "x", "line": -1, "column": 1e99, "stack": [1], "limit": 3}\n', b"e\n", b"\n", b"\xff\n"):
    os.write(3, told)
os.write(3, b'e{"message": "forged", "line": 4294967295, "column": 0, "stack": ["' + b"x" * 100_000 + b'"], "limit": false}\n')
os._exit(0)
