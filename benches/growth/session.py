"""One session of a bench: on what machine it runs, and how it ends."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import resource
import signal
import subprocess
import sys
from collections.abc import Coroutine
from typing import Any

from client import Failure


def positive(text: str) -> int:
    """Reads a number of an option."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return number


def session(program: str) -> dict[str, Any]:
    """What figures belong to."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise Failure(f"{program} does not run: {error}; name the server program by --hero or HERO") from error
    return {
        "hero": said.strip(),
        "cpus": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def run(work: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """Runs a measurement. Ctrl-C and a SIGTERM end it, and then what it has started."""
    # A thousand connections need more descriptors than many shells allow, here and in the server.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    async def interruptible() -> dict[str, Any]:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(interruptible())
    except Failure as failure:
        sys.exit(f"{failure}")
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit("interrupted")
