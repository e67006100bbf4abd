# Holds files without names by mappings alone.
# expect: limit
import mmap, os, time
kept = []
for number in range(6):
    file = os.open("file", os.O_CREAT | os.O_RDWR)
    os.posix_fallocate(file, 0, 200 << 20)
    kept.append(mmap.mmap(file, 200 << 20))
    os.unlink("file")
    os.close(file)
time.sleep(1000)
