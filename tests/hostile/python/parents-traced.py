# Attaches to the process that it was forked from, as debuggers do.
# expect: finished
# gives: -1
import ctypes, hero, os
ATTACH = 16
hero.result(ctypes.CDLL(None).ptrace(ATTACH, os.getppid(), None, None))
