"""Prints `docs/methods`: a page for each group of methods, with examples in four languages, and types and errors."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from . import python, typescript
from .model import (
    KEYED,
    ONCE,
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

AT = "../docs/methods/"
DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
HEAD = "<!-- Made of openrpc.json by `make clients`. Change clients/generate/pages.py, or the code that is described, instead. -->\n\n"
WIDTH = 100
# The longest line of prose, and what stands for a space that breaks no line.
PROSE, GLUE = 120, "\0"
WEBSOCKET, HTTP = "ws://127.0.0.1:8700", "http://127.0.0.1:8700"

# The title and introduction of each group. `groups` reports groups that are missing here.
GROUPS = {
    "jobs": ("Jobs", "Scripts that run once: create, start, wait for, stop and find them."),
    "flows": ("Flows", "Jobs that depend on each other, created and run as one unit. See [Flows](../flows.md)."),
    "schedules": ("Schedules", "Jobs that repeat by a cron pattern or at an interval."),
    "objects": ("Objects", "JSON documents that scripts and clients store under an id. See [Objects](../scripts.md#objects)."),
    "access": ("Access", "Identities, tokens, contexts and rights. See [Access](../access.md)."),
    "coordinator": (
        "Runners and messages",
        "Runners execute jobs, locally or on other machines. Messages connect contexts and machines. See [Two machines](../two-machines.md).",
    ),
    "operation": (
        "Operation",
        "Inspect a server, its actors and queues, and shut it down in an orderly way. See [Operations](../operations.md).",
    ),
    "subscriptions": ("Subscriptions", "Follow jobs, flows, logs and events live."),
}


def files(document: Document) -> dict[str, str]:
    missing = set(document.groups) ^ set(GROUPS)
    if missing:
        raise ValueError(f"GROUPS and the document differ in {missing}")
    rights = read_rights((DOCS / "permissions.md").read_text(encoding="utf-8"))
    made = {f"{group}.md": page(document, group, methods, rights) for group, methods in document.groups.items()}
    made |= {"README.md": index(document), "types.md": types(document), "errors.md": errors(document)}
    return {AT + name: HEAD + narrow(text) for name, text in made.items()}


def narrow(text: str) -> str:
    """Breaks lines of prose at 120 columns. Code, tables and what stands between backticks stay whole."""
    lines: list[str] = []
    code = False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        if code or len(line) <= PROSE or line.startswith("|"):
            lines.append(line)
            continue
        begin = re.match(r" *(?:- )?", line)
        indent = " " * (begin.end() if begin else 0)
        whole = re.sub(r"`[^`]*`", lambda found: found[0].replace(" ", GLUE), line)
        broken = textwrap.wrap(whole, PROSE, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        lines += [each.replace(GLUE, " ") for each in broken]
    return "\n".join(lines)


# ---- Pages ----------------------------------------------------------------------------------------------------------------------------


def index(document: Document) -> str:
    lines = [
        "# Methods\n\n",
        "Every call of the server, by group. Send parameters by name, or by position in the order of the tables. ",
        "[openrpc.json](../../openrpc.json) is the machine-readable form, [json-rpc.md](../json-rpc.md) describes details that the ",
        "protocol leaves open, and [permissions.md](../permissions.md) lists the roles that may call each method.\n\n",
        "The examples of all pages build on each other: on a fresh server, run them in the order of the table below. ",
        "A test runs all of them exactly as shown.\n\n",
        "| group | method | description |\n| --- | --- | --- |\n",
    ]
    for group, methods in document.groups.items():
        for at, method in enumerate(methods):
            head = f"[{GROUPS[group][0]}]({group}.md)" if at == 0 else ""
            lines.append(f"| {head} | [`{method.name}`]({group}.md#{method.name}) | {cell(method.summary)} |\n")
    lines.append("\nSee also the [types](types.md) of parameters and results, and the [errors](errors.md) with their codes.\n")
    return "".join(lines)


def page(document: Document, group: str, methods: list[Method], rights: dict[str, str]) -> str:
    title, about = GROUPS[group]
    lines = [f"# {title}\n\n{about}\n\n", before(group)]
    lines.append(" · ".join(f"[`{each.name}`](#{each.name})" for each in methods) + "\n")
    for method in methods:
        lines.append("\n" + section(document, method, rights))
    return "".join(lines)


def before(group: str) -> str:
    """Returns the introduction to the examples of a page."""
    text = (
        f"Run `npx wscat -c {WEBSOCKET}`, then type the examples for **wscat**. Examples in **TypeScript** use `hero`, and those in **Python** use `server`:\n\n"
        f'```ts\nimport {{ connect }} from "hero-client";\nconst hero = connect("{WEBSOCKET}");\n```\n\n'
        f'```python\nimport hero\nserver = hero.Hero("{WEBSOCKET}")\n```\n\n'
    )
    if group == "subscriptions":
        text += "Items arrive on the WebSocket that made the subscription, so this page has no curl examples. The `type` of an item "
        text += "names its variant. [json-rpc.md](../json-rpc.md#subscriptions) explains how to resume after a connection broke.\n\n"
    return text


def section(document: Document, method: Method, rights: dict[str, str]) -> str:
    lines = [f"## {method.name}\n\n{method.description or method.summary}\n\n"]
    if method.parameters:
        lines.append("| parameter | type | | description |\n| --- | --- | --- | --- |\n")
        lines += [f"| `{each.name}` | {shape(each.shape)} | {need(each)} | {cell(each.description)} |\n" for each in method.parameters]
        lines.append("\n")
    else:
        lines.append("This method has no parameters.\n\n")
    said = f": {method.result_description}" if method.result_description else ""
    lines.append(f"- **Result**: {shape(method.result)}{said}\n")
    if method.subscription:
        items = ", ".join(shape(Named(each)) for each in method.subscription.items)
        lines.append(
            f"- **Items** are notifications `{method.subscription.notification}`: {items}. `{method.subscription.unsubscribe}` ends the subscription.\n"
        )
    lines.append(f"- **Allowed for**: {rights.get(method.name, 'the client that subscribed.')}\n")
    lines.append(f"- **As a notification**: {as_notification(document, method)}\n")
    own = [document.error(each) for each in method.errors if each not in common(document)]
    listed = "".join(f"\n  - {linked(each)}: {each.message}" for each in own)
    lines.append(f"- **Errors**, in addition to the [common errors](errors.md#common-errors):{listed or ' none'}\n")
    for example in method.examples:
        lines.append(examples(document, method, example, len(method.examples) > 1))
    return "".join(lines)


def need(parameter: Field) -> str:
    if parameter.required:
        return "required"
    return f"`{json.dumps(parameter.default)}`" if parameter.default is not None else ""


def as_notification(document: Document, method: Method) -> str:
    ends = {each.subscription.unsubscribe for each in document.methods if each.subscription}
    if method.subscription or method.name in ends:
        return (
            "refused, because the server could not return the id." if method.subscription else "ends the subscription, without an answer."
        )
    if method.waits:
        return "creates and starts it, and does not wait." if method.again == KEYED else "does nothing."
    if method.again == KEYED:
        return "safe: the server carries it out and does not answer. With an `idempotency_key` it may be sent again."
    if method.again == ONCE:
        return "the server carries it out and does not answer, not even with an error."
    return "has no effect, because the server does not answer."


def read_rights(text: str) -> dict[str, str]:
    """Reads who may call each method from the table of `docs/permissions.md`, which the server prints."""
    rows = [[each.strip() for each in line.strip().strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    roles, found = rows[0][1:], {}
    for name, *cells in rows[2:]:
        yes = [role for role, may in zip(roles, cells, strict=True) if may == "yes"]
        own = [role for role, may in zip(roles, cells, strict=True) if may == "own"]
        if "nobody" in yes:
            said = "everybody, even without a login."
        elif yes or own:
            said = "; ".join(filter(None, [", ".join(yes), f"for their own items: {', '.join(own)}" if own else ""])) + "."
        else:
            said = "the operator."
        found.setdefault(name.strip("`"), said)
    return found


# ---- Examples -------------------------------------------------------------------------------------------------------------------------


def examples(document: Document, method: Method, example: Any, several: bool) -> str:
    given = {each["name"]: each["value"] for each in example["params"] if each["value"] is not None}
    named = {each.name: each for each in method.parameters}
    given = {name: brief(document, named[name].shape, value) for name, value in given.items() if value != named[name].default}
    request: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method.name}
    if given:
        request["params"] = given
    line = json.dumps(request, ensure_ascii=False)
    body = line.replace("'", "'\\''")
    lines = [f"\n### {method.name}: {example['name']}\n"] if several else []
    block = "\n**{}**\n\n```{}\n{}\n```\n".format
    ends = {each.subscription.unsubscribe for each in document.methods if each.subscription}
    lines.append(block("wscat", "json", line))
    if method.name in ends:
        lines.append("\nIn TypeScript and in Python, leaving the loop ends the subscription.\n")
    else:
        lines.append(block("TypeScript", "ts", in_typescript(method, given)))
        lines.append(block("Python", "python", in_python(method, given)))
    if method.subscription is None and method.name not in ends:
        lines.append(block("curl", "sh", f"curl -s {HTTP} -H 'content-type: application/json' \\\n  -d '{body}'"))
    lines.append(block("Result", "json", laid_out(example["result"]["value"])))
    return "".join(lines)


def brief(document: Document, shape: Shape, value: Any) -> Any:
    """Returns a value without the members that equal their defaults."""
    match shape:
        case Listing(item) if isinstance(value, list):
            return [brief(document, item, each) for each in value]
        case Mapping(item) if isinstance(value, dict):
            return {name: brief(document, item, each) for name, each in value.items()}
        case Named(name) if isinstance(value, dict):
            record = document.type(name)
            if isinstance(record, Record):
                of = {each.name: each for each in record.fields}
                return {
                    key: brief(document, of[key].shape, each) if key in of else each
                    for key, each in value.items()
                    if key not in of or each != of[key].default
                }
    return value


def in_typescript(method: Method, given: dict[str, Any]) -> str:
    group, name = typescript.place(method)
    where = ".".join(filter(None, ["hero", group, name]))
    needed = [each.name for each in typescript.required(method)]
    options = {name: value for name, value in given.items() if name not in needed}
    passed = [given[each] for each in needed] + ([options] if options else [])
    if method.subscription:
        called = call(where, passed, {}, "ts", ("for await (const item of ", ") {"))
        return f"{called}\n  console.log(item);\n  break; // Leaving the loop ends the subscription.\n}}"
    return call(where, passed, {}, "ts", ("console.log(await ", ");"))


def in_python(method: Method, given: dict[str, Any]) -> str:
    needed = [each.name for each in method.parameters if each.required]
    passed = [given[each] for each in needed]
    named = {python.name_of(name): value for name, value in given.items() if name not in needed}
    where = f"server.{python.name_of(method.name)}"
    if method.subscription:
        called = call(where, passed, named, "python", ("with ", " as items:"))
        return f"{called}\n    for item in items:\n        print(item)\n        break"
    return call(where, passed, named, "python", ("print(", ")"))


def call(where: str, passed: list[Any], named: dict[str, Any], language: str, around: tuple[str, str]) -> str:
    """Returns a call in one line, or with a line for each argument if that is too long."""
    step = "  " if language == "ts" else "    "
    head, tail = around
    given = [("", each) for each in passed] + [(f"{name}=", each) for name, each in named.items()]
    one = f"{head}{where}({', '.join(name + literal(value, language) for name, value in given)}){tail}"
    if len(one) <= WIDTH:
        return one
    lines = "".join(f"{step}{name}{wrapped(value, language, step)},\n" for name, value in given)
    return f"{head}{where}(\n{lines}){tail}"


def wrapped(value: Any, language: str, indent: str) -> str:
    """Returns a value in a language, with a line for each member if one line is too short."""
    one = literal(value, language)
    if len(indent) + len(one) <= WIDTH or not isinstance(value, (dict, list)):
        return one
    inner = indent + ("  " if language == "ts" else "    ")
    if isinstance(value, list):
        return "[\n" + "".join(f"{inner}{wrapped(each, language, inner)},\n" for each in value) + f"{indent}]"
    members = (f"{inner}{member(name, language)}: {wrapped(each, language, inner)},\n" for name, each in value.items())
    return "{\n" + "".join(members) + f"{indent}}}"


def member(name: str, language: str) -> str:
    """Returns the name of a member, without quotes where TypeScript allows this."""
    return name if language == "ts" and re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name, ensure_ascii=False)


def literal(value: Any, language: str) -> str:
    """Returns a value in a language, in one line."""
    match value:
        case dict():
            inner = ", ".join(f"{member(name, language)}: {literal(each, language)}" for name, each in value.items())
            return f"{{ {inner} }}" if language == "ts" and inner else f"{{{inner}}}"
        case list():
            return "[" + ", ".join(literal(each, language) for each in value) + "]"
        case bool() if language == "python":
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False)


def laid_out(value: Any) -> str:
    """Returns JSON with a line for each member, unless all of it fits in one line."""
    one = json.dumps(value, ensure_ascii=False)
    if len(one) <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return one
    if isinstance(value, dict):
        inner = [f"{json.dumps(name)}: {laid_out(each)}" for name, each in value.items()]
    else:
        inner = [laid_out(each) for each in value]
    body = ",\n".join(inner).replace("\n", "\n  ")
    return f"{'{' if isinstance(value, dict) else '['}\n  {body}\n{'}' if isinstance(value, dict) else ']'}"


# ---- Types and errors -----------------------------------------------------------------------------------------------------------------


def types(document: Document) -> str:
    lines = [
        "# Types\n\nThe types of parameters, results and items. A field that is not required may be absent: ",
        "in a request the server then uses its default, and in a response the field has no value.\n",
    ]
    for each in document.types:
        lines.append("\n" + type_section(each))
    return "".join(lines)


def type_section(each: Type) -> str:
    head = f"## {each.name}\n\n" + (f"{each.description}\n\n" if each.description else "")
    match each:
        case Record():
            rows = [f"| `{of.name}` | {shape(of.shape)} | {need(of)} | {cell(of.description)} |\n" for of in each.fields]
            return head + "| field | type | | description |\n| --- | --- | --- | --- |\n" + "".join(rows)
        case Words():
            rows = [f"| `{word}` | {cell(meaning)} |\n" for word, meaning in each.words]
            return head + "| value | description |\n| --- | --- |\n" + "".join(rows)
        case Alias():
            return head + f"An alias for {shape(each.shape)}.\n"


def errors(document: Document) -> str:
    lines = [
        "# Errors\n\nEach error has a `code`, a `message` for people, and optional `data` for programs. ",
        "The word after the code is the name that client libraries use.\n\n## Common errors\n\nEvery call may return these errors, in ",
        "addition to those of [malformed requests](../json-rpc.md#malformed-requests): "
        + ", ".join(linked(document.error(each)) for each in common(document))
        + ".\n",
    ]
    for each in document.errors:
        lines.append(f"\n## {each.code} {each.name}\n\n{each.message[0].upper()}{each.message[1:]}.\n")
        if each.data:
            rows = [f"| `{of.name}` | {shape(of.shape)} | {cell(of.description)} |\n" for of in each.data]
            lines.append("\n| in `data` | type | description |\n| --- | --- | --- |\n" + "".join(rows))
        by = [method for method in document.methods if each.document_name in method.errors and each.document_name not in common(document)]
        if by:
            lines.append("\nReturned by " + ", ".join(f"[`{method.name}`]({method.tag}.md#{method.name})" for method in by) + ".\n")
    return "".join(lines)


def common(document: Document) -> list[str]:
    """Returns the errors that every method may return."""
    return [each for each in document.methods[0].errors if all(each in method.errors for method in document.methods)]


def linked(error: Error) -> str:
    return f"[{error.code} {error.name}](errors.md#{anchor(f'{error.code} {error.name}')})"


def anchor(heading: str) -> str:
    """Returns the anchor of a heading as GitHub creates it."""
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def shape(given: Shape) -> str:
    match given:
        case Anything():
            return "any JSON"
        case Nothing():
            return "null"
        case Flag():
            return "boolean"
        case Whole():
            return "integer"
        case Number():
            return "number"
        case Text("uuid"):
            return "string, a UUID"
        case Text("date-time"):
            return "string, a time (RFC 3339)"
        case Text():
            return "string"
        case Constant(text):
            return f"`{json.dumps(text)}`"
        case Named(name):
            return f"[{name}](types.md#{name.lower()})"
        case Listing(item):
            return f"list of {shape(item)}"
        case Mapping(value):
            return f"object of {shape(value)}"
        case Choice(options):
            return " or ".join(dict.fromkeys(shape(each) for each in options))


def cell(text: str) -> str:
    """Returns a text for one cell of a table."""
    return " ".join(text.replace("|", "\\|").split())
