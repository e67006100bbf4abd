# Leaves links that lead out of its directory, to what lies beside it, and in circles.
# expect: finished
import os
for name, target in (("up", ".."), ("engine", "../.."), ("root", "/"), ("tmp", "/tmp"), ("self", "self"), ("proc", "/proc/self/fd")):
    os.symlink(target, name)
os.mkdir("deep")
os.symlink("../../..", "deep/engine")
os.unlink("args.json")
os.symlink("../..", "args.json")
