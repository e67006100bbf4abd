"""Handles for jobs and flows."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from .. import errors, models
from .._core.loop import rest
from .._core.wire import seconds
from .methods import WAITS, Methods
from .stream import Subscription

PAUSE = 0.1
"""Seconds to pause before a wait is repeated: a server that ends answers each call at once."""


class Until:
    """The deadline of a wait that may take several calls: a server that ends answers early, and one call waits at most
    an hour.
    """

    def __init__(self, method: str, wait_timeout: float | timedelta | None) -> None:
        wait = WAITS[method]
        given = None if wait_timeout is None else seconds(wait_timeout)
        self._end = time.monotonic() + (wait.default if given is None else given)
        self._longest = wait.longest
        self.asked = None if given is None else self._within(given)
        """The `wait_timeout` of the next call. For the first one, None means the default of the server."""

    def _within(self, left: float) -> float:
        return min(max(0.0, left), self._longest)

    async def again(self) -> bool:
        """Pauses before the next call. Returns whether time is left for it."""
        await rest(max(0.0, min(PAUSE, self._end - time.monotonic())))
        left = self._end - time.monotonic()
        self.asked = self._within(left)
        return left > 0.0


class JobHandle:
    """A job, by its id."""

    def __init__(self, hero: Methods, job_id: str, context_id: int | None = None) -> None:
        self._hero = hero
        self.id = job_id
        self.context_id = context_id

    def __repr__(self) -> str:
        return f"<Job {self.id}>"

    async def start(self) -> models.JobStatus:
        """Starts it if it was only created."""
        return await self._hero.start_job(self.id, context_id=self.context_id)

    async def wait(self, *, wait_timeout: float | timedelta | None = None) -> models.JobResult:
        """Waits for its end. Raises `JobFailed` if it ended in error.

        `wait_timeout` is in seconds or a `timedelta`; `math.inf` means no limit.
        """
        return await wait_for(self._hero, self.id, Until("wait_job", wait_timeout), self.context_id)

    async def stop(self) -> models.JobStatus:
        """Stops it."""
        return await self._hero.stop_job(self.id, context_id=self.context_id)

    async def retry(self) -> models.JobStatus:
        """Runs it again after it ended in error."""
        return await self._hero.retry_job(self.id, context_id=self.context_id)

    async def status(self) -> models.JobStatus:
        """Returns its status."""
        return await self._hero.get_status(self.id, context_id=self.context_id)

    async def info(self) -> models.Job:
        """Returns everything that the server knows about it."""
        return await self._hero.get_job(self.id, context_id=self.context_id)

    async def result(self) -> models.JobResult:
        """Returns its result if it has ended."""
        return await self._hero.get_result(self.id, context_id=self.context_id)

    async def explain(self) -> models.Explanation:
        """Returns the reason why it does not run now."""
        return await self._hero.explain_job(self.id, context_id=self.context_id)

    async def delete(self) -> bool:
        """Deletes it if it has ended."""
        return await self._hero.delete_job(self.id, context_id=self.context_id)

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

    async def start(self) -> models.FlowStatus:
        """Starts it if it was only created."""
        return await self._hero.start_flow(self.id, context_id=self.context_id)

    async def wait(self, *, wait_timeout: float | timedelta | None = None) -> models.Flow:
        """Waits for its end. `wait_timeout` is in seconds or a `timedelta`; `math.inf` means no limit."""
        until = Until("wait_flow", wait_timeout)
        while True:
            try:
                return await self._hero.wait_flow(self.id, wait_timeout=until.asked, context_id=self.context_id)
            except errors.WaitTimeout:
                if not await until.again():
                    raise

    async def stop(self) -> models.FlowStatus:
        """Stops it."""
        return await self._hero.stop_flow(self.id, context_id=self.context_id)

    async def retry(self) -> models.FlowStatus:
        """Runs the jobs again that ended in error."""
        return await self._hero.retry_flow(self.id, context_id=self.context_id)

    async def info(self) -> models.Flow:
        """Returns everything that the server knows about it."""
        return await self._hero.get_flow(self.id, context_id=self.context_id)

    async def delete(self) -> bool:
        """Deletes it if it has ended."""
        return await self._hero.delete_flow(self.id, context_id=self.context_id)

    def events(self, **since: Any) -> Subscription[models.FlowItem]:
        """Follows its changes until its end, beginning with its state.

        `since` are further parameters of `subscribe_flow`.
        """
        return self._hero.subscribe_flow(self.id, context_id=self.context_id, **since)


async def wait_for(hero: Methods, job_id: str, until: Until, context_id: int | None) -> models.JobResult:
    """Waits for the end of a job, if necessary with several calls."""
    while True:
        try:
            return await hero.wait_job(job_id, wait_timeout=until.asked, context_id=context_id)
        except errors.WaitTimeout:
            if not await until.again():
                raise
