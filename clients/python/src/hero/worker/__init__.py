"""Runs jobs in Python: an actor that uses hero's functions in Redis (docs/protocol.md).

    from hero.worker import Worker, current

    worker = Worker("images", redis="redis://127.0.0.1:6379")

    @worker.task("resize")
    def resize(path: str, width: int = 100) -> str:
        current().progress(50, "half way")
        return path

    worker.run()

A job of the script type `images` whose script is `resize` runs this task: `hero.run("resize", script_type="images",
args={"path": "x"})`. A job runs at least once: a killed worker loses its leases, and its jobs run again elsewhere. So a
repeated task must do no harm. Functions that are not `async` run in threads; `async` functions share one event loop,
which they must not block.
"""

from .actor import Worker
from .job import Job, LogHandler, StopRequested, current

__all__ = ["Job", "LogHandler", "StopRequested", "Worker", "current"]
