# Goes deeper than the stack of the process.
# expect: script
import sys
sys.setrecursionlimit(10**9)
deep = []
for _ in range(300_000):
    deep = [deep]
repr(deep)
