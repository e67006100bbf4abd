# Reads and writes the memory of the process that it was forked from, and its files.
# expect: finished
# gives: 0
import hero, os
parent, opened = os.getppid(), 0
for path, mode in (("mem", "rb"), ("mem", "r+b"), ("fd/0", "rb"), ("fd/3", "rb"), ("cwd/python/runner.py", "r+b")):
    try:
        open(f"/proc/{parent}/{path}", mode).close()
        opened += 1
    except OSError:
        pass
hero.result(opened)
