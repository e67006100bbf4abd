"""Writes calls as JSON-RPC 2.0 and reads answers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Any, cast
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import from_json

from .. import errors


def as_object(value: Any) -> dict[str, Any] | None:
    """Returns a received value if it is an object."""
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]


def plain(value: Any) -> Any:
    """Converts values that have no form of their own in JSON."""
    kind = type(value).__name__
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, datetime):
        return (value if value.tzinfo is not None else value.astimezone()).isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (UUID, date)):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{kind} cannot be sent as JSON: give text, as base64.b64encode(…).decode()")
    if hasattr(value, "__iter__"):
        return list(value)
    raise TypeError(f"{kind} cannot be sent as JSON: {value!r:.200}")


_SCALARS = frozenset({str, int, float, bool, type(None)})


def odd_key(value: Any) -> str | None:
    """Returns the path of the first key that is no text: as JSON, 1 and "1" would be the same key."""
    if isinstance(value, (list, tuple)):
        for at, member in enumerate(value):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            if type(member) not in _SCALARS and (odd := odd_key(member)):  # pyright: ignore[reportUnknownArgumentType]
                return f"[{at}]{odd}"
    elif isinstance(value, (Mapping, BaseModel)):
        members = cast("Any", value.items() if isinstance(value, Mapping) else value)  # pyright: ignore[reportUnknownMemberType]
        for name, member in members:
            if not isinstance(name, str):
                return f" has the key {name!r:.200}, which is no text"
            if type(member) not in _SCALARS and (odd := odd_key(member)):
                return f".{name}{odd}"
    return None


def seconds(value: object, name: str = "wait_timeout") -> float:
    """Returns a duration given by the caller as a number of seconds."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if math.isnan(value):
            raise ValueError(f"{name} is a number of seconds, not {value}; math.inf is no limit")
        return value
    raise TypeError(f"{name} is a number of seconds or a datetime.timedelta, not {value!r:.200}")


TOO_DEEP = "something in it has itself within, or is nested too deep for JSON"
"""The message for values that are endless or too deep to write."""

_encode = json.JSONEncoder(default=plain, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False).encode


def request(number: int, method: str, params: dict[str, Any]) -> bytes:
    """Writes a call with named parameters. Raises TypeError or ValueError if it cannot be sent."""
    try:
        if odd := odd_key(params):
            raise TypeError(odd[1:])
        return _encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
    except UnicodeEncodeError as wrong:
        raise ValueError(f"{method} was not sent: {no_unicode(wrong)}") from wrong
    except RecursionError as wrong:
        raise ValueError(f"{method} was not sent: {TOO_DEEP}") from wrong
    except ValueError as wrong:
        raise ValueError(f"{method} was not sent: {wrong}") from wrong
    except TypeError as wrong:
        raise TypeError(f"{method} was not sent: {wrong}") from wrong


def no_unicode(wrong: UnicodeEncodeError) -> str:
    """Returns the message for a text that cannot be written."""
    near = wrong.object[max(0, wrong.start - 20) : wrong.end + 20]
    return f"a text in it is no Unicode, which has no lone surrogates: …{near!r}…"


def given(params: dict[str, Any]) -> dict[str, Any]:
    """Returns the parameters that are not None."""
    return {name: value for name, value in params.items() if value is not None}


def parse(raw: bytes | str) -> Any:
    """Parses a message. Raises ValueError if it is not JSON."""
    return from_json(raw)


def error_of(method: str, error: Any) -> errors.RpcError:
    """Returns the error of an answer, as an instance of its class."""
    said = as_object(error)
    if said is None:
        return errors.RpcError(f"{method} was answered with an error that is none: {error!r:.200}", 0, None, method)
    code = said.get("code")
    message, data = str(said.get("message", "")), said.get("data")
    if not isinstance(code, int):
        return errors.RpcError(message, 0, data, method)
    kind = errors.CLASSES.get(code, errors.RpcError)
    if kind is errors.NotAuthenticated and "Bearer" in message:
        message += "; here: give token=… or set HERO_TOKEN"
    return kind(message, code, data, method)
