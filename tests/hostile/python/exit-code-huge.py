# Ends with a code that is no code.
# expect: script
# says: exit code 255
import sys
sys.exit(2**70 - 1)
