"""The base of the sync face: a session in its own event loop and thread. Calls bypass the loop.

`loop.py` is the base of the asyncio face.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .. import errors
from . import session as core
from .call import Again, Options, Status, Wait
from .direct import DirectLink, acquired, open_direct
from .feed import Feed
from .link import Lost
from .login import Login

CANCELLED = KeyboardInterrupt
"""The exception that interrupts a call."""

__all__ = ["CANCELLED", "Feed", "Session", "ended", "in_thread", "rest"]

T = TypeVar("T")


def in_thread(work: Callable[..., T], *given: Any) -> T:
    """Runs work that may block, in the calling thread."""
    return work(*given)


def rest(seconds: float) -> None:
    """Sleeps."""
    time.sleep(seconds)


def ended(work: T, seconds: float) -> T:
    """Returns the result of the final work of an interrupted call. Here it was done when the argument was evaluated."""
    return work


class Session:
    """The same as `session.Session`, for any thread."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._core: core.Session | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._closed = False
        self._over = threading.Event()

    @property
    def status(self) -> Status:
        if self._closed:
            return "closed"
        return self._core.status if self._core is not None else "new"

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            # Cancelling these tasks notifies the threads that wait for them.
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def _session(self) -> tuple[core.Session, asyncio.AbstractEventLoop]:
        if self._process != os.getpid():
            raise errors.Closed("this client was made before a fork, and its connection is the parent's: make another one in the child")
        with self._lock:
            if self._closed:
                raise errors.Closed("the client is closed; make another one")
            if self._core is None or self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._core = core.Session(self.options, open_direct)
                threading.Thread(target=self._run, args=(self._loop,), name="hero-client", daemon=True).start()
            return self._core, self._loop

    def _wait(self, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T:
        """Runs work in the loop and waits for it. It ends by itself, because every call has a deadline there.

        A lock costs half as much as a future.
        """
        done = threading.Lock()
        done.acquire()
        tasks: list[asyncio.Task[T]] = []

        def start() -> None:
            task = loop.create_task(work)
            tasks.append(task)
            task.add_done_callback(lambda _: done.release())

        try:
            loop.call_soon_threadsafe(start)
        except RuntimeError:
            work.close()
            raise errors.Closed("the client is closed; make another one") from None
        try:
            acquired(done)
        except BaseException:
            # Ctrl-C. The task may not have begun yet.
            loop.call_soon_threadsafe(lambda: tasks[0].cancel())
            raise
        try:
            return tasks[0].result()
        except asyncio.CancelledError:
            raise errors.Closed("the client was closed meanwhile; make another one") from None

    def connected(self) -> None:
        session, loop = self._session()
        self._wait(session.connected(), loop)

    def call(self, method: str, params: dict[str, Any], again: Again, wait: Wait | None = None) -> Any:
        session, loop = self._session()
        if self.options.url.startswith("wss:"):
            return self._wait(session.call(method, params, again, wait), loop)
        attempt = core.Attempt(self.options, method, params, again, wait)
        while True:
            if delay := attempt.pause():
                self._over.wait(delay)
            try:
                link = session.link or self._wait(session.within(attempt.deadline, method), loop)
            except Exception as failed:
                attempt.ended(failed)
                raise
            assert isinstance(link, DirectLink)
            try:
                return link.ask(method, attempt.params(), attempt.left())
            except errors.CallTimeout as late:
                attempt.late(late)
                raise
            except Lost as lost:
                attempt.lost(lost, self.status)
            except errors.MethodNotFound as missing:
                attempt.refused(missing)
                raise self._wait(session.older(method, missing), loop) from None
            except errors.RpcError as refused:
                attempt.refused(refused)
                raise

    def subscribe(self, method: str, unsubscribe: str, params: dict[str, Any], resumable: bool, from_now: bool) -> Feed:
        session, loop = self._session()
        return self._wait(session.subscribe(method, unsubscribe, params, resumable, from_now), loop)

    def take(self, feed: Feed) -> list[dict[str, Any]]:
        session, loop = self._session()
        return self._wait(session.take(feed), loop)

    def leave(self, feed: Feed) -> None:
        with contextlib.suppress(errors.Closed):
            session, loop = self._session()
            self._wait(session.leave(feed), loop)

    def forget(self, feed: Feed) -> None:
        if self._core is not None and not self._closed and self._process == os.getpid():
            self._core.forget(feed)

    def stay_logged_in(self, login: Login, token: str) -> None:
        session, loop = self._session()
        loop.call_soon_threadsafe(session.stay_logged_in, login, token)

    def close(self) -> None:
        with self._lock:
            first, self._closed = not self._closed, True
        self._over.set()
        if not first or self._core is None or self._loop is None or self._process != os.getpid():
            return
        try:
            self._wait(self._core.close(), self._loop)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
