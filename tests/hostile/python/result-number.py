# Gives a number that nobody can hold.
# expect: script
import os
os.write(3, b"r1e400\n")
