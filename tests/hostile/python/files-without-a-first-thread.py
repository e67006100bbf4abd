# Holds files without names in a process whose first thread has ended.
# expect: limit
import ctypes, os, threading, time
def hold():
    kept = [os.open(str(n), os.O_CREAT | os.O_RDWR) for n in range(6)]
    for number, file in enumerate(kept):
        os.unlink(str(number))
        os.posix_fallocate(file, 0, 200 << 20)
    time.sleep(1000)
if os.fork() == 0:
    threading.Thread(target=hold).start()
    ctypes.CDLL(None).pthread_exit(None)
time.sleep(1000)
