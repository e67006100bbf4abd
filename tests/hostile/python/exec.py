# Becomes another program, which gives the result.
# expect: finished
# gives: r1
import os
os.execv("/bin/sh", ["sh", "-c", "echo 'r\"r1\"' >&3"])
