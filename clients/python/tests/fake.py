"""A scripted server, to test how the client reacts."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from hero import errors

Script = Callable[["Talk"], Awaitable[None]]


class Talk:
    """One connection, from the server's side."""

    def __init__(self, socket: ServerConnection, number: int) -> None:
        self.socket = socket
        self.number = number
        """The number of earlier connections."""

    async def call(self) -> dict[str, Any]:
        """Returns the next call."""
        return json.loads(await self.socket.recv())

    async def answer(self, call: dict[str, Any], result: Any) -> None:
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}))

    async def refuse(self, call: dict[str, Any], code: int, message: str, data: Any = None) -> None:
        error = {"code": code, "message": message, **({} if data is None else {"data": data})}
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": error}))

    async def make_job(self, call: dict[str, Any], job_id: str) -> None:
        """Answers a call that creates a job, or that also waits for it, which is over at once."""
        if call["method"] == "create_job":
            await self.answer(call, job_id)
        else:
            await self.refuse(call, errors.Code.WAIT_TIMEOUT, "it goes on", {"job_id": job_id, "status": "started"})

    async def item(self, name: str, subscription: str, item: dict[str, Any]) -> None:
        params = {"subscription": subscription, "result": item}
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "method": name, "params": params}))

    async def failed_item(self, name: str, subscription: str, code: int, message: str) -> None:
        params = {"subscription": subscription, "error": {"code": code, "message": message}}
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "method": name, "params": params}))

    def cut(self) -> None:
        """Breaks the connection without a close frame."""
        self.socket.transport.abort()


@contextlib.asynccontextmanager
async def fake(script: Script, **settings: Any) -> AsyncIterator[str]:
    """Starts a server that handles each connection with the script. Returns its address."""
    number = 0

    async def handle(socket: ServerConnection) -> None:
        nonlocal number
        talk = Talk(socket, number)
        number += 1
        with contextlib.suppress(Exception):
            await script(talk)

    server: Server
    async with serve(handle, "127.0.0.1", 0, ping_interval=None, close_timeout=1, **settings) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"ws://127.0.0.1:{port}"


@contextlib.asynccontextmanager
async def raw(answer: bytes) -> AsyncIterator[str]:
    """Starts a server that answers each connection with these bytes, whatever the request, and closes it."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            if answer:
                await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@contextlib.asynccontextmanager
async def slow(path: str, bytes_at_once: int, pause: float) -> AsyncIterator[str]:
    """Starts a server on a unix socket that reads slowly all the time, and answers every call with `pong`."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        protocol, message = ServerProtocol(max_size=None), b""
        while data := await reader.read(bytes_at_once):
            protocol.receive_data(data)
            for event in protocol.events_received():
                if isinstance(event, Request):
                    protocol.send_response(protocol.accept(event))
                elif isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.CONT):
                    message += event.data
                    if event.fin:
                        answer = {"jsonrpc": "2.0", "id": json.loads(message)["id"], "result": "pong"}
                        protocol.send_text(json.dumps(answer).encode())
                        message = b""
            writer.write(b"".join(protocol.data_to_send()))
            await asyncio.sleep(pause)
        writer.close()

    server = await asyncio.start_unix_server(handle, path, limit=bytes_at_once)
    try:
        yield f"unix://{path}"
    finally:
        server.close()
