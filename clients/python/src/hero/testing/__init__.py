"""A server for tests: `with serve() as server:`, or the fixtures `hero_server` and `hero_client` of pytest, which this package brings along."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from queue import Empty, Queue

from ..errors import Error

__all__ = ["Server", "serve"]


class Server:
    """A `hero serve` on a free port, with a Redis of its own."""

    def __init__(self, process: subprocess.Popen[str], url: str, data: Path, program: str) -> None:
        self.process = process
        self.url = url
        """Where it is: `Hero(server.url)`."""
        self.data = data
        """Its data directory, which also says where its Redis is: `Worker(…, redis=str(server.data))`."""
        self.program = program
        """The program that runs."""

    def __repr__(self) -> str:
        return f"<Server {self.url}>"

    def log(self) -> str:
        """What it wrote to stderr."""
        return (self.data / "stderr").read_text(errors="replace")


def program() -> str:
    """The `hero` to start: HERO_BIN, else the one on the PATH."""
    found = os.environ.get("HERO_BIN") or shutil.which("hero")
    if not found:
        raise Error("no `hero` to start: put it on the PATH (`cargo install --path .`), or name it with HERO_BIN")
    return found


@contextlib.contextmanager
def serve(
    arguments: Sequence[str] = (),
    *,
    binary: str | None = None,
    data: Path | None = None,
    listen: str = "127.0.0.1:0",
    env: Mapping[str, str] | None = None,
    timeout: float = 60.0,
) -> Generator[Server, None, None]:
    """Starts `hero serve`, and ends it with the `with`. What it stored goes too, unless `data` names where it stays.

    Args:
        arguments: What else to start it with, such as `["--login"]`.
        binary: The program; else HERO_BIN, else `hero` on the PATH.
        data: A data directory that stays. Its path is short: sockets are in it.
        listen: Where it listens; port 0 is a free one.
        env: More of its environment.
        timeout: How many seconds it has to be ready.
    """
    chosen = binary or program()
    home = data or Path(tempfile.mkdtemp(prefix="hero-"))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HERO_")}
    command = [chosen, "serve", "--listen", listen, "--data", str(home), *arguments]
    home.mkdir(parents=True, exist_ok=True)
    try:
        with (home / "stderr").open("a") as stderr:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=stderr, stdin=subprocess.DEVNULL, text=True, env={**clean, **(env or {})}
            )
        try:
            yield Server(process, _url(process, home, timeout), home, chosen)
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
    finally:
        if data is None:
            shutil.rmtree(home, ignore_errors=True)


def _url(process: subprocess.Popen[str], home: Path, timeout: float) -> str:
    """The address in its ready line."""
    lines: Queue[str] = Queue()

    def read() -> None:
        with contextlib.suppress(ValueError):
            for line in process.stdout or ():
                lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    try:
        while line := lines.get(timeout=timeout):
            _, ready, rest = line.partition(" ready on ")
            if ready:
                return rest.split()[0]
    except Empty:
        raise Error(f"hero serve was not ready within {timeout:g} s") from None
    raise Error(f"hero serve ended instead: {(home / 'stderr').read_text(errors='replace')[-2000:]}")
