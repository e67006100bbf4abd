# Does not end when it has ended.
# expect: timeout
# timeout: 0.5
import atexit
def again():
    while True:
        pass
atexit.register(again)
