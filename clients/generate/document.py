"""Reads `openrpc.json` into a model for the printers of all languages: types, methods, subscriptions, errors.

The model is independent of the form of the document: an enum that is inline in six places is one `Words`, and the data
of an error has the types of its fields. So a change of the document's form does not change the printers.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .model import (
    KEYED,
    ONCE,
    REPEAT,
    Alias,
    Anything,
    Choice,
    Constant,
    Document,
    Error,
    Field,
    Flag,
    Listing,
    Mapping,
    Method,
    Named,
    Nothing,
    Number,
    Record,
    Shape,
    Subscription,
    Text,
    Type,
    Whole,
    Words,
)

__all__ = [
    "Alias",
    "Anything",
    "Choice",
    "Constant",
    "Document",
    "Error",
    "Field",
    "Flag",
    "KEYED",
    "Listing",
    "Mapping",
    "Method",
    "Named",
    "Nothing",
    "Number",
    "ONCE",
    "REPEAT",
    "Record",
    "Shape",
    "Subscription",
    "Text",
    "Type",
    "Whole",
    "Words",
    "read",
]

# ---- Reading --------------------------------------------------------------------------------------------------------------------------

# The values of `x-repeatable` of a method.
AGAIN = {"always": REPEAT, "with_key": KEYED, "never": ONCE}
# The names in clients of errors whose keys in the document are for the server's code.
ERROR_NAMES = {"WaitRanOut": "WaitTimeout", "State": "WrongState", "Internal": "InternalError"}
REFERENCE = "#/components/schemas/"


def read(path: Path) -> Document:
    return Reader(json.loads(path.read_text(encoding="utf-8"))).document()


@dataclass
class Reader:
    source: dict[str, Any]
    types: dict[str, Type] = field(default_factory=dict)
    words: dict[tuple[str, ...], str] = field(default_factory=dict)

    def document(self) -> Document:
        schemas: dict[str, Any] = self.source["components"]["schemas"]
        # Enums with a name come first: an inline enum with the same words elsewhere is the same type.
        for name, schema in schemas.items():
            if "enum" in schema:
                self.words.setdefault(tuple(schema["enum"]), name)
        for name, schema in schemas.items():
            self.define(name, schema)
        errors = tuple(self.error(name, error) for name, error in self.source["components"]["errors"].items())
        codes = {error.code: error.document_name for error in errors}
        methods = tuple(self.method(method, codes) for method in self.source["methods"])
        return Document(self.source["info"]["version"], tuple(self.types.values()), methods, errors)

    def define(self, name: str, schema: dict[str, Any]) -> None:
        description = schema.get("description", "")
        if "enum" in schema:
            self.types[name] = words(name, schema)
        elif schema.get("type") == "object" and schema.get("properties"):
            self.types[name] = self.record(name, schema)
        else:
            self.types[name] = Alias(name, description, self.shape(schema))

    def record(self, name: str, schema: dict[str, Any]) -> Record:
        required = set(schema.get("required", ()))
        fields = tuple(self.field(each, member, each in required) for each, member in schema["properties"].items())
        return Record(name, schema.get("description", ""), fields, schema.get("additionalProperties") is False)

    def field(self, name: str, schema: dict[str, Any], required: bool, description: str = "") -> Field:
        said = schema.get("description") or description
        return Field(name, self.shape(schema), said, required, schema.get("default"), schema.get("maximum"))

    def shape(self, schema: dict[str, Any]) -> Shape:
        if "$ref" in schema:
            return Named(schema["$ref"].removeprefix(REFERENCE))
        if "allOf" in schema and len(schema["allOf"]) == 1:
            return self.shape(schema["allOf"][0])
        for several in ("oneOf", "anyOf"):
            if several in schema:
                return Choice(tuple(self.shape(each) for each in schema[several]))
        if "const" in schema:
            return Constant(schema["const"])
        if "enum" in schema:
            return Named(self.inline_words(schema))
        match schema.get("type"):
            case None:
                return Anything()
            case "null":
                return Nothing()
            case "boolean":
                return Flag()
            case "integer":
                return Whole()
            case "number":
                return Number()
            case "string":
                return Text(schema["format"] if schema.get("format") in ("uuid", "date-time") else "")
            case "array":
                return Listing(self.shape(schema["items"]) if "items" in schema else Anything())
            case "object" if schema.get("properties"):
                name = schema["title"]
                if name not in self.types:
                    self.types[name] = self.record(name, schema)
                return Named(name)
            case "object":
                value = schema.get("additionalProperties")
                if not isinstance(value, dict):
                    value = next(iter(schema.get("patternProperties", {}).values()), None)
                return Mapping(self.shape(value) if isinstance(value, dict) else Anything())
            case other:
                raise ValueError(f"a schema of type {other!r} is not known here: {json.dumps(schema)[:200]}")

    def inline_words(self, schema: dict[str, Any]) -> str:
        """Returns the name of the first type that had these words."""
        name = self.words.setdefault(tuple(schema["enum"]), schema["title"])
        if name not in self.types and name not in self.source["components"]["schemas"]:
            self.types[name] = words(name, schema)
        return name

    def method(self, method: dict[str, Any], codes: dict[int, str]) -> Method:
        name = method["name"]
        parameters = tuple(
            self.field(each["name"], each["schema"], each.get("required", False), each.get("description", "")) for each in method["params"]
        )
        errors = tuple(codes[code] for code in (self.code(each) for each in method.get("errors", ())) if code in codes)
        keyed_items = next((each.name for each in parameters if self.has_keys(each.shape)), None)
        keyed = any(each.name == "idempotency_key" for each in parameters)
        again = AGAIN[method["x-repeatable"]]
        if again == KEYED and not (keyed or keyed_items):
            raise ValueError(f"{name} may be sent again with a key, and takes none")
        result = method["result"]
        return Method(
            name=name,
            summary=method.get("summary", ""),
            description=method.get("description", ""),
            tag=next((each["name"] for each in method.get("tags", ())), ""),
            parameters=parameters,
            result=self.shape(result["schema"]),
            result_description=result.get("description") or result["schema"].get("description", ""),
            errors=errors,
            again=again,
            keyed_items=None if keyed else keyed_items,
            subscription=self.subscription(method, parameters),
            examples=tuple(method.get("examples", ())),
        )

    def has_keys(self, shape: Shape) -> bool:
        """Whether this is a list of objects with idempotency keys. A schedule accepts no key in its one job."""
        named = self.types.get(shape.item.name) if isinstance(shape, Listing) and isinstance(shape.item, Named) else None
        return isinstance(named, Record) and named.field("idempotency_key") is not None

    def subscription(self, method: dict[str, Any], parameters: tuple[Field, ...]) -> Subscription | None:
        said = method.get("x-subscription")
        if said is None:
            return None
        item = next(each["schema"] for each in said["notification"]["params"] if each["name"] == "result")
        shape = self.shape(item)
        if isinstance(shape, Named):
            named = self.types.get(shape.name)
            shape = named.shape if isinstance(named, Alias) else shape
        options = shape.options if isinstance(shape, Choice) else (shape,)
        items = tuple(each.name for each in options if isinstance(each, Named))
        resumable, from_now = any(each.name == "cursor" for each in parameters), not any(each.required for each in parameters)
        return Subscription(said["notification"]["name"], items, said["unsubscribe"], resumable, from_now)

    def code(self, error: dict[str, Any]) -> int:
        if "$ref" in error:
            error = self.source["components"]["errors"][error["$ref"].rpartition("/")[2]]
        return error["code"]

    def error(self, name: str, error: dict[str, Any]) -> Error:
        return Error(ERROR_NAMES.get(name, name), name, error["code"], error["message"], self.error_data(name, error))

    def error_data(self, name: str, error: dict[str, Any]) -> tuple[Field, ...]:
        """Returns the fields of the data: from its schema if the document has one, otherwise from its example."""
        schema = error.get("x-data") or error.get("x-schema") or error.get("schema")
        data = error.get("data")
        if schema is None and isinstance(data, dict) and "$ref" in data:
            schema = data
        for component in (f"{name}Data", f"{name}ErrorData"):
            if schema is None and component in self.types:
                schema = {"$ref": REFERENCE + component}
        if schema is not None:
            shape = self.shape(schema.get("schema", schema))
            named = self.types.get(shape.name) if isinstance(shape, Named) else None
            if isinstance(named, Record):
                return tuple(replace(each, required=False) for each in named.fields)
        if not isinstance(data, dict):
            return ()
        return tuple(Field(each, self.guess(each, value), "", False) for each, value in data.items())

    def guess(self, name: str, value: Any) -> Shape:
        """Returns the shape of a field of an example: that of the first field of this name that the value fits."""
        for record in self.types.values():
            same = record.field(name) if isinstance(record, Record) else None
            if same is not None and self.fits(same.shape, value):
                return same.shape
        match value:
            case bool():
                return Flag()
            case int():
                return Whole()
            case float():
                return Number()
            case str():
                return Text()
            case _:
                return Anything()

    def fits(self, shape: Shape, value: Any) -> bool:
        match shape:
            case Named(name):
                named = self.types.get(name)
                if isinstance(named, Words):
                    return value in [word for word, _ in named.words]
                if isinstance(named, Record):
                    known = {each.name for each in named.fields}
                    needed = {each.name for each in named.fields if each.required}
                    return isinstance(value, dict) and needed <= set(value) <= known
                return False
            case Flag():
                return isinstance(value, bool)
            case Whole():
                return isinstance(value, int) and not isinstance(value, bool)
            case Number():
                return isinstance(value, (int, float)) and not isinstance(value, bool)
            case Text():
                return isinstance(value, str)
            case _:
                return False


def words(name: str, schema: dict[str, Any]) -> Words:
    """Reads an enum. Its description may explain each word: "`in`: Those that came. `out`: …"."""
    description = schema.get("description", "")
    known = [str(word) for word in schema["enum"]]
    found = list(re.finditer(r"`([A-Za-z0-9_-]+)`: ", description))
    found = [each for each in found if each[1] in known]
    meanings = {}
    for each, following in zip(found, [*found[1:], None], strict=True):
        meanings[each[1]] = description[each.end() : following.start() if following else None].strip()
    head = description[: found[0].start()].strip() if found else description
    return Words(name, head, tuple((word, meanings.get(word, "")) for word in known))
