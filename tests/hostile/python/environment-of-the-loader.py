# Brings variables that mean something to the loader and to Python.
# env: {"LD_PRELOAD": "/nonexistent/a.so", "PYTHONPATH": "/nonexistent/b", "PYTHONHOME": "/nonexistent/c", "PYTHONINSPECT": "1", "HERO_ASK_FD": "0"}
# expect: finished
# gives: true
import hero, os, sys
hero.result(not any("nonexistent" in path for path in sys.path) and os.environ["HERO_JOB_ID"] == hero.job_id)
