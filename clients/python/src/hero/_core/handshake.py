"""The connections of the library, as this package uses them: a handshake fails at the first answer that is no WebSocket's,
and answers to calls do not wait in the queue for items.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Any
from urllib.parse import urljoin

import websockets.asyncio.client as client
from websockets import exceptions
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import Event

ANSWER = b'{"jsonrpc":"2.0","id":'
"""How the server begins an answer."""

Shortcut = Callable[[bytes], bool]
"""Takes an answer. Returns False for what is none, which then waits in the queue."""


class Refused(Exception):
    """The server answered the handshake with another status. The library, which gets this error, follows no redirect."""

    def __init__(self, response: Response) -> None:
        super().__init__(f"HTTP {response.status_code}")
        self.response = response


class Foreign(Exception):
    """The server sent something else than HTTP."""


class Greeting:
    """The beginning of what a server sends. If it is not that of an answer in HTTP, the connection ends at once: the
    library would wait until the server ends it.
    """

    HTTP = b"HTTP/"

    def __init__(self, protocol: ClientProtocol, hang_up: Callable[[], object]) -> None:
        self._protocol = protocol
        self._take = protocol.receive_data
        self._hang_up = hang_up
        self._said = b""
        protocol.receive_data = self._receive  # type: ignore[method-assign]

    @property
    def is_foreign(self) -> bool:
        return not self.HTTP.startswith(self._said[: len(self.HTTP)])

    def _receive(self, data: bytes | bytearray) -> None:
        self._said = (self._said + data)[:160]
        self._take(data)
        if self.is_foreign or isinstance(self._protocol.handshake_exc, exceptions.InvalidMessage):
            self._hang_up()

    @contextlib.contextmanager
    def told(self) -> Generator[None, None, None]:
        """Converts errors of the handshake to `Refused` and `Foreign`."""
        wrong: Exception | None = None
        try:
            yield
        except Exception as failed:
            # What came may have ended the connection before the request was sent.
            wrong = self._protocol.handshake_exc or failed
        if wrong is None:
            # From here on the library reads frames.
            self._protocol.receive_data = self._take  # type: ignore[method-assign]
            return
        if self.is_foreign:
            raise Foreign(f"speaks no HTTP; it sent {self._said!r}") from wrong
        if isinstance(wrong, exceptions.InvalidStatus):
            raise Refused(wrong.response) from wrong
        raise wrong


def has_taken(shortcut: Shortcut | None, event: Event) -> bool:
    """Hands an answer that came in one frame to the shortcut. Another task or thread would read it from the queue."""
    if shortcut is None or not isinstance(event, Frame) or event.opcode is not Opcode.TEXT or not event.fin:
        return False
    return event.data[: len(ANSWER)] == ANSWER and shortcut(bytes(event.data))


class Connection(client.ClientConnection):
    """A connection of the asyncio face. `direct.py` has that of the sync face."""

    shortcut: Shortcut | None = None

    def __init__(self, protocol: ClientProtocol, **given: Any) -> None:
        self._greeting = Greeting(protocol, lambda: self.transport.abort())
        super().__init__(protocol, **given)

    async def handshake(self, *given: Any, **named: Any) -> None:
        with self._greeting.told():
            await super().handshake(*given, **named)

    def process_event(self, event: Event) -> None:
        if not has_taken(self.shortcut, event):
            super().process_event(event)


def redirection(url: str, response: Response) -> str | None:
    """Returns the target of a redirect, if the answer is one."""
    # There may be several, or none.
    named = response.headers.get_all("Location")
    if not (300 <= response.status_code < 400 and named):
        return None
    try:
        return urljoin(url, named[0])[:300]
    except ValueError:
        return named[0][:300]
