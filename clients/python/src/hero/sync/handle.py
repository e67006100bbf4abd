# Made of ../aio/handle.py by `make clients`. Change that instead.
"""Handles for jobs and flows."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from .. import errors, models
from .._core.thread import rest
from .._core.wire import seconds
from .methods import WAITS, Methods
from .stream import Subscription

PAUSE = 0.1
"""Seconds to pause before a wait is repeated: a server may answer at once that the wait timed out."""


class JobHandle:
    """A job, by its id."""

    def __init__(self, hero: Methods, job_id: str, context_id: int | None = None) -> None:
        self._hero = hero
        self.id = job_id
        self.context_id = context_id

    def __repr__(self) -> str:
        return f"<Job {self.id}>"

    def start(self) -> models.JobStatus:
        """Starts it if it was only created."""
        return self._hero.start_job(self.id, context_id=self.context_id)

    def wait(self, *, wait_timeout: float | timedelta | None = None) -> models.JobResult:
        """Waits for its end. Raises `JobFailed` if it ended in error.

        `wait_timeout` is in seconds or a `timedelta`; `math.inf` means no limit.
        """
        return wait_for(self._hero, self.id, wait_timeout if wait_timeout is None else seconds(wait_timeout), self.context_id)

    def stop(self) -> models.JobStatus:
        """Stops it."""
        return self._hero.stop_job(self.id, context_id=self.context_id)

    def retry(self) -> models.JobStatus:
        """Runs it again after it ended in error."""
        return self._hero.retry_job(self.id, context_id=self.context_id)

    def status(self) -> models.JobStatus:
        """Returns its status."""
        return self._hero.get_status(self.id, context_id=self.context_id)

    def info(self) -> models.Job:
        """Returns everything that the server knows about it."""
        return self._hero.get_job(self.id, context_id=self.context_id)

    def result(self) -> models.JobResult:
        """Returns its result if it has ended."""
        return self._hero.get_result(self.id, context_id=self.context_id)

    def explain(self) -> models.Explanation:
        """Returns the reason why it does not run now."""
        return self._hero.explain_job(self.id, context_id=self.context_id)

    def delete(self) -> bool:
        """Deletes it if it has ended."""
        return self._hero.delete_job(self.id, context_id=self.context_id)

    def events(self, *, cursor: str | None = None) -> Subscription[models.JobItem]:
        """Follows its changes until its end, beginning with its current state or after a cursor."""
        return self._hero.subscribe_job(self.id, cursor=cursor, context_id=self.context_id)

    def logs(self, *, cursor: str | None = None) -> Subscription[models.LogsItem]:
        """Follows its log until its end, from the first line or after a cursor."""
        return self._hero.subscribe_logs(self.id, cursor=cursor, context_id=self.context_id)


class FlowHandle:
    """A flow, by its number."""

    def __init__(self, hero: Methods, flow_id: int, context_id: int | None = None) -> None:
        self._hero = hero
        self.id = flow_id
        self.context_id = context_id

    def __repr__(self) -> str:
        return f"<Flow {self.id}>"

    def start(self) -> models.FlowStatus:
        """Starts it if it was only created."""
        return self._hero.start_flow(self.id, context_id=self.context_id)

    def wait(self, *, wait_timeout: float | timedelta | None = None) -> models.Flow:
        """Waits for its end. `wait_timeout` is in seconds or a `timedelta`; `math.inf` means no limit."""
        longest = WAITS["wait_flow"].longest
        if wait_timeout is not None:
            wait_timeout = seconds(wait_timeout)
        until = time.monotonic() + (wait_timeout or 0.0)
        left = wait_timeout
        while True:
            asked = None if left is None else min(max(0.0, left), longest)
            try:
                return self._hero.wait_flow(self.id, wait_timeout=asked, context_id=self.context_id)
            except errors.WaitTimeout:
                if wait_timeout is None or not again(until):
                    raise
                left = until - time.monotonic()

    def stop(self) -> models.FlowStatus:
        """Stops it."""
        return self._hero.stop_flow(self.id, context_id=self.context_id)

    def retry(self) -> models.FlowStatus:
        """Runs the jobs again that ended in error."""
        return self._hero.retry_flow(self.id, context_id=self.context_id)

    def info(self) -> models.Flow:
        """Returns everything that the server knows about it."""
        return self._hero.get_flow(self.id, context_id=self.context_id)

    def delete(self) -> bool:
        """Deletes it if it has ended."""
        return self._hero.delete_flow(self.id, context_id=self.context_id)

    def events(self, **since: Any) -> Subscription[models.FlowItem]:
        """Follows its changes until its end, beginning with its state.

        `since` are further parameters of `subscribe_flow`.
        """
        return self._hero.subscribe_flow(self.id, context_id=self.context_id, **since)


def wait_for(hero: Methods, job_id: str, wait_timeout: float | None, context_id: int | None) -> models.JobResult:
    """Waits for the end of a job, if necessary with several calls."""
    longest = WAITS["wait_job"].longest
    until = time.monotonic() + (wait_timeout or 0.0)
    left = wait_timeout
    while True:
        asked = None if left is None else min(max(0.0, left), longest)
        try:
            return hero.wait_job(job_id, wait_timeout=asked, context_id=context_id)
        except errors.WaitTimeout:
            if wait_timeout is None or not again(until):
                raise
            left = until - time.monotonic()


def again(until: float) -> bool:
    """Pauses before a wait is repeated. Returns whether time is left."""
    rest(max(0.0, min(PAUSE, until - time.monotonic())))
    return until > time.monotonic()
