"""The base of the generated code: models, enums and errors."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

T = TypeVar("T")

# ---- Models ---------------------------------------------------------------------------------------------------------------------------

_SHOWN = 200
"""Longer texts are cut in representations."""


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _SHOWN:
        return value[:_SHOWN] + "…"
    return str(value) if isinstance(value, Word) else value


class Model(BaseModel):
    """A value that the server sends. Unknown fields of a newer server are kept."""

    model_config = ConfigDict(extra="allow", defer_build=True, populate_by_name=True)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Hides absent fields."""
        for name, value in super().__repr_args__():
            if value is not None:
                yield name, _short(value)

    def _repr_html_(self) -> str:
        """Returns a table for notebooks: of the fields, or of the rows if it is a page."""
        fields = [(name, value) for name, value in self.__repr_args__() if name is not None]
        for name, value in fields:
            rows = _models(value)
            if rows:
                others = [(other, given) for other, given in fields if other != name]
                return _rows(rows) + (_table(others) if others else "")
        return f"<b>{html.escape(type(self).__name__)}</b>{_table(fields)}"


def _models(value: Any) -> list[Model]:
    """Returns the models of a list that contains nothing else."""
    if not isinstance(value, list):
        return []
    rows = [row for row in value if isinstance(row, Model)]  # pyright: ignore[reportUnknownVariableType]
    return rows if len(rows) == len(value) else []  # pyright: ignore[reportUnknownArgumentType]


def _table(fields: list[tuple[str, Any]]) -> str:
    rows = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{_cell(value)}</td></tr>" for name, value in fields)
    return f"<table>{rows}</table>"


def _rows(rows: list[Model]) -> str:
    columns: dict[str, None] = {}
    read = [{name: value for name, value in row.__repr_args__() if name is not None} for row in rows]
    for row in read:
        columns.update(dict.fromkeys(row))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{_cell(row.get(name, ''))}</td>" for name in columns) + "</tr>" for row in read)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return html.escape(str(_short(text)))


class Input(Model):
    """A value that callers send. Unknown fields are refused before sending."""

    model_config = ConfigDict(extra="forbid", defer_build=True, populate_by_name=True)


class Word(str, Enum):
    """The base of enums. A word that only a newer server knows becomes a member, too, without a name in the class."""

    @classmethod
    def _missing_(cls, value: object) -> Word | None:
        if not isinstance(value, str):
            return None
        member = str.__new__(cls, value)
        member._name_ = value.upper()
        member._value_ = value
        return member

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.value}>"


@lru_cache(maxsize=512)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def read(kind: Any, value: Any) -> Any:
    """Reads a received value as a type. Raises `ValidationError` if it does not fit."""
    if kind is str or kind is bool or kind is int:
        if type(value) is kind:
            return value
    elif kind is Any:
        return value
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind.model_validate(value)
    return _adapter(cast("Any", kind)).validate_python(value)


# ---- Errors ---------------------------------------------------------------------------------------------------------------------------


_CONTROLS = re.compile("(?![\t\n])[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""C0 and C1, line separators, and directions of writing."""


def harmless(text: str) -> str:
    """Escapes characters that control a terminal, as `\\x1b`. Tabs and line ends stay."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class Error(Exception):
    """The base of all errors of this package. Its message controls no terminal."""

    def __init__(self, *said: object) -> None:
        super().__init__(*(harmless(each) if isinstance(each, str) else each for each in said))


class RpcError(Error):
    """The server answered with an error. Known errors have classes of their own."""

    code: int = 0

    def __init__(self, message: str, code: int | None = None, data: Any = None, method: str = "") -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self._message = harmless(message)
        self.details: Any = data
        """The data of the error, as JSON."""
        self.method = method
        """The method that was called."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._message, self.code, self.details, self.method)

    @property
    def message(self) -> str:
        """The message, for people."""
        return self._message

    @property
    def data(self) -> Any:
        """The same as `details`; for a failed job, the value that its script threw."""
        return self.details

    def __str__(self) -> str:
        return f"{self._message} (code {self.code})" if type(self) is RpcError else self._message

    def _field(self, name: str, kind: type[T]) -> T | None:
        value = self.details.get(name) if isinstance(self.details, dict) else None  # pyright: ignore
        if value is None:
            return None
        if name == "retry_after_ms" and isinstance(value, (int, float)):
            # Callers sleep for this time, so it is bounded whatever the server sends.
            value = 1_000 if isinstance(value, float) and not math.isfinite(value) else int(max(0, min(value, 60_000)))
        try:
            return read(kind, value)  # type: ignore[no-any-return]
        except ValidationError:
            return None


class ConnectError(Error):
    """The client could not connect to the server. The message has the address, the reason, and advice."""


class NotHero(ConnectError):
    """Another program answers at the address, or something in front of the hero server refuses the client. Of a change
    that was sent it is the cause of `OutcomeUnknown`."""


class CallTimeout(Error):
    """No answer arrived in time, although the connection is alive. The call may or may not have been carried out."""

    def __init__(self, message: str, method: str = "", params: Any = None) -> None:
        super().__init__(message)
        self.method = method
        """The method whose answer did not come."""
        self.params = params
        """Its parameters, with the key of a create."""


class OutcomeUnknown(Error):
    """The connection broke during a change, or what came in place of its answer cannot be read. It may have been carried
    out, so the client does not repeat it, or could not, or was refused when it did; then the cause says why.

    Check the state on the server, then decide.
    """

    def __init__(self, message: str, method: str = "", params: Any = None) -> None:
        super().__init__(message)
        self.method = method
        """The method whose outcome is unknown."""
        self.params = params
        """Its parameters, with the key of a create."""


class AnswerTooLarge(Error):
    """An answer or an item was larger than `max_size`. Of a change it is the cause of `OutcomeUnknown`."""


class UnexpectedAnswer(Error):
    """The answer does not fit the call, because the versions of server and client differ."""


class Closed(Error):
    """The client was closed by `close` or the end of its `with` block."""
