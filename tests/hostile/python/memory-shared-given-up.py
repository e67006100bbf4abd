# Has memory that its mapping has given up, and that is there all the same.
# expect: limit memory
import mmap, time
kept, step = mmap.mmap(-1, 3 << 30), 16 << 20
for at in range(0, len(kept), step):
    kept[at:at + step] = b"x" * step
    kept.madvise(mmap.MADV_DONTNEED, at, step)
time.sleep(1000)
