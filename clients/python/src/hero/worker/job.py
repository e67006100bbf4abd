"""A job as the task that runs it sees it."""

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
"""The most lines of one job that wait to be written."""
LONGEST_TEXT = 60_000
"""The most bytes of a line, or of what an error says."""
LONGEST_PROGRESS = 1000
"""The most bytes of what a progress says."""

running_here: contextvars.ContextVar[Job] = contextvars.ContextVar("hero_job")


class StopRequested(Error):
    """The job is to end: somebody stopped it, its time is over, or the worker ends."""


def current() -> Job:
    """The job that runs here."""
    try:
        return running_here.get()
    except LookupError:
        raise RuntimeError(
            "no job runs here: `current()` is for tasks of a worker, in the thread or coroutine that was started for one"
        ) from None


class Said:
    """What a task said and is not written yet, and what it is told."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.progress: tuple[float, str] | None = None
        self.lines: deque[tuple[Level, str]] = deque()
        self.dropped = 0


class Job:
    """A job that a worker runs."""

    def __init__(self, fields: dict[str, str], said: Said) -> None:
        self.id = fields["id"]
        self.claim = fields["claim"]
        """What shows that this run of it is the one that counts."""
        self.attempt = int(fields.get("attempt") or 1)
        self.script = fields.get("script", "")
        self.timeout = _number(fields.get("timeout"), 60.0)
        self.fields = fields
        """All that Redis has of it, as text."""
        self.began = time.monotonic()
        self._said = said

    @property
    def args(self) -> Any:
        """What the caller gave it."""
        return json.loads(self.fields.get("args") or "null")

    @property
    def env(self) -> dict[str, str]:
        """Its environment."""
        return dict(json.loads(self.fields.get("env_vars") or "{}"))

    @property
    def stopping(self) -> bool:
        """Whether it is to end. A task in a thread that takes long looks here now and then."""
        return self._said.stop.is_set()

    def check(self) -> None:
        """Raises `StopRequested` if it is to end."""
        if self.stopping:
            raise StopRequested("the job is to end")

    def progress(self, value: float, text: str = "") -> None:
        """Says how far it is, in percent usually. The newest is written, twice a second at most. From any thread."""
        self._said.progress = (float(value), cut(text, LONGEST_PROGRESS))

    def log(self, text: str, level: Level = "info") -> None:
        """Adds a line to its log. From any thread. Where too many wait to be written, lines are left out, and the log says how many."""
        if len(self._said.lines) >= LINES:
            self._said.dropped += 1
        else:
            self._said.lines.append((level, cut(text)))

    def __repr__(self) -> str:
        return f"<Job {self.id} attempt {self.attempt}: {self.script[:40]!r}>"


class LogHandler(logging.Handler):
    """Has what is logged within a task be in the log of its job: `logging.getLogger().addHandler(LogHandler())`."""

    def emit(self, record: logging.LogRecord) -> None:
        job = running_here.get(None)
        if job is not None:
            number = record.levelno
            level: Level = "error" if number >= 40 else "warn" if number >= 30 else "info" if number >= 20 else "debug"
            job.log(self.format(record), level)


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """A text of so many bytes at most, which can be written: a lone surrogate stands in it as Python writes it, `\\ud800`."""
    return text.encode(errors="backslashreplace")[:most].decode(errors="ignore")


def _number(text: str | None, default: float) -> float:
    try:
        return float(text) if text else default
    except ValueError:
        return default
