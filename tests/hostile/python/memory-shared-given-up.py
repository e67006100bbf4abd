# Has memory that its mapping has given up, and that is there all the same.
# expect: limit memory
import mmap, time
kept = mmap.mmap(-1, 3 << 30)
time.sleep(1000)
