# Has memory in sockets.
# expect: limit memory
import os, socket, time
for _ in range(16):
    if os.fork() == 0:
        pairs = [socket.socketpair() for _ in range(480)]
        time.sleep(1000)
time.sleep(1000)
