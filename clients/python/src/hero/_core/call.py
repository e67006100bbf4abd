"""The options of calls and of clients."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["new", "connecting", "open", "waiting", "closed"]
"""The status of a connection. `waiting` is between two attempts."""


@dataclass(frozen=True)
class Repeat:
    """The call changes nothing: it is repeated after the connection breaks."""


@dataclass(frozen=True)
class Once:
    """The call changes something: it is not repeated after the connection breaks."""


@dataclass(frozen=True)
class Keyed:
    """The call has an idempotency key, so it can be repeated.

    `items` is the parameter whose items have keys, if the call itself has none.
    """

    items: str | None = None


Again = Repeat | Once | Keyed
REPEAT = Repeat()
ONCE = Once()


@dataclass(frozen=True)
class Wait:
    """The default and the maximum of `wait_timeout` of a call, in seconds."""

    default: float
    longest: float


@dataclass(frozen=True)
class Options:
    """The options of a client. Times are in seconds; `math.inf` means no limit."""

    url: str
    token: str | Callable[[], str] | None = None
    ca: str | None = None
    connect_timeout: float = 10.0
    call_timeout: float = 60.0
    reconnect: int | None = 10
    backoff: float = 0.25
    longest_backoff: float = 10.0
    heartbeat: float = 20.0
    max_size: int = 32 * 1024 * 1024
    buffer: int = 1000
    on_status: Callable[[Status], object] | None = None

    def __post_init__(self) -> None:
        for name, least in ("max_size", 1), ("buffer", 1), ("reconnect", 0):
            value = getattr(self, name)
            if value is None and name == "reconnect":
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name} is a whole number, not {value!r:.200}")
            if value < least:
                other = "; None is endless" if name == "reconnect" else ""
                raise ValueError(f"{name} is {least} or more, not {value}{other}")
        for name in "call_timeout", "connect_timeout":
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is more than 0 seconds, not {getattr(self, name)}; math.inf is no limit")
        if self.heartbeat < 0:
            raise ValueError(f"heartbeat is 0 seconds or more, not {self.heartbeat}; 0 never asks")

    @property
    def room(self) -> int:
        """Maximum number of bytes of items that may wait in one place, as they were received."""
        return max(self.max_size, 32 * 1024 * 1024)


def new_key() -> str:
    """Creates a unique key."""
    return uuid.uuid4().hex


def with_keys(params: dict[str, Any], again: Again) -> tuple[dict[str, Any], Again]:
    """Returns the parameters, with a key added wherever one is needed and the caller gave none, and whether the call can
    be repeated.

    If an item has an id, others may name it, which the server refuses for items with keys. Such a call gets no keys.
    """
    if not isinstance(again, Keyed):
        return params, again
    if again.items is None:
        if params.get("idempotency_key") is None:
            params = {**params, "idempotency_key": new_key()}
        return params, again
    items = params[again.items]
    if any(item.get("job_id") is not None and item.get("idempotency_key") is None for item in items):
        return params, ONCE
    keyed = [item if item.get("idempotency_key") is not None else {**item, "idempotency_key": new_key()} for item in items]
    return {**params, again.items: keyed}, again
