# Looks for descriptors of others.
# expect: finished
# gives: [0,1,2,3,4]
import hero, os
open_ones = []
for descriptor in range(1024):
    try:
        os.fstat(descriptor)
        open_ones.append(descriptor)
    except OSError:
        pass
hero.result(open_ones)
