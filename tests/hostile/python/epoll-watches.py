# Forks 26 times, and each fork has many epolls watch what they can: a user has only so many watches.
# expect: limit memory
import os, select, time
for _ in range(26):
    if os.fork() == 0:
        read, _write = os.pipe()
        watched = [os.dup(read) for _ in range(500)]
        epolls = [select.epoll() for _ in range(20)]
        for epoll in epolls:
            for descriptor in watched:
                epoll.register(descriptor, select.EPOLLIN)
        time.sleep(1000)
time.sleep(1000)
