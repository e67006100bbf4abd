"""The base of the asyncio face: the session, in the loop of the caller. `thread.py` is the base of the sync face."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .feed import Feed
from .session import Session

CANCELLED = asyncio.CancelledError
"""The exception that interrupts a call."""

__all__ = ["CANCELLED", "Feed", "Session", "ended", "in_thread", "rest"]

T = TypeVar("T")


async def in_thread(work: Callable[..., T], *given: Any) -> T:
    """Runs work that may block, without blocking the loop."""
    return await asyncio.to_thread(work, *given)


async def rest(seconds: float) -> None:
    """Sleeps."""
    await asyncio.sleep(seconds)


async def ended(work: Coroutine[Any, Any, T], seconds: float) -> None:
    """Runs the final work of an interrupted call. It cannot be interrupted itself, and takes at most `seconds`."""
    task = asyncio.create_task(work)
    done, _ = await asyncio.wait({task}, timeout=seconds)
    for each in done:
        if not each.cancelled():
            each.exception()
