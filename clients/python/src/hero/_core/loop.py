"""What the asyncio face stands on: the session itself, in the loop of whoever calls. `thread.py` has the same for the sync face."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .feed import Feed
from .session import Session

CANCELLED = asyncio.CancelledError
"""What stops a call from outside."""

__all__ = ["CANCELLED", "Feed", "Session", "ended", "in_thread", "rest"]

T = TypeVar("T")


async def in_thread(work: Callable[..., T], *given: Any) -> T:
    """Does what may block, without holding up the loop."""
    return await asyncio.to_thread(work, *given)


async def rest(seconds: float) -> None:
    """Does nothing for so long."""
    await asyncio.sleep(seconds)


async def ended(work: Coroutine[Any, Any, T], seconds: float) -> None:
    """Does a last thing for a call that was stopped: it is not stopped in its turn, and takes no longer than this."""
    task = asyncio.create_task(work)
    done, _ = await asyncio.wait({task}, timeout=seconds)
    for each in done:
        if not each.cancelled():
            each.exception()
