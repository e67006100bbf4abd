# Holds files without names by mappings alone.
# expect: limit
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for number in range(6):
    file = os.open("file", os.O_CREAT | os.O_RDWR)
    os.posix_fallocate(file, 0, 200 << 20)
    # The module mmap would keep the descriptor.
    libc.mmap(None, 200 << 20, 1, 1, file, 0)
    os.unlink("file")
    os.close(file)
time.sleep(1000)
