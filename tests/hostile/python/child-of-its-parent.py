# Makes a process that is a child of its own parent, in whose memory scripts begin, and ends.
# expect: finished
import ctypes, platform, signal, time
CLONE_PARENT = 0x8000
CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine())
if CLONE and ctypes.CDLL(None).syscall(CLONE, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0) == 0:
    time.sleep(1000)
