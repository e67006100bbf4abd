# Closes every descriptor, and then fails.
# expect: script
import os
os.closerange(0, 1024)
raise ValueError("nobody hears it")
