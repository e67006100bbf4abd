"""Prints the Python client: models, errors, one method per call, and the sync face, which is the asyncio face without
`async`."""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from pathlib import Path

from .document import (
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
    Text,
    Type,
    Whole,
    Words,
)
from .model import pascal

PACKAGE = Path("python/src/hero")
SOURCE = Path(__file__).resolve().parent.parent / PACKAGE
WIDTH = 140
MADE = '# Made of openrpc.json by `make clients`. Change clients/generate/python.py instead.\n"""{}"""\n\nfrom __future__ import annotations\n\n'
TAKEN = {
    "copy",
    "dict",
    "json",
    "schema",
    "validate",
    "construct",
    "parse_obj",
    "parse_raw",
    "parse_file",
    "from_orm",
    "update_forward_refs",
}
"""The members of pydantic models. Fields with these names get a `_` appended."""
OF_ERRORS = {"add_note", "args", "code", "details", "message", "method", "with_traceback"}
"""The members of exceptions. Fields with these names get a `_` appended."""


def files(document: Document) -> dict[str, str]:
    methods = print_methods(document)
    made = {
        "models.py": print_models(document),
        "errors.py": print_errors(document),
        "aio/methods.py": methods,
    }
    for name in sorted({path.name for path in (SOURCE / "aio").glob("*.py")} | {"methods.py"}):
        text = methods if name == "methods.py" else (SOURCE / "aio" / name).read_text(encoding="utf-8")
        made[f"sync/{name}"] = without_async(text, name)
    return {str(PACKAGE / path): text for path, text in made.items()}


# ---- Words ----------------------------------------------------------------------------------------------------------------------------


def name_of(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) or name in TAKEN or name.startswith("model_") else name


def constant(word: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", word).upper()


def prose(text: str, indent: int, first: int = 0) -> str:
    """Wraps a text for an indented place. The first line has `first` characters before it."""
    lines = []
    for number, paragraph in enumerate(text.replace("\\", "\\\\").split("\n\n")):
        spare = " " * (first if number == 0 else 0)
        wrapped = textwrap.wrap(
            spare + " ".join(paragraph.split()), WIDTH - indent - 4, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
        )
        lines.append(f"\n{' ' * indent}".join(wrapped).strip())
    return f"\n\n{' ' * indent}".join(lines)


def docstring(text: str, indent: int) -> str:
    said = prose(text, indent, 3)
    return f'"""{said}"""' if not said.endswith('"') else f'"""{said} """'


# ---- Types ----------------------------------------------------------------------------------------------------------------------------


def type_of(shape: Shape, prefix: str = "", sent: bool = False) -> str:
    """Returns the type of a value.

    Callers may send more: a mapping for a model, a word for an enum, a `datetime` for a time, and a `timedelta` for a
    number, because all numbers that callers send are seconds.
    """
    match shape:
        case Anything():
            return "Any"
        case Nothing():
            return "None"
        case Flag():
            return "bool"
        case Whole():
            return "int"
        case Number():
            return "float | timedelta" if sent else "float"
        case Text("uuid") if sent:
            return "str | UUID"
        case Text("date-time"):
            return "datetime | str" if sent else "datetime"
        case Text():
            return "str"
        case Constant(text):
            return f"Literal[{json.dumps(text)}]"
        case Listing(item):
            return f"{'Sequence' if sent else 'list'}[{type_of(item, prefix, sent)}]"
        case Mapping(value):
            return f"{'Mapping' if sent else 'dict'}[str, {type_of(value, prefix, sent)}]"
        case Choice(options):
            return " | ".join(type_of(each, prefix, sent) for each in options)
        case Named(name):
            return f"{prefix}{name}"
    raise ValueError(shape)


def sent_type(shape: Shape, document: Document, prefix: str) -> str:
    """Returns the type of a parameter."""
    match shape:
        case Listing(item):
            return f"Sequence[{sent_type(item, document, prefix)}]"
        case Mapping(value):
            return f"Mapping[str, {sent_type(value, document, prefix)}]"
        case Choice(options):
            return " | ".join(sent_type(each, document, prefix) for each in options)
        case Named(name):
            match document.type(name):
                case Record():
                    return f"{prefix}{name} | Mapping[str, Any]"
                case Words():
                    return f"{prefix}{name} | {prefix}{name}Word"
    return type_of(shape, prefix, sent=True)


def print_models(document: Document) -> str:
    sent = document.sent()
    parts = [
        MADE.format("Parameters and results as pydantic models. An absent optional field is None."),
        "from datetime import datetime\nfrom typing import Annotated, Any, Literal, Union\n\nfrom pydantic import Field\n\n",
        "from ._base import Input, Model, Word\n",
    ]
    items = {f"{pascal(method.subscription.notification)}Item": method for method in document.methods if method.subscription is not None}
    names = sorted([*(each.name for each in document.types), *items, *(f"{each.name}Word" for each in words_sent(document, sent))])
    parts.append("\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n")
    for each in document.types:
        parts.append("\n\n" + print_type(each, document, sent))
    for name, method in items.items():
        assert method.subscription is not None
        options = ", ".join(method.subscription.items)
        parts.append(f'\n\n{name} = Annotated[Union[{options}], Field(discriminator="type")]\n')
        parts.append(docstring(f"An item of `{method.name}`. Its `type` names the variant.", 0) + "\n")
    return "".join(parts)


def words_sent(document: Document, sent: set[str]) -> list[Words]:
    return [each for each in document.types if isinstance(each, Words) and each.name in sent]


def print_type(each: Type, document: Document, sent: set[str]) -> str:
    match each:
        case Words():
            lines = [f"class {each.name}(Word):\n    {docstring(each.description or each.name, 4)}\n"]
            for word, meaning in each.words:
                lines.append(f"\n    {constant(word)} = {json.dumps(word)}\n")
                if meaning:
                    lines.append(f"    {docstring(meaning, 4)}\n")
            if each.name in sent:
                options = ", ".join(json.dumps(word) for word, _ in each.words)
                lines.append(f"\n\n{each.name}Word = Literal[{options}]\n")
            return "".join(lines)
        case Record():
            # A newer server may send more fields.
            base = "Input" if each.closed and each.name in sent - document.received() else "Model"
            lines = [f"class {each.name}({base}):\n    {docstring(each.description or each.name, 4)}\n"]
            for field in each.fields:
                lines.append("\n" + print_field(field, each.closed, document))
            return "".join(lines)
        case Alias():
            return f"{each.name} = {type_of(each.shape)}\n{docstring(each.description or each.name, 0)}\n"


def print_field(field: Field, closed: bool, document: Document) -> str:
    name = name_of(field.name)
    shape = field.shape
    kind = type_of(shape)
    if closed and isinstance(shape, Named) and isinstance(document.type(shape.name), Words):
        kind = f"{shape.name} | {shape.name}Word" if shape.name in document.sent() else shape.name
    default = ""
    if isinstance(shape, Constant):
        default = f" = {json.dumps(shape.text)}"
    elif not field.required:
        kind = kind if kind == "Any" else f"{kind} | None"
        default = " = None"
    if name != field.name:
        default = f" = Field({'None, ' if not field.required else ''}alias={json.dumps(field.name)})"
    line = f"    {name}: {kind}{default}\n"
    return line + (f"    {docstring(field.description, 4)}\n" if field.description else "")


# ---- Errors ---------------------------------------------------------------------------------------------------------------------------


def print_errors(document: Document) -> str:
    own = ["Error", "RpcError", "ConnectError", "NotHero", "CallTimeout", "OutcomeUnknown", "AnswerTooLarge", "UnexpectedAnswer", "Closed"]
    parts = [
        MADE.format("One class per error: the server's errors by code, then connection errors."),
        "from enum import IntEnum\nfrom typing import Any\n\nfrom . import models\nfrom ._base import ",
        ", ".join([*sorted(own), "harmless"]) + "\n",
    ]
    names = sorted([*own, "Code", "CLASSES", *(error.name for error in document.errors)])
    parts.append("\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n")
    parts.append('\n\nclass Code(IntEnum):\n    """The codes of the server\'s errors."""\n\n')
    parts += [f"    {constant(re.sub(r'(?<!^)(?=[A-Z])', '_', error.name))} = {error.code}\n" for error in document.errors]
    for error in document.errors:
        parts.append("\n\n" + print_error(error, document))
    parts.append("\n\nCLASSES: dict[int, type[RpcError]] = {\n")
    parts += [f"    {error.code}: {error.name},\n" for error in document.errors]
    parts.append('}\n"""The class of each code. Any other code raises `RpcError`."""\n')
    return "".join(parts)


def print_error(error: Error, document: Document) -> str:
    said = error.message[0].upper() + error.message[1:]
    lines = [f"class {error.name}(RpcError):\n    {docstring(f'{said}. Its code is {error.code}.', 4)}\n\n    code = {error.code}\n"]
    for field in error.data:
        lines.append(print_property(field))
        if isinstance(field.shape, Whole) and field.name.endswith("_ms"):
            short = field.name.removesuffix("_ms")
            lines.append(
                f"\n    @property\n    def {short}(self) -> float | None:\n        "
                f'"""The same in seconds."""\n        given = self.{field.name}\n        return None if given is None else given / 1000\n'
            )
    known = {field.name for field in error.data}
    for field in error.data:
        record = document.type(field.shape.name) if isinstance(field.shape, Named) else None
        if isinstance(record, Record):
            lines += [print_part(field.name, part) for part in record.fields if part.name not in known]
    return "".join(lines)


def print_property(field: Field) -> str:
    kind = type_of(field.shape, "models.")
    said = f"        {docstring(field.description, 8)}\n" if field.description else ""
    name = f"{field.name}_" if field.name in OF_ERRORS else name_of(field.name)
    head = f"\n    @property\n    def {name}(self) -> {kind if kind == 'Any' else f'{kind} | None'}:\n{said}"
    return head + f"        return self._field({json.dumps(field.name)}, {kind})\n"


def print_part(of: str, part: Field) -> str:
    kind = type_of(part.shape, "models.")
    said = f"        {docstring(part.description, 8)}\n" if part.description else ""
    whole = f"self.{of}"
    if part.name == "message":
        head = f"\n    @property\n    def message(self) -> str:\n{said}"
        return head + f"        return super().message if {whole} is None else harmless({whole}.message)\n"
    if part.name in OF_ERRORS:
        return ""
    kind = kind if kind == "Any" else f"{kind} | None"
    head = f"\n    @property\n    def {name_of(part.name)}(self) -> {kind}:\n{said}"
    return head + f"        return None if {whole} is None else {whole}.{name_of(part.name)}\n"


# ---- Methods --------------------------------------------------------------------------------------------------------------------------


def print_methods(document: Document) -> str:
    body = []
    calls = document.calls()
    for method in calls:
        body.append(print_method(method, document))
    text = "".join(body)
    options = "".join(f"{pascal(each.name)}Options" for each in calls if each.parameter("idempotency_key") and not each.waits)
    exported = sorted(["METHODS", "Methods", "VERSION", "WAITS", *re.findall(r"[A-Z]\w+?Options", options)])
    collections = ", ".join(each for each in ("Mapping", "Sequence") if f"{each}[" in text)
    parts = [
        MADE.format("One method for each call of the server, with the same name."),
        f"from collections.abc import {collections}\n" if collections else "",
        "from datetime import datetime, timedelta\nfrom typing import Any, TypedDict\nfrom uuid import UUID\n\n",
        "from .. import models\nfrom .._core.call import ONCE, REPEAT, Keyed, Wait\nfrom .face import Face\nfrom .stream import Subscription\n",
        f"\n__all__ = [{', '.join(json.dumps(each) for each in exported)}]\n",
        f"\nVERSION = {json.dumps(document.version)}\n",
        '"""The version of the API document that this client was generated from."""\n',
        "\nMETHODS: dict[str, str] = {\n",
        *(f"    {json.dumps(each.name)}: {json.dumps(name_of(each.name))},\n" for each in calls),
        "}\n",
        '"""Each call of the server, and the method that makes it. `Subscription.close` makes the calls that end subscriptions."""\n',
        "\nWAITS: dict[str, Wait] = {\n",
        *(
            f"    {json.dumps(each.name)}: Wait({wait.default}, {wait.maximum}),\n"
            for each in calls
            if (wait := each.parameter("wait_timeout"))
        ),
        "}\n",
        '"""The default and maximum timeout, in seconds, of calls that wait."""\n',
        *(print_options(each, document) for each in calls if each.parameter("idempotency_key") and not each.waits),
        "\n\nclass Methods(Face):\n",
        '    """One method for each call of the server. Arguments that are None are not sent, and the server uses its defaults."""\n',
        text,
    ]
    return "".join(parts)


def print_options(method: Method, document: Document) -> str:
    """Prints the optional parameters of a create but `start`: who passes these on says by the method whether it is started."""
    lines = [
        f"\n\nclass {pascal(method.name)}Options(TypedDict, total=False):\n    {docstring(f'The optional parameters of `{method.name}`.', 4)}\n\n"
    ]
    for each in method.parameters:
        if not each.required and each.name != "start":
            kind = sent_type(each.shape, document, "models.")
            lines.append(f"    {name_of(each.name)}: {kind if kind == 'Any' else f'{kind} | None'}\n")
    return "".join(lines)


def print_method(method: Method, document: Document) -> str:
    required = [each for each in method.parameters if each.required]
    optional = [each for each in method.parameters if not each.required]
    lines = ["        self,\n"]
    lines += [f"        {name_of(each.name)}: {sent_type(each.shape, document, 'models.')},\n" for each in required]
    lines += ["        *,\n"] if optional else []
    for each in optional:
        kind = sent_type(each.shape, document, "models.")
        lines.append(f"        {name_of(each.name)}: {kind if kind == 'Any' else f'{kind} | None'} = None,\n")
    if method.subscription is not None:
        result = f"Subscription[models.{pascal(method.subscription.notification)}Item]"
    else:
        result = type_of(method.result, "models.")
    name = name_of(method.name)
    define = "def" if method.subscription is not None else "async def"
    if len(lines) == 1:
        head = f"\n    {define} {name}(self) -> {result}:\n"
    else:
        head = f"\n    {define} {name}(\n{''.join(lines)}    ) -> {result}:\n"
    return head + print_description(method) + print_call(method, result)


def print_description(method: Method) -> str:
    said = method.description or method.summary
    first, _, rest = said.partition("\n\n")
    lines = [f'        """{prose(first, 8, 3)}\n']
    if rest:
        lines.append(f"\n        {prose(rest, 8)}\n")
    if method.parameters:
        lines.append("\n        Args:\n")
        for each in method.parameters:
            default = f" (default: {json.dumps(each.default)})" if each.default not in (None, "", [], {}) else ""
            said = f"{name_of(each.name)}: {each.description.rstrip('.')}{default}."
            lines.append(f"            {prose(said, 16)}\n")
    if method.result_description and method.subscription is None:
        lines.append(f"\n        Returns:\n            {prose(method.result_description, 12)}\n")
    if len(lines) == 1:
        return lines[0].rstrip() + '"""\n'
    return "".join(lines) + '        """\n'


def print_call(method: Method, result: str) -> str:
    given = "".join(f"            {json.dumps(each.name)}: {name_of(each.name)},\n" for each in method.parameters)
    params = f"{{\n{given}        }}" if method.parameters else "{}"
    if method.subscription is not None:
        said = method.subscription
        kind = f"models.{pascal(said.notification)}Item"
        named = ", ".join(json.dumps(each) for each in (method.name, said.unsubscribe))
        flags = f"resumable={said.resumable}, from_now={said.from_now}"
        return f"        params: dict[str, Any] = {params}\n        return self._subscribe({named}, params, {kind}, {flags})\n"
    again = {"repeat": "REPEAT", "once": "ONCE"}.get(
        method.again
    ) or f"Keyed({json.dumps(method.keyed_items) if method.keyed_items else ''})"
    waits = ""
    wait = method.parameter("wait_timeout")
    if wait is not None:
        waits = f", WAITS[{json.dumps(method.name)}]"
    return (
        f"        params: dict[str, Any] = {params}\n"
        f"        answer: {result} = await self._call({json.dumps(method.name)}, params, {result}, {again}{waits})\n"
        "        return answer\n"
    )


# ---- The sync face --------------------------------------------------------------------------------------------------------------------

# Replacements that turn the asyncio face into the sync face. Longer ones come first.
WITHOUT_ASYNC = [
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"__aenter__", "__enter__"),
    (r"__aexit__", "__exit__"),
    (r"__aiter__", "__iter__"),
    (r"__anext__", "__next__"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\bAsyncGenerator\b", "Generator"),
    (r"\baclosing\b", "closing"),
    (r"\baclose\b", "close"),
    (r"\b_core\.loop\b", "_core.thread"),
    (r"\bhero\.aio\b", "hero"),
    (r"\basyncio face\b", "sync face"),
    (r"\bother face is `hero`", "other face is `hero.aio`"),
]


def without_async(text: str, name: str) -> str:
    for pattern, instead in WITHOUT_ASYNC:
        text = re.sub(pattern, instead, text)
    return f"# Made of ../aio/{name} by `make clients`. Change that instead.\n{text}"
