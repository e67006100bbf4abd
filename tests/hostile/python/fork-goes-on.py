# Ends while its fork goes on with the same descriptors, and gives another result.
# expect: finished
# gives: 1
import hero, os, time
hero.result(1)
if os.fork() == 0:
    time.sleep(0.3)
    hero.result(2)
    time.sleep(1000)
