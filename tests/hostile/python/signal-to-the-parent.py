# Kills the process that it was forked from, and the one above that.
# expect: finished
# gives: 2
import hero, os, signal
refused, parent = 0, os.getppid()
try:
    above = int(open(f"/proc/{parent}/stat").read().rsplit(")", 1)[1].split()[1])
except OSError:
    above = 1  # In a namespace of its own the numbers in /proc are those of others.
for pid in (parent, above):
    try:
        os.kill(pid, signal.SIGKILL)
    except PermissionError:
        refused += 1
hero.result(refused)
