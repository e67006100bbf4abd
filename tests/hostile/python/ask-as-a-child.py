# Asks from a process that it has forked, which would take the answer of its parent.
# expect: finished
# gives: [1,0]
import hero, os
child = os.fork()
if child == 0:
    try:
        hero.spawn(script="1")
    except RuntimeError:
        os._exit(1)
    os._exit(0)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]
hero.progress(1)
hero.result(codes + [0])
