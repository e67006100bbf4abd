# Starts a program with an argument of a hundred megabytes.
# expect: script
# says: Argument list too long
import subprocess
subprocess.run(["/bin/true", "x" * 100_000_000])
