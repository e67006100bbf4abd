# Writes over the files of its engine, so that they run for the next job.
# expect: finished
# gives: 0
import hero, os
written = 0
engine = os.path.dirname(os.path.dirname(os.getcwd()))
for path in (f"{engine}/python/hero.py", f"{engine}/python/runner.py", f"{engine}/new", f"{engine}/jobs/new"):
    try:
        open(path, "w").close()
        written += 1
    except OSError:
        pass
hero.result(written)
