"""Servers for one measurement: each ends with it, at the latest, and with it its Redis and its engines."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from client import Failure

START = 60
STOP = 60
ANSWER = 60  # seconds for Redis to answer
POLL = 0.02

# Limits that no point may reach, and the same pool on every machine.
SETTINGS = {
    "--listen": "127.0.0.1:0",
    "--log-level": "warn",
    "--script-types": "parked",
    "--queue-length": "2000000",
    "--max-connections": "8000",
    "--max-per-address": "8000",
    "--calls-in-flight": "4096",
    "--held-per-address": "1GB",
    "--held": "2GB",
    "--contexts-running": "256",
    "--pool": "osis=2",
}


class Store:
    """A client for the figures of the private Redis."""

    def __init__(self, data: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(ANSWER)
        self.socket.connect(str(data / "redis.sock"))
        self.lines = self.socket.makefile("rb")
        self.ask("AUTH", (data / "redis.secret").read_text().strip())

    def ask(self, *words: str) -> str:
        self.socket.sendall((" ".join(words) + "\r\n").encode())
        reply = self.lines.readline().decode().strip()
        if reply.startswith("-"):
            raise Failure(f"Redis refuses {words[0]}: {reply[1:]}")
        if reply.startswith("$"):
            return self.lines.read(int(reply[1:]) + 2).decode()
        return reply[1:]

    def info(self) -> dict[str, str]:
        lines = self.ask("INFO").splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    async def rewritten(self) -> None:
        """Waits until Redis does not rewrite its file, which would take processor time from the measurement."""
        deadline = time.monotonic() + 600
        while self.info()["aof_rewrite_in_progress"] != "0" or self.info()["aof_rewrite_scheduled"] != "0":
            if time.monotonic() > deadline:
                raise Failure("Redis rewrites its file for more than 600 s: measure fewer points (--points)")
            await asyncio.sleep(0.2)

    def close(self) -> None:
        self.lines.close()
        self.socket.close()


class Server:
    """A `hero serve` on a free port, with its data in `data`."""

    def __init__(self, program: str, data: Path, settings: dict[str, str]) -> None:
        self.data = data
        data.mkdir(mode=0o700, exist_ok=True)
        words = [word for option in (SETTINGS | settings).items() for word in option]
        # The user's settings are for the user's server.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HERO")}
        with open(data / "ready", "w") as out, open(data / "serve.log", "w") as log:
            self.process = subprocess.Popen(
                [program, "serve", "--data", str(data), *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C reaches this program alone, which then stops the server.
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    async def ready(self) -> str:
        """Waits until it is ready. Returns its address."""
        deadline = time.monotonic() + START
        while time.monotonic() < deadline:
            _, _, rest = (self.data / "ready").read_text().partition(" ready on ")
            if "\n" in rest:
                return rest.split()[0]
            if self.process.poll() is not None:
                raise Failure(f"the server ended at once; it says:\n{self.said()}")
            await asyncio.sleep(POLL)
        raise Failure(f"the server was not ready within {START} s; it says:\n{self.said()}")

    def said(self) -> str:
        return "\n".join((self.data / "serve.log").read_text().splitlines()[-10:])

    def stop(self) -> None:
        """Ends it; by force if it does not end, or this program is interrupted once more."""
        try:
            self.process.terminate()
            self.process.wait(STOP)
        except subprocess.TimeoutExpired:
            raise Failure(f"the server did not end within {STOP} s and was killed; it says:\n{self.said()}") from None
        finally:
            if self.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(STOP)


@contextlib.contextmanager
def directory(keep: bool) -> Iterator[Path]:
    """A directory for the data of servers, which is removed afterwards unless it is kept."""
    path = Path(tempfile.mkdtemp(prefix="hero-growth-"))
    try:
        yield path
    finally:
        if keep:
            print(f"the data of the servers is in {path}")
        else:
            shutil.rmtree(path, ignore_errors=True)


@contextlib.asynccontextmanager
async def serving(program: str, data: Path, settings: dict[str, str]) -> AsyncIterator[tuple[Server, str]]:
    """Runs a server. Gives it, and its address."""
    server = Server(program, data, settings)
    try:
        yield server, await server.ready()
    finally:
        server.stop()


def shared(data: Path) -> dict[str, str]:
    """The settings of a further server on the private Redis of this one."""
    return {"--redis": f"unix://{data}/redis.sock", "--redis-password-file": f"{data}/redis.secret"}
