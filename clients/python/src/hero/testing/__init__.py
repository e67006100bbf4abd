"""A server for tests: `with serve() as server:`, or the pytest fixtures `hero_server` and `hero_client`."""

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
    """A `hero serve` on a free port, with a private Redis."""

    def __init__(self, process: subprocess.Popen[str], url: str, data: Path, program: str) -> None:
        self.process = process
        self.url = url
        """The address: `Hero(server.url)`."""
        self.data = data
        """The data directory, by which workers find the private Redis: `Worker(…, redis=str(server.data))`."""
        self.program = program
        """The process of the server."""

    def __repr__(self) -> str:
        return f"<Server {self.url}>"

    def log(self) -> str:
        """Returns the output on stderr."""
        return (self.data / "stderr").read_text(errors="replace")


def program() -> str:
    """Returns the `hero` to start: HERO_BIN, otherwise the one on the PATH."""
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
    """Starts `hero serve`, and stops it at the end of the `with` block. Its data is deleted, unless `data` is given.

    Args:
        arguments: Further arguments, such as `["--login"]`.
        binary: The program. By default HERO_BIN, otherwise `hero` on the PATH.
        data: A data directory to keep. Its path must be short, because it contains sockets.
        listen: The address to listen on; port 0 is a free one.
        env: Further environment variables.
        timeout: Seconds until it must be ready.
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
    """Returns the address in the ready line."""
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
