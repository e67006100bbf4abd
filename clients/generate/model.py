"""The model of a document, which all printers use: types, methods, subscriptions, errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union


def pascal(name: str) -> str:
    """Converts `a_name` to `AName`."""
    return "".join(part.capitalize() for part in name.split("_"))


# ---- Shapes: the forms of values ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Anything:
    """Any JSON."""


@dataclass(frozen=True)
class Nothing:
    """`null`."""


@dataclass(frozen=True)
class Flag:
    """`true` or `false`."""


@dataclass(frozen=True)
class Whole:
    """A whole number, within 53 bits."""


@dataclass(frozen=True)
class Number:
    """A number, which may be a fraction."""


@dataclass(frozen=True)
class Text:
    """A text. `form` is `uuid`, `date-time` or empty."""

    form: str = ""


@dataclass(frozen=True)
class Constant:
    """Always this text."""

    text: str


@dataclass(frozen=True)
class Named:
    """A type of the document, by its name."""

    name: str


@dataclass(frozen=True)
class Listing:
    """A list."""

    item: Shape


@dataclass(frozen=True)
class Mapping:
    """An object with arbitrary names."""

    value: Shape


@dataclass(frozen=True)
class Choice:
    """One of several shapes."""

    options: tuple[Shape, ...]


Shape = Union[Anything, Nothing, Flag, Whole, Number, Text, Constant, Named, Listing, Mapping, Choice]

# ---- Types: shapes with names ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Field:
    """A member of an object, or a parameter. `default` is the server's default as JSON, or None if there is none."""

    name: str
    shape: Shape
    description: str
    required: bool
    default: Any = None
    maximum: float | None = None


@dataclass(frozen=True)
class Record:
    """An object with known members. A `closed` one, which callers send, is refused if it has other members."""

    name: str
    description: str
    fields: tuple[Field, ...]
    closed: bool = False

    def field(self, name: str) -> Field | None:
        return next((each for each in self.fields if each.name == name), None)


@dataclass(frozen=True)
class Words:
    """An enum of texts. Each has a description, which may be empty."""

    name: str
    description: str
    words: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Alias:
    """Another name of a shape: a union, a list, a text."""

    name: str
    description: str
    shape: Shape


Type = Union[Record, Words, Alias]

# ---- Methods and errors ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subscription:
    """A subscription: notifications of this name, until `unsubscribe` is called with the id.

    A `resumable` one accepts the cursor of its last item. A `from_now` one names nothing to follow: it has all future
    items.
    """

    notification: str
    items: tuple[str, ...]
    unsubscribe: str
    resumable: bool
    from_now: bool


# How clients handle a call whose outcome is unknown.
REPEAT = "repeat"  # The call changes nothing, so it is repeated.
KEYED = "keyed"  # The call has a key that the client creates, so it is repeated and carried out once.
ONCE = "once"  # The call is not repeated: the caller gets an error.


@dataclass(frozen=True)
class Method:
    """A method. `keyed_items` is the parameter whose items have keys, if the call itself has none."""

    name: str
    summary: str
    description: str
    tag: str
    parameters: tuple[Field, ...]
    result: Shape
    result_description: str
    errors: tuple[str, ...]
    again: str
    keyed_items: str | None = None
    subscription: Subscription | None = None
    examples: tuple[Any, ...] = ()

    def parameter(self, name: str) -> Field | None:
        return next((each for each in self.parameters if each.name == name), None)

    @property
    def waits(self) -> bool:
        """Whether the method has a `wait_timeout`."""
        return self.parameter("wait_timeout") is not None


@dataclass(frozen=True)
class Error:
    """An error.

    `document_name` is its key in the document, `name` its name in clients. Any field of `data` may be absent.
    """

    name: str
    document_name: str
    code: int
    message: str
    data: tuple[Field, ...]


@dataclass(frozen=True)
class Document:
    """The whole document."""

    version: str
    types: tuple[Type, ...]
    methods: tuple[Method, ...]
    errors: tuple[Error, ...]

    def type(self, name: str) -> Type | None:
        return next((each for each in self.types if each.name == name), None)

    def method(self, name: str) -> Method:
        return next(each for each in self.methods if each.name == name)

    def error(self, document_name: str) -> Error:
        return next(each for each in self.errors if each.document_name == document_name)

    def calls(self) -> list[Method]:
        """The methods that callers use: all but those that end subscriptions."""
        ends = {each.subscription.unsubscribe for each in self.methods if each.subscription}
        return [each for each in self.methods if each.name not in ends]

    @property
    def groups(self) -> dict[str, list[Method]]:
        """The methods by tag, in the order of the document."""
        groups: dict[str, list[Method]] = {}
        for method in self.methods:
            groups.setdefault(method.tag, []).append(method)
        return groups

    def sent(self) -> set[str]:
        """The names of the types that callers send."""
        return self._reached(each.shape for method in self.methods for each in method.parameters)

    def received(self) -> set[str]:
        """The names of the types that the server sends."""
        shapes = [method.result for method in self.methods]
        shapes += [Named(item) for method in self.methods if method.subscription for item in method.subscription.items]
        shapes += [each.shape for error in self.errors for each in error.data]
        return self._reached(shapes)

    def _reached(self, shapes: Any) -> set[str]:
        found: set[str] = set()
        left = list(shapes)
        while left:
            shape = left.pop()
            if isinstance(shape, Listing):
                left.append(shape.item)
            elif isinstance(shape, Mapping):
                left.append(shape.value)
            elif isinstance(shape, Choice):
                left += shape.options
            elif isinstance(shape, Named) and shape.name not in found:
                found.add(shape.name)
                named = self.type(shape.name)
                if isinstance(named, Record):
                    left += [each.shape for each in named.fields]
                elif isinstance(named, Alias):
                    left.append(named.shape)
        return found
