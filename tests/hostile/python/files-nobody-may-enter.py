# Takes all rights from what it leaves, and from its own directory.
# expect: finished or script
import os
os.makedirs("a/b/c")
open("a/b/c/file", "w").close()
for path in ("a/b/c/file", "a/b/c", "a/b", "a", "script.py", "."):
    os.chmod(path, 0)
