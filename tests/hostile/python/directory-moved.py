# Moves and removes the directory that it works in, and that above it.
# expect: finished
# gives: [true,true,true]
import hero, os
here, refused = os.getcwd(), []
for attempt in (lambda: os.rename(here, here + ".moved"), lambda: os.rename(os.path.dirname(here), "mine"), lambda: os.rmdir(here)):
    try:
        attempt()
        refused.append(False)
    except OSError:
        refused.append(True)
hero.result(refused)
