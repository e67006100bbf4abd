"""One run of one job: its task, its lease, its log and progress, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from typing import Any

from .._core.wire import TOO_DEEP, no_unicode, plain
from .job import Job, Said, cut, running_here
from .store import UNREACHED, Refused, Store
from .task import Tasks

log = logging.getLogger("hero.worker")

TELLING = 0.5
"""Seconds between two writes of progress and log."""
OBEYING = 2.0
"""Seconds that a task has to end after a stop request."""


class Run:
    """A claimed job."""

    def __init__(self, store: Store, tasks: Tasks, fields: dict[str, str], lease: float) -> None:
        self._store, self._tasks, self._lease = store, tasks, lease
        self._said = Said()
        self.job = Job(fields, self._said)
        self._look = asyncio.Event()
        self._giving_back = False

    def look(self) -> None:
        """Renews the lease at once, because the answer may be a stop request."""
        self._look.set()

    def give_back(self) -> None:
        """Ends the run and requeues the job."""
        self._giving_back = True
        self._look.set()

    async def go(self) -> None:
        """Runs the task, renews the lease meanwhile, and records the end."""
        token = running_here.set(self.job)
        body = asyncio.create_task(self._tasks.run(self.job))
        running_here.reset(token)
        renewing, teller = asyncio.create_task(self._keep()), asyncio.create_task(self._tell())
        try:
            await asyncio.wait({body, renewing}, return_when=asyncio.FIRST_COMPLETED)
            why = ""
            if renewing.done() and not body.done():
                why = renewing.result()
                self._said.stop.set()
                if self._tasks.is_async(self.job):
                    body.cancel()
                await asyncio.wait({body}, timeout=OBEYING)
            end = self._end(body, why)
            # The lease is renewed until the end is recorded.
            teller.cancel()
            await asyncio.gather(teller, return_exceptions=True)
            if why != "lost":
                with contextlib.suppress(*UNREACHED):
                    await self._write()
                await self._record(end)
        finally:
            for each in (renewing, teller, body):
                each.cancel()
            await asyncio.gather(renewing, teller, body, return_exceptions=True)

    async def _keep(self) -> str:
        """Renews the lease until the job must end: "stop", "timeout", "lost", or "release" if it is requeued."""
        job, every, last = self.job, self._lease / 3, time.monotonic()
        while True:
            left = job.began + job.timeout - time.monotonic()
            pause = min(every, left + 0.01) if left > 0 else min(every, 0.1)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._look.wait(), max(0.01, pause))
            self._look.clear()
            if self._giving_back:
                return "release"
            try:
                said = await self._store.of_job("hero_renew", job, int(self._lease * 1000))
                last = time.monotonic()
            except UNREACHED as error:
                log.warning("the lease of job %s was not renewed: %s", job.id, self._store.hint(error))
                # Another worker may have the job by now.
                if time.monotonic() - last > self._lease:
                    return "lost"
                await asyncio.sleep(min(1.0, every / 4))
                continue
            if said != "renewed":
                return said

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(TELLING)
            with contextlib.suppress(*UNREACHED):
                await self._write()

    async def _write(self) -> None:
        """Writes the pending log lines, in order, and the newest progress."""
        said, job = self._said, self.job
        while said.lines:
            level, text = said.lines[0]
            await self._store.of_job("hero_log", job, level, text)
            said.lines.popleft()
        if said.dropped:
            number, said.dropped = said.dropped, 0
            await self._store.of_job("hero_log", job, "warn", f"{number} lines were left out: they came faster than they could be written")
        newest, said.progress = said.progress, None
        if newest is not None:
            await self._store.of_job("hero_progress", job, *newest)

    def _end(self, body: asyncio.Task[Any], why: str) -> tuple[str, ...]:
        """Returns the call that records the end. A result of the task counts, even after a stop request, except for
        the None of a task that has seen `stopping` or was cancelled.
        """
        name = repr(self.job.script.strip()[:100])
        returned = body.done() and not body.cancelled() and body.exception() is None
        was_told = self._said.obeyed or self._tasks.is_async(self.job)
        if returned and not (why and was_told and body.result() is None):
            try:
                return "hero_finish", _written(body.result()), "json"
            except ValueError as wrong:
                return "hero_fail", cut(f"what the task {name} returned is no JSON: {wrong}"), "script"
        if why == "stop":
            return "hero_fail", "stopped_by_request", "stopped"
        if why == "timeout":
            return "hero_fail", "timeout", "timeout"
        if why == "release" or returned or not body.done():
            return ("hero_release",)
        if body.cancelled():
            return "hero_fail", f"the task {name} was cancelled", "script"
        raised = body.exception()
        log.info("job %s failed", self.job.id, exc_info=raised)
        return "hero_fail", cut(_named(raised)), "script"

    async def _record(self, end: tuple[str, ...]) -> None:
        """Records the end, and repeats the call while the lease may last."""
        until = time.monotonic() + self._lease
        while True:
            try:
                if await self._store.of_job(end[0], self.job, *end[1:]) == "lost":
                    # Or the end was recorded, and the answer was lost.
                    log.info("job %s was not this worker's any more when it ended", self.job.id)
                return
            except Refused as refused:
                if end[0] != "hero_finish":
                    raise
                end = ("hero_fail", cut(f"the result was refused: {refused}"), "limit")
            except UNREACHED:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(min(0.5, self._lease / 10))


def _written(value: Any) -> str:
    """Writes the return value of a task as JSON.

    Raises ValueError if that fails: the task's objects may raise anything.
    """
    try:
        text = json.dumps(value, default=plain, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError as wrong:
        raise ValueError(no_unicode(wrong)) from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except Exception as wrong:
        raise ValueError(_named(wrong)) from None
    return text


def _named(raised: BaseException | None) -> str:
    """Describes an exception by its class and its message, if it has one. Foreign exceptions may fail at that, too."""
    name = type(raised).__name__
    try:
        return f"{name}: {raised}" if str(raised) else name
    except Exception:
        return name
