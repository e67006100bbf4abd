"""The connection of the sync face: the calling thread writes, and the thread of the library that reads hands it the
answer. Another thread takes items out of the queue of the library.

Calls do not wait for the event loop, which does the work between calls.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar, cast

import websockets.sync.client as client
from websockets import exceptions
from websockets.client import ClientProtocol
from websockets.protocol import Event

from .call import Options
from .handshake import Greeting, Shortcut, has_taken
from .link import LOCAL, Link, Lost, OnItem, OnOver, limit, open_link, settings, told
from .wire import error_of, request

T = TypeVar("T")

MOST_ITEMS = 64
"""Maximum number of items on their way from the reader to the loop."""

FRAGMENT = 8 * 1024
"""The number of bytes to send at once. A writable socket has room for them: a third of its buffer on Linux, SO_SNDLOWAT
elsewhere."""

LOOK = 1.0
"""Seconds between two checks of a waiting thread: the connection may have ended, or a signal may have arrived."""


class Waiter:
    """A caller that waits for an answer. It is notified once: of the answer, or of the end of the connection."""

    __slots__ = ("answer", "size", "tell")

    def __init__(self, tell: Callable[[], object], size: int) -> None:
        self.size = size
        self.answer: dict[str, Any] | Lost = {}
        self.tell = tell

    def result(self, method: str) -> Any:
        if isinstance(self.answer, Lost):
            raise self.answer
        if "error" in self.answer:
            raise error_of(method, self.answer["error"])
        return self.answer.get("result")


class DirectLink(Link):
    """Sends from the calling thread."""

    def __init__(self, websocket: Connection, options: Options, on_item: OnItem, on_over: OnOver) -> None:
        super().__init__(websocket.protocol, options, on_item, on_over)
        self._websocket = websocket
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._pending: dict[int, Waiter] = {}
        self._room = threading.Semaphore(MOST_ITEMS)
        self._sending = threading.Lock()
        # Only the thread that holds `_sending` uses it.
        self._writable: selectors.BaseSelector = getattr(selectors, "PollSelector", selectors.SelectSelector)()
        with contextlib.suppress(OSError, ValueError):
            # If the connection has ended already, sending will notice.
            self._writable.register(websocket.socket, selectors.EVENT_WRITE)
        websocket.shortcut = self._shortcut
        threading.Thread(target=self._read, name="hero-client-reader", daemon=True).start()

    def ask(self, method: str, params: dict[str, Any], timeout: float) -> Any:
        """Makes a call, from any thread but that of the loop.

        Raises `Lost` if the connection ends before the answer.
        """
        done = threading.Lock()
        done.acquire()
        number = next(self._numbers)
        data = request(number, method, params)
        deadline = time.monotonic() + timeout
        waiter = self._wait(number, len(data), done.release)
        try:
            if not (self._send(data, deadline) and acquired(done, deadline)):
                raise self._late(method, timeout)
        finally:
            self._pending.pop(number, None)
        return waiter.result(method)

    async def request(self, method: str, params: dict[str, Any], timeout: float) -> Any:
        number = next(self._numbers)
        data = request(number, method, params)
        done = asyncio.Event()
        waiter = self._wait(number, len(data), lambda: self._soon(done.set))
        try:
            await asyncio.wait_for(self._sent(data, time.monotonic() + timeout, done), timeout)
        except asyncio.TimeoutError:
            raise self._late(method, timeout) from None
        finally:
            self._pending.pop(number, None)
        return waiter.result(method)

    async def _sent(self, data: bytes, deadline: float, done: asyncio.Event) -> None:
        # It blocks if the server does not read.
        if not await in_daemon(lambda: self._send(data, deadline)):
            raise asyncio.TimeoutError
        await done.wait()

    def _wait(self, number: int, size: int, tell: Callable[[], object]) -> Waiter:
        waiter = Waiter(tell, size)
        with self._lock:
            if self.lost is not None:
                raise self.lost.to(number, sent=False)
            self._pending[number] = waiter
        return waiter

    def _send(self, data: bytes, deadline: float) -> bool:
        """Sends a message after those that are being sent. Returns False if the deadline passed and nothing was sent.

        While the library writes, it holds a lock that it also needs for reading. A server may stop reading until its
        answers are read, so nothing is written before the socket has room for it.
        """
        if not self._sending.acquire(timeout=left(deadline)):
            return False
        try:
            if not self._has_room(deadline):
                return False
            try:
                # The reader reports why the connection was closed. Part of the message may have been sent.
                with contextlib.suppress(exceptions.ConnectionClosed, Lost):
                    self._websocket.send(data if len(data) <= FRAGMENT else self._fragments(data, deadline), text=True)
            except BaseException:
                # Ctrl-C: a part of the message may have been sent, so nothing else can follow.
                self._cut(Lost("a call was stopped while it was sent"))
                raise
            return True
        finally:
            self._sending.release()

    def _fragments(self, data: bytes, deadline: float) -> Generator[memoryview, None, None]:
        """Yields a message in parts. The library writes each by itself, and an empty one after the last."""
        view = memoryview(data)
        for at in range(0, len(data), FRAGMENT):
            yield view[at : at + FRAGMENT]
            if not self._has_room(deadline):
                self._cut(Lost(f"a call of {len(data)} bytes was not sent in time: the server took no more than {at + FRAGMENT}"))
            if self.lost is not None:
                # An incomplete message is invalid.
                raise self.lost
            self._last = time.monotonic()

    def _has_room(self, deadline: float) -> bool:
        """Waits until the socket is writable or the connection has ended.

        Returns False if the deadline passes first.
        """
        while self.lost is None:
            try:
                if self._writable.select(min(left(deadline), LOOK)):
                    return True
            except (OSError, ValueError):
                # The socket was closed.
                return True
            if time.monotonic() >= deadline:
                return False
        return True

    def _soon(self, work: Callable[..., object], *given: Any) -> None:
        # The loop may have ended.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(work, *given)

    def _read(self) -> None:
        lost = Lost("the connection ended")
        try:
            while True:
                raw = self._websocket.recv(decode=False)
                self._last = time.monotonic()
                self._take(raw)
                self.heard = True
        except Exception as failed:
            lost = self._why(failed)
        finally:
            self._cut(lost)

    def _take_item(self, name: str, result: Any, error: Any, size: int) -> None:
        while not self._room.acquire(timeout=1.0):
            if self.lost is not None:
                return
        self._soon(self._item, name, result, error, size)

    def _take_answer(self, number: int, said: dict[str, Any]) -> None:
        waiter = self._pending.pop(number, None)
        if waiter is not None:
            waiter.answer = said
            waiter.tell()

    def _largest(self) -> int | None:
        with self._lock:
            return max(self._pending, key=lambda number: self._pending[number].size, default=None)

    def _item(self, name: str, result: Any, error: Any, size: int) -> None:
        # The item arrived before the end of the connection, which the loop handles after it.
        self._room.release()
        self._on_item(self, name, result, error, size)

    def _end(self, lost: Lost) -> None:
        with self._lock:
            if self.lost is not None:
                return
            self.lost = lost
        # Before the waiters, so that the session is up to date when they continue.
        self._soon(self._over, lost)
        for number in list(self._pending):
            # An answer may still be arriving. Whoever takes the waiter out is the one who notifies it.
            waiter = self._pending.pop(number, None)
            if waiter is not None:
                waiter.answer = lost.to(number)
                waiter.tell()

    def _over(self, lost: Lost) -> None:
        self._beating.cancel()
        self._on_over(self, lost)

    def _cut(self, lost: Lost) -> None:
        """Ends the connection at once, from any thread. Threads that send or read will notice."""
        self._end(lost)
        hang_up(self._websocket)

    def abort(self, lost: Lost) -> None:
        self._cut(lost)

    async def close(self, lost: Lost) -> None:
        self._end(lost)
        with contextlib.suppress(Exception):
            await in_daemon(self._websocket.close)


def left(deadline: float) -> float:
    """Returns the time until the deadline, in seconds, within the limits of a lock."""
    return max(0.0, min(deadline - time.monotonic(), threading.TIMEOUT_MAX))


def acquired(lock: threading.Lock, deadline: float = math.inf) -> bool:
    """Waits for a lock. Returns False if the deadline passes first.

    It wakes up repeatedly, because a signal does not wake this thread if another thread took it or if it arrived just
    before this one slept.
    """
    while not lock.acquire(timeout=min(left(deadline), LOOK)):
        if time.monotonic() >= deadline:
            return False
    return True


async def in_daemon(work: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
    """Runs blocking work in a daemon thread, which, unlike the threads of the loop, does not delay the end of the
    program.

    `undo` gets the result if its caller was cancelled.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if not future.done():
            if error is None:
                future.set_result(result)  # type: ignore[arg-type]
            else:
                future.set_exception(error)
        elif error is None and undo is not None:
            undo(result)  # type: ignore[arg-type]

    def run() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = work()
        except BaseException as failed:
            error = failed
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="hero-client-work", daemon=True).start()
    return await future


class Connection(client.ClientConnection):
    """The same as `handshake.Connection`, but blocking."""

    shortcut: Shortcut | None = None

    def __init__(self, sock: socket.socket, protocol: ClientProtocol, **given: Any) -> None:
        # Before the thread that reads begins.
        self._greeting = Greeting(protocol, lambda: shut(sock))
        super().__init__(sock, protocol, **given)

    def handshake(self, *given: Any, **named: Any) -> None:
        with self._greeting.told():
            super().handshake(*given, **named)

    def process_event(self, event: Event) -> None:
        if not has_taken(self.shortcut, event):
            super().process_event(event)


def dial(options: Options, token: str | None) -> Connection:
    """The same as `link.dial`, but blocking."""
    given = settings(options, token, Connection)
    with told(options) as url:
        # The connection outlives this function, so the context is never left.
        if url.startswith("unix://"):
            sock = at_path(url.removeprefix("unix://"), limit(options.connect_timeout))
            websocket: Connection = cast("Any", client.unix_connect(None, LOCAL, sock=sock, **given)).__enter__()
        else:
            websocket = cast("Any", client.connect(url, **given)).__enter__()
    # A server that does not read must not delay a call for longer than an answer may take.
    seconds = int(min(max(1.0, options.call_timeout), 86_400.0))
    with contextlib.suppress(OSError, struct.error):
        websocket.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", seconds, 0))
    with contextlib.suppress(OSError):
        # Linux refuses the option and does not need it.
        websocket.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDLOWAT, FRAGMENT + 64)
    return websocket


def at_path(path: str, timeout: float | None) -> socket.socket:
    """Connects to a socket in the file system."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout)
        sock.connect(path)
        sock.settimeout(None)
    except BaseException:
        sock.close()
        raise
    return sock


async def open_direct(options: Options, token: str | None, on_item: OnItem, on_over: OnOver) -> Link:
    """Opens a connection of the sync face.

    With TLS the loop owns it: two threads cannot use one TLS connection at once.
    """
    if options.url.startswith("wss:"):
        return await open_link(options, token, on_item, on_over)
    with told(options):
        # The timeout of the library does not include finding the address, which may take long, too.
        dialing = in_daemon(lambda: dial(options, token), hang_up)
        return DirectLink(await asyncio.wait_for(dialing, options.connect_timeout + 1.0), options, on_item, on_over)


def hang_up(websocket: Connection) -> None:
    shut(websocket.socket)


def shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
