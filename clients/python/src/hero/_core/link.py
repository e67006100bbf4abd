"""One WebSocket connection, from its handshake to its end."""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
import ssl
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit, urlunsplit

import websockets.asyncio.client as client
from websockets import exceptions
from websockets.headers import build_host
from websockets.http11 import Response
from websockets.protocol import Protocol
from websockets.uri import parse_uri

from .. import errors
from .call import Options
from .handshake import Connection, Foreign, Refused, redirection
from .wire import as_object, error_of, parse, request

START = "start one with `hero serve`, or name another: Hero(url), HERO_SERVER"
PLACE = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[^\[\]:]+)(?::\d+)?", re.ASCII)
"""The host of an address, with or without a port."""
BLANK = re.compile(r"[\s\x00-\x1f\x7f]")
"""White space and control characters."""
LOCAL = "ws://localhost/"
"""What requests over a unix socket name as the server."""
TOO_LARGE = 1009
FAREWELL = 3.0
"""Timeout for closing a connection, in seconds. The library waits two seconds for the close frame of the server."""
PAUSE = 0.05
"""The shortest time between two looks for calls whose time is over, in seconds."""
BUSY = (429, 502, 503, 504)
UNKNOWN = (18, 19, 20, 21)
"""The error codes of OpenSSL for certificates of unknown authorities."""


class Lost(Exception):
    """The connection ended. `sent` is True if the call had been sent; `error`, if there is one, is raised by every
    call.

    With `only`, just that call (by its number) or subscription (by its id) raises `error`; for the others the
    connection broke. `told` is True if the server gave a reason.
    """

    def __init__(
        self, reason: str, error: errors.Error | None = None, sent: bool = True, only: int | str | None = None, told: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.error = error
        self.sent = sent
        self.only = only
        self.told = told

    def to(self, who: int | str, sent: bool = True) -> Lost:
        """Returns the error for one call or subscription."""
        return Lost(self.reason, self.error if self.only is None or self.only == who else None, sent)


class Unreachable(errors.ConnectError):
    """The server is unreachable now; another attempt may succeed."""


def address_of(url: str) -> str:
    """Returns the address for a WebSocket. Also reads `http`, `https` and a bare `host:port`."""
    if url.startswith("unix:///"):
        return url
    if "@" in url:
        # Addresses are shown in errors and in `repr`. What stands before the @ may be a password, so it is not repeated.
        raise errors.ConnectError(
            f"the address of {url.rpartition('@')[2]!r} has a name or a password in it, which no server takes:"
            " remove what stands before the @, and give a token with `token` or HERO_TOKEN"
        )
    whole = f"ws://{url}" if re.fullmatch(r"[^/]+:\d+", url) else url
    with contextlib.suppress(ValueError):
        parts = urlsplit(whole)
        scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
        # `urlsplit` leaves line breaks out, and accepts a port without a colon, or a colon without a port.
        if scheme in ("ws", "wss") and PLACE.fullmatch(parts.netloc) and parts.port != 0 and not BLANK.search(whole):
            return urlunsplit(parts._replace(scheme=scheme))
    raise errors.ConnectError(
        f"{url!r} is no address of a server: write ws://127.0.0.1:8700, wss://host, host:port, or unix:///path/hero.sock"
    )


def host_of(url: str) -> str:
    """Returns the host of the server as requests name it: without the default port of the scheme."""
    uri = parse_uri(LOCAL if url.startswith("unix:") else url)
    return build_host(uri.host, uri.port, uri.secure)


async def dial(options: Options, token: str | None) -> Connection:
    """Connects. Raises `Unreachable` if another attempt may succeed; other errors are permanent."""
    given = settings(options, token, Connection)
    with told(options) as url:
        if url.startswith("unix://"):
            return cast("Connection", await client.unix_connect(url.removeprefix("unix://"), uri=LOCAL, **given))
        return cast("Connection", await client.connect(url, **given))


def settings(options: Options, token: str | None, connection: type[Any]) -> dict[str, Any]:
    """Returns the settings of the WebSocket library for both faces."""
    chosen: dict[str, Any] = {
        "create_connection": connection,
        "open_timeout": limit(options.connect_timeout),
        "close_timeout": 2,
        # The heartbeat is a call instead, which also shows that the server answers.
        "ping_interval": None,
        "max_size": options.max_size,
        "compression": None,
        "max_queue": 64,
    }
    if options.ca is not None and options.url.startswith("wss:"):
        chosen["ssl"] = trusting(options.ca)
    if token is not None:
        chosen["additional_headers"] = {"Authorization": f"Bearer {token}"}
    return chosen


def trusting(ca: str) -> ssl.SSLContext:
    """Returns a TLS context that trusts only the authorities in a file."""
    try:
        return ssl.create_default_context(cafile=ca)
    except ssl.SSLError as wrong:
        raise errors.ConnectError(f"{ca} (ca=…, HERO_CA) has no certificate in PEM (-----BEGIN CERTIFICATE-----): {wrong}") from wrong
    except OSError as failed:
        raise errors.ConnectError(f"{ca} (ca=…, HERO_CA) cannot be read: {failed.strerror or failed}") from failed


def limit(seconds: float) -> float | None:
    """Returns a timeout for libraries: None, which means no limit, for times that are too long for a socket."""
    return None if seconds > 1e6 else seconds


@contextlib.contextmanager
def told(options: Options) -> Generator[str, None, None]:
    """Yields the URL to connect to, and converts errors to those of this package."""
    url = address_of(options.url)
    try:
        yield url
    except Refused as refused:
        raise refusal(url, refused.response) from refused
    except Foreign as spoke:
        raise errors.NotHero(f"what answers at {url} is no hero server: it {spoke}") from spoke
    except exceptions.InvalidMessage as spoke:
        if isinstance(spoke.__cause__, (EOFError, ConnectionError)):
            raise Unreachable(f"what listens at {url} closed the connection before it answered; is a hero server there?") from spoke
        raise errors.NotHero(f"what answers at {url} does not speak WebSocket, so it is no hero server: {spoke}") from spoke
    except exceptions.InvalidURI as wrong:
        raise errors.ConnectError(f"{options.url!r} is no address of a server: {wrong}") from wrong
    except (exceptions.InvalidHandshake, exceptions.ProxyError) as refused:
        raise errors.NotHero(f"what answers at {url} is no hero server: {refused}") from refused
    except ssl.SSLCertVerificationError as wrong:
        what = f"the server at {url} has a certificate that is not taken for its own: {wrong.verify_message}"
        if wrong.verify_code in UNKNOWN:
            what += "; an authority of your own is named by Hero(ca=…) or HERO_CA, a file in PEM"
        raise errors.NotHero(what) from wrong
    except ssl.SSLError as failed:
        what = f"what listens at {url} does not speak TLS as it should ({failed.reason or failed})"
        raise errors.NotHero(f"{what}; {without_tls(url)}") from failed
    except TimeoutError as late:
        raise Unreachable(f"{url} did not answer within {options.connect_timeout:g} s; is a hero server there?") from late
    except asyncio.TimeoutError as late:
        raise Unreachable(f"{url} did not answer within {options.connect_timeout:g} s; is a hero server there?") from late
    except exceptions.ConnectionClosed as closed:
        raise Unreachable(f"{url} closed the connection at once: {closed}") from closed
    except (ConnectionResetError, ConnectionAbortedError) as failed:
        what = without_tls(url) if url.startswith("wss:") else "is a hero server there?"
        raise Unreachable(f"what listens at {url} closed the connection before it answered; {what}") from failed
    except OSError as failed:
        raise Unreachable(f"no server at {url}: {failed.strerror or failed}; {START}") from failed


def without_tls(url: str) -> str:
    return f"if it speaks no TLS, use {url.replace('wss:', 'ws:', 1)}"


def refusal(url: str, response: Response) -> errors.Error:
    """Returns the error for a handshake that was answered with another status."""
    status = response.status_code
    body = (response.body or b"").decode(errors="replace").strip()[:300]
    said = f"HTTP {status}{f': {body}' if body else ''}"
    if status == 401:
        what = "the token is missing, wrong or has expired; `hero token create` makes one: Hero(token=…), HERO_TOKEN"
        return errors.NotAuthenticated(f"{url} does not know who calls ({said}): {what}", method="connect")
    if status == 403:
        return errors.NotHero(f"{url} refuses this connection ({said}): reach it by a name of its `allowed_hosts`")
    if (target := redirection(url, response)) is not None:
        # Calls and tokens are not for others.
        what = f"what answers at {url} sends to {target} (HTTP {status}), which is not followed; name that address if it is yours"
        return errors.NotHero(what)
    if status in BUSY:
        return Unreachable(f"{url} takes no connection now ({said})")
    return errors.NotHero(f"what answers at {url} is no hero server ({said})")


class Beginning:
    """Records the beginning of a message that is too large.

    The library drops the message; its beginning names its receiver.
    """

    ENOUGH = 256
    HEADER = 10

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._take = protocol.receive_data
        self._tail = b""
        self._text: bytes | None = None
        protocol.receive_data = self._receive  # type: ignore[method-assign]

    def _receive(self, data: bytes | bytearray) -> None:
        self._take(data)
        wrong = self._protocol.parser_exc
        if self._text is not None:
            self._text = (self._text + data)[: self.ENOUGH]
        elif isinstance(wrong, exceptions.PayloadTooBig):
            size = wrong.size or 0
            header = b"\x81\x7f" + struct.pack("!Q", size) if size > 0xFFFF else b"\x81\x7e" + struct.pack("!H", size)
            self._text = (self._tail + data).partition(header)[2][: self.ENOUGH]
        else:
            self._tail = (self._tail + data[-self.HEADER :])[-self.HEADER :]

    def whose(self) -> int | str | None:
        """Returns the number of the call or the id of the subscription that the message is for, if it is known."""
        text = self._text or b""
        if answer := re.match(rb'\{"jsonrpc": ?"2\.0", ?"id": ?(\d{1,15}),', text):
            return int(answer[1])
        if item := re.match(rb'\{"jsonrpc": ?"2\.0", ?"method": ?"\w+", ?"params": ?\{"subscription": ?"(\w+)"', text):
            return item[1].decode()
        return None


def is_answer(said: dict[str, Any]) -> bool:
    """Returns whether a message is an answer to a call, right or wrong."""
    return type(said.get("id")) is int and ("result" in said or "error" in said) and "method" not in said


OnItem = Callable[["Link", str, Any, Any, int], None]
"""Receives the item of a subscription: the id, the item, the error, and the number of bytes on the wire."""
OnOver = Callable[["Link", Lost], None]
Open = Callable[[Options, "str | None", OnItem, OnOver], Awaitable["Link"]]
"""Opens a connection with a token, a callback for the items of subscriptions, and a callback for its end."""


class Link(ABC):
    """Sends calls, and delivers answers to callers and items to subscriptions.

    It belongs to an event loop, even if another thread reads.
    """

    def __init__(
        self,
        protocol: Protocol,
        options: Options,
        on_item: OnItem,
        on_over: OnOver,
    ) -> None:
        self._beginning = Beginning(protocol)
        self.heard = False
        """Whether a message has arrived."""
        self.lost: Lost | None = None
        self.refused = False
        """Whether this client ended the connection because of its messages.

        Messages that wait to be processed are dropped.
        """
        self._options = options
        self._on_item = on_item
        self._on_over = on_over
        self._loop = asyncio.get_running_loop()
        self._last = time.monotonic()
        self._beating = asyncio.create_task(self._beat())

    @abstractmethod
    async def request(self, method: str, params: dict[str, Any], timeout: float) -> Any:
        """Makes a call. Raises `Lost` if the connection ends before the answer."""

    @abstractmethod
    def abort(self, lost: Lost) -> None:
        """Ends the connection at once."""

    @abstractmethod
    async def close(self, lost: Lost) -> None:
        """Closes the connection with a close frame."""

    def _message(self, raw: bytes) -> dict[str, Any]:
        """Parses a message."""
        try:
            message: Any = parse(raw)
        except ValueError:
            message = None
        # The client sends no batches, so it receives none.
        said = as_object(message)
        if said is None or said.get("jsonrpc") != "2.0":
            raise self._strange("speaks no JSON-RPC 2.0", raw)
        return said

    def _strange(self, what: str, raw: bytes) -> Lost:
        what = f"what answers at {self._options.url} {what}, so it is no hero server; it sent {raw[:160]!r}"
        return Lost("it speaks something else", errors.NotHero(what))

    def _shortcut(self, raw: bytes) -> bool:
        """Takes an answer that does not wait in the queue. It may overtake items, but never its own subscription's."""
        try:
            said = as_object(parse(raw))
        except ValueError:
            return False
        if said is None or not is_answer(said):
            return False
        self._last = time.monotonic()
        self._take_answer(said["id"], said)
        self.heard = True
        return True

    def _take(self, raw: bytes) -> None:
        """Handles a message: an item of a subscription, or an answer."""
        said = self._message(raw)
        if "method" in said:
            params = as_object(said.get("params")) or {}
            name = params.get("subscription")
            if isinstance(name, str):
                self._take_item(name, params.get("result"), params.get("error"), len(raw))
        elif is_answer(said):
            self._take_answer(said["id"], said)
        else:
            raise self._strange("answered none of the calls", raw)

    def _take_item(self, name: str, result: Any, error: Any, size: int) -> None:
        self._on_item(self, name, result, error, size)

    @abstractmethod
    def _take_answer(self, number: int, said: dict[str, Any]) -> None:
        """Delivers an answer to its caller, if that still waits."""

    @abstractmethod
    def _largest(self) -> int | None:
        """Returns the number of the largest pending call."""

    def _late(self, method: str, timeout: float) -> errors.CallTimeout:
        what = f"{method} was not answered within {timeout:.0f} s by {self._options.url}; whether it was carried out is not known"
        return errors.CallTimeout(f"{what}. `call_timeout` says how long an answer may take")

    def _why(self, failed: Exception) -> Lost:
        """Returns the reason for the end of a connection. A message that was too large is not sent again."""
        if isinstance(failed, Lost):
            return failed
        if not isinstance(failed, exceptions.ConnectionClosed):
            what = f"{self._options.url} sent something that this client cannot take: {failed!r}"
            return Lost("a message could not be taken", errors.UnexpectedAnswer(what))
        said = failed.rcvd
        if failed.sent is not None and failed.sent.code == TOO_LARGE and not failed.rcvd_then_sent:
            what = f"an answer of {self._options.url} was larger than {self._options.max_size} bytes"
            error = errors.AnswerTooLarge(f"{what}; Hero(max_size=…) takes larger ones, pages (`limit`) are smaller")
            return Lost(f"{what}, which ended the connection", error, only=self._beginning.whose())
        if said is not None and said.code == TOO_LARGE:
            what = f"{self._options.url} closed the connection because a message was too large ({said.reason or 'close code 1009'}); send less at once"
            # The largest of the pending calls is too large for the server, whichever of them ended the connection.
            return Lost(what, errors.RequestTooLarge(what), only=self._largest())
        if said is not None:
            why = f"the server closed the connection ({said.code}{f': {said.reason}' if said.reason else ''})"
            return Lost(why, told=said.reason != "")
        return Lost(f"the connection broke ({failed.__cause__ or failed})")

    def _unsent(self) -> int:
        """Returns the number of bytes that are not sent yet, as far as it is known."""
        return 0

    async def _beat(self) -> None:
        """Sends a ping after a silence, to find out whether the server is still there."""
        beat = self._options.heartbeat
        while beat > 0:
            quiet = time.monotonic() - self._last
            if quiet < beat:
                await asyncio.sleep(beat - quiet)
                continue
            asked, unsent = time.monotonic(), self._unsent()
            try:
                # If the server does not read, the ping is not even sent.
                await asyncio.wait_for(self.request("ping", {}, 2.0 * beat), beat)
            except asyncio.TimeoutError:
                if self._last > asked or self._unsent() < unsent:
                    # The ping waits behind a large message, which the server is reading.
                    continue
                self.abort(Lost(f"the server did not answer a ping within {beat:g} s"))
                return
            except errors.RpcError:
                continue
            except Lost:
                return


class Asked(NamedTuple):
    """A call that waits for its answer: its size in bytes, and when its time is over, by the clock of the loop."""

    future: asyncio.Future[Any]
    method: str
    size: int
    timeout: float
    deadline: float


class LoopLink(Link):
    """A link whose event loop sends and reads."""

    def __init__(
        self,
        websocket: Connection,
        options: Options,
        on_item: OnItem,
        on_over: OnOver,
    ) -> None:
        super().__init__(websocket.protocol, options, on_item, on_over)
        self._websocket = websocket
        self._pending: dict[int, Asked] = {}
        self._sending: set[int] = set()
        # One timer for all calls: one for each would cost more than reading its answer.
        self._timer: asyncio.TimerHandle | None = None
        self._due = math.inf
        self._number = 0
        self._reading = asyncio.create_task(self._read())
        websocket.shortcut = self._shortcut

    async def request(self, method: str, params: dict[str, Any], timeout: float) -> Any:
        self._number = number = self._number + 1
        if self.lost is not None:
            raise self.lost.to(number, sent=False)
        data = request(number, method, params)
        future: asyncio.Future[Any] = self._loop.create_future()
        deadline = self._loop.time() + timeout
        self._pending[number] = Asked(future, method, len(data), timeout, deadline)
        self._sending.add(number)
        if deadline < self._due:
            self._look_at(deadline)
        try:
            # The reader reports why the connection was closed. Part of the message may have been sent.
            with contextlib.suppress(exceptions.ConnectionClosed):
                await self._websocket.send(data, text=True)
            self._sending.discard(number)
            return await future
        finally:
            self._sending.discard(number)
            self._pending.pop(number, None)

    def _unsent(self) -> int:
        return self._websocket.transport.get_write_buffer_size()

    def _look_at(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = deadline
        self._timer = self._loop.call_at(deadline, self._look)

    def _look(self) -> None:
        """Ends the calls whose time is over, and looks again when the next one's is."""
        self._timer, self._due = None, math.inf
        now, following = self._loop.time(), math.inf
        for number, asked in list(self._pending.items()):
            if asked.deadline <= now:
                self._is_late(number, asked)
            else:
                following = min(following, asked.deadline)
        if following < math.inf and self.lost is None:
            self._look_at(max(following, now + PAUSE))

    def _is_late(self, number: int, asked: Asked) -> None:
        if number in self._sending:
            self.abort(Lost(f"the server took nothing for {asked.timeout:.0f} s"))
        elif not asked.future.done():
            asked.future.set_exception(self._late(asked.method, asked.timeout))

    async def _read(self) -> None:
        lost = Lost("the connection ended")
        try:
            while True:
                raw = await self._websocket.recv(decode=False)
                self._last = time.monotonic()
                self._take(raw)
                self.heard = True
        except Exception as failed:
            lost = self._why(failed)
            self._websocket.transport.abort()
        finally:
            self._end(lost)

    def _take_answer(self, number: int, said: dict[str, Any]) -> None:
        asked = self._pending.get(number)
        if asked is None or asked.future.done():
            return
        if "error" in said:
            asked.future.set_exception(error_of(asked.method, said["error"]))
        else:
            asked.future.set_result(said.get("result"))

    def _largest(self) -> int | None:
        return max(self._pending, key=lambda number: self._pending[number].size, default=None)

    def _end(self, lost: Lost) -> None:
        if self.lost is not None:
            return
        self.lost = lost
        self._on_over(self, lost)
        self._beating.cancel()
        if self._timer is not None:
            self._timer.cancel()
        for number, asked in self._pending.items():
            if not asked.future.done():
                asked.future.set_exception(lost.to(number))

    def abort(self, lost: Lost) -> None:
        self._end(lost)
        self._websocket.transport.abort()

    async def close(self, lost: Lost) -> None:
        self._end(lost)
        with contextlib.suppress(Exception):
            # The close frame is not sent if it waits behind a large call that the server does not read.
            await asyncio.wait_for(self._websocket.close(), FAREWELL)
        self._websocket.transport.abort()
        self._reading.cancel()
        await asyncio.gather(self._reading, self._beating, return_exceptions=True)


async def open_link(options: Options, token: str | None, on_item: OnItem, on_over: OnOver) -> Link:
    """Opens a connection of the asyncio face."""
    return LoopLink(await dial(options, token), options, on_item, on_over)
