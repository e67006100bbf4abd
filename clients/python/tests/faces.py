"""The sync client behind the interface of the asyncio client, so that one test covers both. Each call runs in its own thread."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from typing import Any

import hero
from hero.sync.stream import Subscription


async def in_thread(work: Callable[[], Any]) -> Any:
    """Runs the call in a thread that never blocks the end of the process."""
    loop, future = asyncio.get_running_loop(), asyncio.Future[Any]()

    def settle(result: Any, error: BaseException | None) -> None:
        if not future.cancelled():
            future.set_exception(error) if error is not None else future.set_result(result)

    def run() -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = work()
        except BaseException as failed:
            error = failed
        loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, daemon=True).start()
    return await future


class Items:
    def __init__(self, items: Subscription[Any]) -> None:
        self._items = items

    @property
    def cursor(self) -> str | None:
        return self._items.cursor

    def __aiter__(self) -> Items:
        return self

    async def __anext__(self) -> Any:
        item = await in_thread(lambda: next(self._items, None))
        if item is None:
            raise StopAsyncIteration
        return item

    async def __aenter__(self) -> Items:
        await in_thread(self._items.open)
        return self

    async def __aexit__(self, *_: object) -> None:
        await in_thread(self._items.close)


class SyncHero:
    def __init__(self, *given: Any, **options: Any) -> None:
        self.sync = hero.Hero(*given, **options)

    async def __aenter__(self) -> SyncHero:
        await in_thread(self.sync.connect)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await in_thread(self.sync.close)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.sync, name)
        if not inspect.ismethod(found):
            return found
        if name.startswith("subscribe_"):
            return lambda *given, **named: Items(found(*given, **named))
        return lambda *given, **named: in_thread(lambda: found(*given, **named))
