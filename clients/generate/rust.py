"""Prints `crates/client/src/calls`: a struct with the parameters of each call and subscription, a file for each group.

The document has ids, names and times as texts and numbers. The tables here say which types of `hero_model` they are.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from .model import (
    Anything,
    Choice,
    Document,
    Field,
    Flag,
    Listing,
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
    pascal,
)

AT = "../crates/client/src/calls/"
HEAD = "// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.\n\n"
# The width of comments, and that of code, as in rustfmt.toml.
COMMENT, WIDTH = 120, 140

# The types of parameters that are texts and numbers in the document.
TYPES = {
    "collection": "Name",
    "context_id": "ContextId",
    "flow_id": "FlowId",
    "group": "Name",
    "id": "ObjectId",
    "identity_id": "IdentityId",
    "limit": "usize",
    "object": "Json",
    "pubkey": "PublicKey",
    "runner_id": "RunnerId",
    "schedule_id": "ScheduleId",
    "script_type": "ScriptType",
    "signature": "Signature",
    "target_context": "ContextId",
    "token_id": "TokenId",
    "admins": "[IdentityId]",
    ("ping_node", "address"): "Address",
}
# The types of results for the same reason.
RESULTS = {"create_flow": "FlowId", "set_object": "ObjectId"}
# Types with another name in Rust. The client has those of the server alone as their text.
RENAMED = {
    "JobSpecInput": "JobSpec",
    "JobStatus": "Status",
    "ServerDetails": "Json",
    "ScriptFunction": "Json",
}
# The items of subscriptions.
ITEMS = {"EventNotice": "JobEvent", "FlowNotice": "FlowEvent", "LineNotice": "LogLine"}
# Types that are no components of the document, but have all parameters of a method except these.
PARTS = {
    "create_flow": ("FlowSpec", ()),
    "run_flow_and_wait": ("FlowSpec", ("wait_timeout",)),
    "create_schedule": ("ScheduleSpec", ()),
    "find_objects": ("Find", ("collection", "context_id")),
    "create_runner": ("RunnerChange", ("context_id",)),
    "update_runner": ("RunnerChange", ("runner_id", "context_id")),
    "send_message": ("Draft", ("context_id",)),
}
# Types that are passed by value.
COPIED = {"bool", "u32", "usize", "Seconds", "ContextId", "FlowId", "IdentityId", "RunnerId"}
# The types of `hero_model::api`.
OF_API = {"Draining", "LoggedIn", "NewToken", "Presented", "ScriptCheck", "Who"}
OF_RUST = {"Option", "Some", "String", "Vec"}


def files(document: Document) -> dict[str, str]:
    mine = {method.name for method in document.calls()}
    made = {}
    for tag, methods in document.groups.items():
        parts = [print_call(document, each) for each in methods if each.name in mine]
        made[f"{AT}{tag}.rs"] = HEAD + imports("".join(parts)) + "\n" + "\n".join(parts)
    return made


# ---- Types ----------------------------------------------------------------------------------------------------------------------------


def result(shape: Shape) -> str:
    match shape:
        case Anything():
            return "Json"
        case Flag():
            return "bool"
        case Whole():
            return "u64"
        case Text("uuid"):
            return "JobId"
        case Text():
            return "String"
        case Listing(item):
            return f"Vec<{result(item)}>"
        case Choice((one, Nothing())):
            return f"Option<{result(one)}>"
        case Named(name):
            return RENAMED.get(name, name)
    raise ValueError(f"{shape} is not known as a result")


def owned(method: Method, field: Field) -> str:
    """Returns the type of a parameter, as if the call owned it."""

    def of(shape: Shape) -> str:
        match shape:
            case Flag():
                return "bool"
            case Whole():
                return "u32"
            case Number():
                return "Seconds"
            case Text("uuid"):
                return "JobId"
            case Text(""):
                return "str"
            case Listing(Text("")):
                return "[String]"
            case Listing(item):
                return f"[{of(item)}]"
            case Named(name):
                return RENAMED.get(name, name)
        raise ValueError(f"{method.name}: {field.name} is not known as a parameter")

    return TYPES.get((method.name, field.name)) or TYPES.get(field.name) or of(field.shape)


def parameter(document: Document, method: Method, field: Field) -> tuple[str, bool]:
    """Returns the type of a parameter, and whether it may be absent. One whose default is that of its type may not."""
    kind = owned(method, field)
    if kind not in COPIED and not isinstance(named(document, field.shape), Words):
        kind = f"&'a {kind}"
    absent = not field.required and not (field.default in (0, False) and kind in ("ContextId", "bool"))
    return (f"Option<{kind}>" if absent else kind), absent


def named(document: Document, shape: Shape) -> Type | None:
    return document.type(shape.name) if isinstance(shape, Named) else None


def part(document: Document, method: Method) -> tuple[str, list[Field]]:
    """Returns the type that has most of the parameters, or an empty text, and the other parameters."""
    if method.name in PARTS:
        name, left = PARTS[method.name]
        return name, [each for each in method.parameters if each.name in left]
    given = {(each.name, each.shape) for each in method.parameters}
    for each in document.types:
        if isinstance(each, Record) and each.closed and len(each.fields) > 1 and given >= {(f.name, f.shape) for f in each.fields}:
            return RENAMED.get(each.name, each.name), [other for other in method.parameters if not each.field(other.name)]
    return "", list(method.parameters)


# ---- Calls ----------------------------------------------------------------------------------------------------------------------------


def doc(text: str, indent: str = "") -> Iterator[str]:
    head = f"{indent}/// "
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield head.rstrip() + "\n"
        for line in textwrap.wrap(" ".join(paragraph.split()), COMMENT - len(head), break_long_words=False, break_on_hyphens=False):
            yield f"{head}{line}\n"


def print_call(document: Document, method: Method) -> str:
    whole, left = part(document, method)
    if method.subscription:
        # The reader of a subscription knows where it is.
        left = [each for each in left if each.name != "cursor"]
    body = []
    if whole:
        field = re.findall("[A-Z][a-z]+", whole)[-1].lower()
        body += [f"    /// {'The other' if left else 'The'} parameters.\n    #[serde(flatten)]\n    pub {field}: &'a {whole},\n"]
    for each in left:
        kind, absent = parameter(document, method, each)
        body += doc(each.description, "    ")
        body += ['    #[serde(skip_serializing_if = "Option::is_none")]\n'] if absent else []
        body += [f"    pub {each.name}: {kind},\n"]
    text, name = "".join(body), pascal(method.name)
    borrows = "'a" in text
    of = f"{name}<'_>" if borrows else name
    empty = not whole and not any(each.required for each in left)
    lines = [*doc(method.description or method.summary), f"#[derive({'Default, ' if empty else ''}Serialize)]\n"]
    lines += ["pub struct ", name, "<'a>" if borrows else "", " {", "\n" if text else "", text, "}\n\n"]
    if method.subscription:
        item = next(ITEMS[each] for each in method.subscription.items if each in ITEMS)
        topic = method.name.removeprefix("subscribe_")
        lines += [f'impl Subscription for {of} {{\n    const TOPIC: &\'static str = "{topic}";\n    type Item = {item};\n}}\n']
    else:
        output = RESULTS.get(method.name) or result(method.result)
        lines += [f'impl Call for {of} {{\n    const NAME: &\'static str = "{method.name}";\n    type Output = {output};\n}}\n']
    return "".join(lines)


def imports(code: str) -> str:
    """Returns the imports of what the code names, formatted as rustfmt does."""
    kinds = re.findall(r"^ *(?:pub \w+: |type \w+ = )(.*)[,;]$", code, flags=re.M)
    used = {name for kind in kinds for name in re.findall(r"\b[A-Z]\w+", kind)} - OF_RUST
    lines = ["use serde::Serialize;\n\n", f"use super::{'Subscription' if 'impl Subscription' in code else 'Call'};\n"]
    return "".join([*lines, *use("hero_model::api", sorted(used & OF_API)), *use("hero_model", sorted(used - OF_API))])


def use(path: str, names: list[str]) -> list[str]:
    if len(names) < 2:
        return [f"use {path}::{name};\n" for name in names]
    line = f"use {path}::{{{', '.join(names)}}};\n"
    if len(line) <= WIDTH + 1:
        return [line]
    return [f"use {path}::{{\n", *(f"    {each}\n" for each in textwrap.wrap(", ".join(names) + ",", WIDTH - 4)), "};\n"]
