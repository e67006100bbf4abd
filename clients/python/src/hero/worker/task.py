"""The registry of tasks, which runs jobs."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Callable
from typing import Any

from .job import Job


class Tasks:
    """The tasks of a worker."""

    def __init__(self) -> None:
        self._named: dict[str, Callable[..., Any]] = {}
        self.other: Callable[[str], Any] | None = None
        """The function for scripts that name no task."""
        self.stuck = 0
        """The number of threads that go on although their jobs have ended. Each still counts towards `concurrency`."""

    def add(self, name: str, function: Callable[..., Any]) -> None:
        if name in self._named:
            raise ValueError(f"there is a task {name!r} already")
        self._named[name] = function

    @property
    def none(self) -> bool:
        """Whether there are no tasks."""
        return not self._named and self.other is None

    @property
    def names(self) -> list[str]:
        return sorted(self._named)

    def is_async(self, job: Job) -> bool:
        """Whether the job's task runs in the event loop, so that it can be cancelled."""
        return inspect.iscoroutinefunction(self._named.get(job.script.strip(), self.other))

    async def run(self, job: Job) -> Any:
        """Runs the job's task and returns its value."""
        name = job.script.strip()
        function = self._named.get(name)
        args: list[Any] = []
        named: dict[str, Any] = {}
        if function is None:
            if self.other is None:
                raise LookupError(f"there is no task {name[:100]!r} here; the tasks are {', '.join(self.names) or 'none'}")
            function, args = self.other, [job.script]
        else:
            given = job.args
            match given:
                case dict():
                    named = {**given}
                case list():
                    args = [*given]
                case None:
                    pass
                case _:
                    args = [given]
            try:
                inspect.signature(function).bind(*args, **named)
            except TypeError as wrong:
                raise TypeError(f"the args of the job do not fit the task {name!r}: {wrong}") from None
        if inspect.iscoroutinefunction(function):
            return await function(*args, **named)
        return await self._in_own_thread(function, args, named)

    async def _in_own_thread(self, function: Callable[..., Any], args: list[Any], named: dict[str, Any]) -> Any:
        """Runs a function that may block, in a daemon thread, which does not delay the end of the process."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def settle(result: Any, error: Exception | None) -> None:
            if future.done():
                self.stuck -= 1
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        def call() -> None:
            result: Any = None
            failed: Exception | None = None
            try:
                result = context.run(function, *args, **named)
            except StopIteration as odd:
                # A future does not accept this exception.
                failed = RuntimeError(repr(odd))
            except Exception as error:
                failed = error
            except BaseException as odd:
                failed = RuntimeError(f"the task raised {odd!r}")
            # The worker may have ended meanwhile.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, result, failed)

        threading.Thread(target=call, name="hero-task", daemon=True).start()
        try:
            return await future
        except asyncio.CancelledError:
            # The thread cannot be stopped from here.
            self.stuck += 1
            future.cancel()
            raise
