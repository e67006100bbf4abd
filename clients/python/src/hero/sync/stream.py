# Made of ../aio/stream.py by `make clients`. Change that instead.
"""A subscription to iterate over."""

from __future__ import annotations

import contextlib
from collections import deque
from types import TracebackType
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from .. import errors
from .._base import read
from .._core.thread import Feed, Session

T = TypeVar("T")


class Subscription(Generic[T]):
    """The items of a subscription, which begins with `with` or the first iteration. It ends after the item `ended`, by
    `close`, or with an error.

    If the connection breaks, the subscription continues after the last item, so no item is missing and none comes
    twice. If the server could not keep items, it sends the item `lagged`. If the `cursor` of that is empty, the
    connection broke before the first item arrived.
    """

    def __init__(self, session: Session, asked: tuple[str, str, dict[str, Any], bool, bool], item: Any) -> None:
        self._session = session
        self._asked = asked
        self._kind = item
        self._feed: Feed | None = None
        self._ready: deque[dict[str, Any]] = deque()
        self._over = False
        self._cursor: str | None = asked[2].get("cursor")

    @property
    def cursor(self) -> str | None:
        """The cursor of the last item that was read. Another subscription can continue from there."""
        return self._cursor

    def open(self) -> None:
        """Subscribes, unless that was done before. Raises an error if the server refuses."""
        if self._feed is None and not self._over:
            self._feed = self._session.subscribe(*self._asked)

    def __iter__(self) -> Subscription[T]:
        return self

    def __next__(self) -> T:
        if not self._ready:
            self.open()
            if self._feed is None or self._over:
                raise StopIteration
            self._ready.extend(self._session.take(self._feed))
            if not self._ready:
                self.close()
                raise StopIteration
        raw = self._ready.popleft()
        cursor = raw.get("cursor")
        if isinstance(cursor, str) and cursor:
            self._cursor = cursor
        try:
            item: T = read(self._kind, raw)
        except ValidationError as wrong:
            what = f"{self._asked[0]} sent something else than this client knows, so the versions of server and client differ"
            raise errors.UnexpectedAnswer(f"{what}: {wrong}") from wrong
        return item

    def close(self) -> None:
        """Ends the subscription, also on the server."""
        self._ready.clear()
        self._over = True
        feed, self._feed = self._feed, None
        if feed is not None:
            self._session.leave(feed)

    def __enter__(self) -> Subscription[T]:
        self.open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        feed = getattr(self, "_feed", None)
        if feed is not None:
            with contextlib.suppress(Exception):
                self._session.forget(feed)
