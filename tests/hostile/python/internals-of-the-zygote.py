# Looks for the socket of the process that it was forked from, in all that is in memory.
# expect: finished
# gives: []
import gc, hero, socket, sys
gc.unfreeze()
frame, found = sys._getframe(), []
while frame is not None:
    found += [value for value in frame.f_locals.values() if isinstance(value, socket.socket) and value.fileno() >= 0]
    frame = frame.f_back
found += [thing for thing in gc.get_objects() if isinstance(thing, socket.socket) and thing.fileno() >= 0]
hero.result([str(thing) for thing in found])
