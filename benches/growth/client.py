"""A bare JSON-RPC client over a WebSocket: calls, and listeners that only count what they receive."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import Any, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

OPEN = 30  # seconds to open a connection, and to close it
PER_ADDRESS = 5_000  # calls that wait, of one address: the server takes 8,192, which is fixed

T = TypeVar("T")


class Failure(Exception):
    """The measurement cannot go on. The message says what happened and what to do."""


async def within(seconds: float, what: str, work: Awaitable[T]) -> T:
    """Waits for `work`, at most this long."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        message = f"{what} took more than {seconds:.0f} s: read serve.log (--keep keeps it), or measure less"
        raise Failure(message) from None


async def opened(url: str, source: int = 0) -> ClientConnection:
    """Opens a WebSocket. `source` chooses one of the loopback addresses to come from, each with limits of its own."""
    opening = connect(
        url,
        compression=None,
        max_size=None,
        ping_interval=None,
        open_timeout=OPEN,
        close_timeout=1,
        local_addr=(f"127.0.0.{1 + source}", 0),
    )
    try:
        return await opening
    except (OSError, TimeoutError, ConnectionClosed) as error:
        raise Failure(f"the server at {url} takes no connection: {error}") from error


class Client:
    """Sends calls over one connection, and matches answers by their ids."""

    def __init__(self, websocket: ClientConnection) -> None:
        self.websocket = websocket
        self.number = 0
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        self.reader = asyncio.create_task(self.read())

    @classmethod
    async def to(cls, url: str, source: int = 0) -> Client:
        return cls(await opened(url, source))

    async def read(self) -> None:
        try:
            async for text in self.websocket:
                answer = json.loads(text)
                future = self.waiting.pop(answer["id"])
                if future.done():
                    continue
                if "error" in answer:
                    future.set_exception(Failure(f"the server refuses a call: {json.dumps(answer['error'])}"))
                else:
                    future.set_result(answer["result"])
        except ConnectionClosed:
            pass
        self.fail("the server closed the connection")

    def fail(self, why: str) -> None:
        """Ends the calls that wait."""
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(Failure(f"{why}: read serve.log (--keep keeps it)"))
                future.exception()  # Nobody may wait for it.
        self.waiting.clear()

    async def send(self, method: str, params: dict[str, Any]) -> asyncio.Future[Any]:
        """Sends a call, and returns its answer to come."""
        self.number += 1
        future = self.waiting[self.number] = asyncio.get_running_loop().create_future()
        call = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        try:
            await self.websocket.send(json.dumps(call))
        except ConnectionClosed as error:
            raise Failure(f"the server closed the connection: {error}") from error
        return future

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        return await (await self.send(method, params))

    async def close(self) -> None:
        for future in self.waiting.values():
            future.cancel()
        self.waiting.clear()
        await self.websocket.close()
        self.reader.cancel()
        await asyncio.gather(self.reader, return_exceptions=True)


class Listener:
    """Follows the events of one subscription, and counts them."""

    def __init__(self, websocket: ClientConnection) -> None:
        self.websocket = websocket
        self.received = 0
        self.reader = asyncio.create_task(self.read())

    @classmethod
    async def to(cls, url: str, criteria: dict[str, Any]) -> Listener:
        websocket = await opened(url)
        call = {"jsonrpc": "2.0", "id": 1, "method": "subscribe_events", "params": {"filter": criteria}}
        await websocket.send(json.dumps(call))
        answer = json.loads(await within(OPEN, "subscribing", websocket.recv()))
        if "error" in answer:
            raise Failure(f"the server refuses a subscription: {json.dumps(answer['error'])}")
        return cls(websocket)

    async def read(self) -> None:
        try:
            async for _ in self.websocket:
                self.received += 1
        except ConnectionClosed:
            pass

    async def close(self) -> None:
        await self.websocket.close()
        self.reader.cancel()
        await asyncio.gather(self.reader, return_exceptions=True)
