# Ends the process from many threads at once.
# expect: finished
import os, threading
for _ in range(50):
    threading.Thread(target=os._exit, args=(0,)).start()
