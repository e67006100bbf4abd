# Leaves threads that never end.
# expect: timeout
# timeout: 0.5
import threading, time
for _ in range(50):
    threading.Thread(target=time.sleep, args=(1000,)).start()
