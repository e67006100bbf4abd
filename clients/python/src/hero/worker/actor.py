"""A worker: takes jobs of one script type and runs several at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from .. import errors
from .run import OBEYING, Run
from .store import UNREACHED, Store, pause
from .task import Tasks

F = TypeVar("F", bound=Callable[..., Any])

log = logging.getLogger("hero.worker")

PRESENCE = 5.0
"""Seconds between two heartbeats. A heartbeat is valid for three times as long."""
SHOWN = 50
"""Maximum number of task names that are announced."""


async def within(event: asyncio.Event, seconds: float) -> None:
    """Waits for an event, at most this long."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


class Worker:
    """An actor of one script type. Actors that run at the same time need different `instance` numbers; the default is
    the process id.

    Args:
        script_type: The script type of the jobs.
        redis: The Redis of the server, as `redis://`, `rediss://` or `unix://`, or the data directory of a `hero serve`
            that has a private Redis.
        concurrency: Maximum number of jobs that run at once.
        group: The group of the actor.
        instance: The number of the actor in the group.
        context_id: The context whose jobs it runs.
        lease: Seconds until another worker takes over the jobs of a killed worker. Leases are renewed three times as
            often.
        poll: Maximum seconds between two polls of the queues. Normally Redis announces a job at once.
        grace: Seconds that running jobs have to end at a shutdown. The others are requeued.
    """

    def __init__(
        self,
        script_type: str,
        *,
        redis: str = "redis://127.0.0.1:6379",
        concurrency: int = 4,
        group: str = "default",
        instance: int | None = None,
        context_id: int = 0,
        lease: float = 30.0,
        poll: float = 1.0,
        grace: float = 30.0,
    ) -> None:
        self.script_type = script_type
        self.concurrency = concurrency
        self.context_id = context_id
        self.lease, self.poll, self.grace = lease, poll, grace
        instance = os.getpid() if instance is None else instance
        self.actor = f"{script_type}:{group}:{instance}"
        """The name of the actor."""
        # Different at each start, because leases are not inherited.
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{time.time_ns():x}"
        self._address = redis
        self._tasks = Tasks()
        self._runs: dict[str, tuple[Run, asyncio.Task[None]]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        places = [f":group:{group}:inst:{instance}", f":group:{group}", ""]
        self._queues = [f"hero:q:work:type:{script_type}{place}{prio}" for prio in (":prio:0", "", ":prio:2") for place in places]

    def __repr__(self) -> str:
        return f"<Worker {self.actor}: {', '.join(self._tasks.names)}>"

    def task(self, name: str) -> Callable[[F], F]:
        """Registers a function for the jobs whose script is `name`.

        An object in `args` is passed as named parameters, a list as positional ones, any other value as the only
        parameter. The return value becomes the value of the job, as JSON; an exception becomes its error.
        """

        def register(function: F) -> F:
            self._tasks.add(name, function)
            return function

        return register

    def script(self, function: F) -> F:
        """Registers a function for the jobs whose script names no task. It gets the script as text."""
        self._tasks.other = function
        return function

    def run(self) -> None:
        """Runs until SIGTERM or SIGINT, then ends gracefully. The second signal ends it at once."""
        asyncio.run(self.serve(signals=True))

    def stop(self) -> None:
        """Stops gracefully: it takes no more jobs, and requeues those that do not end in time. Can be called from any
        thread.

        The second call requeues them at once.
        """
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._told)

    def _told(self) -> None:
        if self._ending.is_set():
            self._at_once.set()
        self._ending.set()
        self._wake.set()

    async def serve(self, *, signals: bool = False) -> None:
        """The same as `run`, in an event loop that is already running."""
        if self._tasks.none:
            what = 'register functions with @worker.task("name"), or one for all scripts with @worker.script, before it runs'
            raise errors.Error(f"the worker {self.actor} has no tasks: {what}")
        self._loop = asyncio.get_running_loop()
        self._wake, self._ending, self._at_once, self._drains = (asyncio.Event() for _ in range(4))
        store = Store(self._address, self.context_id, self.owner, self.actor)
        try:
            await store.greet()
        except errors.Error:
            await store.close()
            raise
        for number in (signal.SIGTERM, signal.SIGINT) if signals else ():
            self._loop.add_signal_handler(number, self._told)
        self._say_hello(store)
        beside = [asyncio.create_task(self._present(store)), asyncio.create_task(self._listen(store))]
        try:
            await self._take(store)
            await self._drain()
            # A Redis that does not answer delays the end only briefly.
            await within(self._drains, OBEYING)
        finally:
            left = {*beside, *(task for _, task in self._runs.values())}
            for _ in range(5):
                for task in left:
                    task.cancel()
                # A task that is connecting may lose a cancellation, so it is repeated. Nothing may delay the end.
                if left:
                    _, left = await asyncio.wait(left, timeout=OBEYING)
            await store.close()

    def _say_hello(self, store: Store) -> None:
        names = ", ".join(self._tasks.names[:SHOWN]) or "none"
        scripts = ", and any other script" if self._tasks.other is not None else ""
        said = f"{self.actor} takes jobs of the script type {self.script_type} from {store.name()}, {self.concurrency} at once; tasks: {names}{scripts}"
        if log.hasHandlers():
            log.info(said)
        else:
            # Without logging set up, only warnings would be shown.
            print(f"hero.worker: {said}", file=sys.stderr, flush=True)

    async def _take(self, store: Store) -> None:
        """Claims jobs while there is room, until it is stopped."""
        failures = 0
        while not self._ending.is_set():
            self._wake.clear()
            if len(self._runs) + self._tasks.stuck < self.concurrency:
                try:
                    fields = await store.claim(self._queues, self.lease)
                    failures = 0
                except UNREACHED as error:
                    failures += 1
                    if failures == 1:
                        log.warning("no jobs can be taken from %s: %s; it is tried again", store.name(), store.hint(error))
                    await self._sleep(pause(failures))
                    continue
                if fields is not None:
                    self._begin(Run(store, self._tasks, fields, self.lease))
                    continue
            await self._sleep(self.poll)

    def _begin(self, run: Run) -> None:
        job_id = run.job.id

        def ended(task: asyncio.Task[None]) -> None:
            if self._runs.get(job_id, (None, None))[1] is task:
                del self._runs[job_id]
            self._wake.set()
            if not task.cancelled() and (error := task.exception()) is not None:
                log.error("the end of job %s was not recorded, so it runs again: %s", job_id, error)

        task = asyncio.create_task(run.go())
        self._runs[job_id] = (run, task)
        task.add_done_callback(ended)

    async def _drain(self) -> None:
        """Lets jobs end, then requeues the others."""
        tasks = {task for _, task in self._runs.values()}
        if not tasks:
            return
        log.info("%d jobs have %g s to end", len(tasks), self.grace)
        at_once = asyncio.create_task(self._at_once.wait())
        rest = asyncio.create_task(asyncio.wait(tasks))
        await asyncio.wait((at_once, rest), timeout=self.grace, return_when=asyncio.FIRST_COMPLETED)
        at_once.cancel()
        for run, _ in self._runs.values():
            run.give_back()
        await asyncio.wait((rest,), timeout=OBEYING * 4)

    async def _sleep(self, seconds: float) -> None:
        """Sleeps until there may be something to do."""
        await within(self._wake, seconds)

    async def _present(self, store: Store) -> None:
        """Sends heartbeats, so that the actor is listed and the server accepts jobs of its type.

        Only this task sends them, one after the other, so none overtakes the first that says that the worker drains.
        """
        failures = 0
        while True:
            draining = self._ending.is_set()
            said = {"pid": os.getpid(), "hostname": socket.gethostname(), "capabilities": self._tasks.names[:SHOWN], "draining": draining}
            try:
                await store.present(json.dumps(said))
                failures = 0
            except UNREACHED:
                failures += 1
            if draining and failures == 0:
                self._drains.set()
            seconds = min(pause(failures), PRESENCE) if failures else PRESENCE
            if draining:
                await asyncio.sleep(seconds)
            else:
                await within(self._ending, seconds)

    async def _listen(self, store: Store) -> None:
        """Receives notifications of new jobs and of stop requests.

        Both are hints: polling and renewing find missed ones.
        """
        failures = 0
        while True:
            try:
                async with store.hints() as hints:
                    await hints.subscribe(f"hero:bell:{self.context_id}:{self.script_type}", f"hero:inbox:{self.owner}")
                    self._wake.set()
                    async for message in hints.listen():
                        failures = 0
                        if message["type"] == "message":
                            self._hear(str(message["data"]).split())
            except UNREACHED:
                failures += 1
            await asyncio.sleep(pause(failures))

    def _hear(self, words: list[str]) -> None:
        if len(words) == 3 and words[0] == "stop":
            running = self._runs.get(words[2])
            if running is not None:
                running[0].look()
        else:
            self._wake.set()
