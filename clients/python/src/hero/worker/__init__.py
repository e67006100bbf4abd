"""Runs jobs in Python: an actor, by the functions that hero keeps in Redis (docs/protocol.md).

    from hero.worker import Worker, current

    worker = Worker("images", redis="redis://127.0.0.1:6379")

    @worker.task("resize")
    def resize(path: str, width: int = 100) -> str:
        current().progress(50, "half way")
        return path

    worker.run()

A job of the script type `images` whose script is `resize` runs it: `hero.run("resize", script_type="images", args={"path": "x"})`. A job runs
at least once: what is killed loses its lease, and the job runs again elsewhere. So a task that is repeated must do no harm. Functions that are
not `async` run in threads of their own; those that are share one event loop, which they must not block.
"""

from .actor import Worker
from .job import Job, LogHandler, StopRequested, current

__all__ = ["Job", "LogHandler", "StopRequested", "Worker", "current"]
