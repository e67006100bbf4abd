"""A job, as its task sees it."""

from __future__ import annotations

import contextvars
import json
import logging
import threading
import time
from collections import deque
from typing import Any, Literal

from ..errors import Error

Level = Literal["debug", "info", "warn", "error"]

LINES = 5000
"""Maximum number of log lines of one job that wait to be written."""
LONGEST_TEXT = 60_000
"""Maximum size of a log line or an error message in bytes."""
LONGEST_PROGRESS = 1000
"""Maximum size of a progress text in bytes."""

running_here: contextvars.ContextVar[Job] = contextvars.ContextVar("hero_job")


class StopRequested(Error):
    """The job must end: it was stopped, it timed out, or the worker ends."""


def current() -> Job:
    """Returns the job that runs in this thread or coroutine."""
    try:
        return running_here.get()
    except LookupError:
        raise RuntimeError(
            "no job runs here: `current()` is for tasks of a worker, in the thread or coroutine that was started for one"
        ) from None


class Said:
    """The log lines and progress of a task that are not written yet, and its stop signal."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.obeyed = False
        """Whether the task has seen the stop signal."""
        self.progress: tuple[float, str] | None = None
        self.lines: deque[tuple[Level, str]] = deque()
        self.dropped = 0


class Job:
    """A job that a worker runs."""

    def __init__(self, fields: dict[str, str], said: Said) -> None:
        self.id = fields["id"]
        self.claim = fields["claim"]
        """The claim of this run, which Redis checks."""
        self.attempt = int(fields.get("attempt") or 1)
        self.script = fields.get("script", "")
        self.timeout = _number(fields.get("timeout"), 60.0)
        self.fields = fields
        """The fields of its hash in Redis, as text."""
        self.began = time.monotonic()
        self._said = said

    @property
    def args(self) -> Any:
        """The arguments of the job."""
        return json.loads(self.fields.get("args") or "null")

    @property
    def env(self) -> dict[str, str]:
        """The environment of the job."""
        return dict(json.loads(self.fields.get("env_vars") or "{}"))

    @property
    def stopping(self) -> bool:
        """Whether the job must end. A long task in a thread must check this from time to time.

        Leave by `check()` or return nothing: a job whose task has seen True here and returns None has no result. It
        ends as stopped or timed out, or is requeued if the worker ends. Any other value is its result.
        """
        self._said.obeyed |= self._said.stop.is_set()
        return self._said.obeyed

    def check(self) -> None:
        """Raises `StopRequested` if the job must end."""
        if self.stopping:
            raise StopRequested("the job is to end")

    def progress(self, value: float, text: str = "") -> None:
        """Reports progress, usually in percent.

        The newest value is written at most twice a second. Works in any thread.
        """
        self._said.progress = (float(value), cut(text, LONGEST_PROGRESS))

    def log(self, text: str, level: Level = "info") -> None:
        """Adds a line to the job's log. Works in any thread.

        If too many lines wait to be written, further ones are dropped, and the log has their number.
        """
        if len(self._said.lines) >= LINES:
            self._said.dropped += 1
        else:
            self._said.lines.append((level, cut(text)))

    def __repr__(self) -> str:
        return f"<Job {self.id} attempt {self.attempt}: {self.script[:40]!r}>"


class LogHandler(logging.Handler):
    """Sends the log records of a task to the log of its job: `logging.getLogger().addHandler(LogHandler())`."""

    def emit(self, record: logging.LogRecord) -> None:
        job = running_here.get(None)
        if job is not None:
            number = record.levelno
            level: Level = "error" if number >= 40 else "warn" if number >= 30 else "info" if number >= 20 else "debug"
            job.log(self.format(record), level)


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """Cuts a text to at most `most` bytes and makes it valid UTF-8: a lone surrogate becomes its escape, `\\ud800`."""
    return text.encode(errors="backslashreplace")[:most].decode(errors="ignore")


def _number(text: str | None, default: float) -> float:
    try:
        return float(text) if text else default
    except ValueError:
        return default
