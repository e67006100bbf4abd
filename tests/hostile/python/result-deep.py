# Gives what is nested a hundred thousand deep.
# expect: script or limit result
import os
os.write(3, b"r" + b"[" * 100_000 + b"]" * 100_000 + b"\n")
