"""A subscription as the caller sees it: items in order, none missing and none twice, even if the connection breaks."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from .. import errors
from .wire import as_object

if TYPE_CHECKING:
    from .link import Link


class Feed:
    """A buffer of items that the caller has not taken yet.

    It holds at most `room` items and `most_bytes` bytes, but always one item. When it is full, the client unsubscribes,
    and later continues from the cursor.
    """

    def __init__(
        self, method: str, unsubscribe: str, params: dict[str, Any], resumable: bool, from_now: bool, room: int, most_bytes: int
    ) -> None:
        self.method = method
        self.unsubscribe = unsubscribe
        self.params = params
        self.resumable = resumable
        self.from_now = from_now
        self.cursor: str | None = params.get("cursor") if resumable else None
        self.attached: tuple[Link, str] | None = None
        """The connection that sends the items, and the subscription's id there."""
        self.full = False
        self.resumed = False
        """Whether it was subscribed again after the last item, and no item but `lagged` has arrived since."""
        self.failures = 0
        self._room = room
        self._most_bytes = most_bytes
        self._items: deque[dict[str, Any]] = deque()
        self._bytes = 0
        self._error: errors.Error | None = None
        self._over = False
        self._news = asyncio.Event()

    @property
    def over(self) -> bool:
        return self._over

    def doubts(self, item: Any) -> bool:
        """Whether an item reports lost items that the server may still have after the last one that arrived.

        They are lost only if the server reports this again when it is asked for them.
        """
        said = as_object(item)
        is_gap = said is not None and said.get("type") == "lagged"
        return is_gap and self.cursor is not None and not (self.resumed or self._over or self.full)

    def push(self, item: Any, size: int) -> bool:
        """Adds an item that had `size` bytes on the wire.

        Returns False if there is no room, so that it must be sent again.
        """
        if self._over or self.full:
            return False
        said = as_object(item)
        if said is None:
            self.end(errors.UnexpectedAnswer(f"{self.method} sent an item that is no object: {item!r:.200}"))
            return False
        if len(self._items) >= self._room or (self._items and self._bytes + size > self._most_bytes):
            self.full = True
            return False
        cursor = said.get("cursor")
        if self.resumable and isinstance(cursor, str) and cursor:
            if cursor == self.cursor and said.get("type") != "lagged":
                return True
            self.cursor = cursor
        self.failures = 0
        self.resumed = self.resumed and said.get("type") == "lagged"
        self._items.append(said)
        self._bytes += size
        if said.get("type") == "ended":
            self._over = True
        self._news.set()
        return True

    def end(self, error: errors.Error | None) -> None:
        """Ends the subscription. Items that arrived before can still be taken."""
        if not self._over:
            self._over, self._error = True, error
        self._news.set()

    async def take(self) -> list[dict[str, Any]]:
        """Returns all buffered items, and waits for one if there are none. Returns an empty list at the end."""
        while not self._items:
            if self._over:
                if self._error is not None:
                    raise self._error
                return []
            self._news.clear()
            await self._news.wait()
        items = list(self._items)
        self._items.clear()
        self._bytes = 0
        return items
