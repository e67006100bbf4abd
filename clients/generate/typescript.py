"""Prints the generated code of `clients/typescript`: types, errors, one function per call, and groups of methods."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable

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
    Text,
    Type,
    Whole,
    Words,
    pascal,
)

WIDTH = 100
HEAD = "// Generated from openrpc.json by clients/generate (`make clients`). Do not edit.\n"

# The group and member of calls in the object with all calls, if their names do not tell. "" is the object itself.
PLACES = {
    "create_jobs": ("jobs", "createMany"),
    "run_and_wait": ("jobs", "run"),
    "get_status": ("jobs", "status"),
    "get_result": ("jobs", "result"),
    "get_logs": ("jobs", "logs"),
    "subscribe_job": ("jobs", "follow"),
    "subscribe_logs": ("jobs", "followLogs"),
    "run_flow_and_wait": ("flows", "run"),
    "subscribe_flow": ("flows", "follow"),
    "subscribe_events": ("events", "follow"),
    "server_info": ("server", "info"),
    "drain_server": ("server", "drain"),
    "fetch_nonce": ("", "fetchNonce"),
}
# Written by hand in `src/`, because they make more than one call, or the caller chooses the type of their result.
BY_HAND = {"create_jobs", "run_and_wait", "wait_job", "get_result", "run_flow_and_wait", "wait_flow", "get_object", "find_objects"}
# The function that sends a call, by how a call with an unknown outcome is handled.
SENDERS = {REPEAT: "read", KEYED: "create", ONCE: "change"}
RESERVED = {"delete", "function", "in", "new", "switch", "default", "class", "export", "import", "return", "with"}
# Options for the client, in the same object as the optional parameters for the server.
CLIENT_OPTIONS = {"signal", "schema"}


def files(document: Document) -> dict[str, str]:
    check(document)
    at = "typescript/src/generated/"
    return {
        f"{at}types.ts": types(document),
        f"{at}errors.ts": errors(document),
        f"{at}methods.ts": methods(document),
        f"{at}groups.ts": groups(document),
        f"{at}limits.ts": limits(document),
        f"{at}version.ts": version(document),
    }


def check(document: Document) -> None:
    for method in document.methods:
        clash = CLIENT_OPTIONS & {each.name for each in method.parameters}
        if clash:
            raise ValueError(f"{method.name} has a parameter {clash}, which the client takes for its own")


# ---- Names ----------------------------------------------------------------------------------------------------------------------------


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(each.capitalize() for each in rest)


def function_name(method: Method) -> str:
    name = camel(method.name)
    if method.subscription:
        name = "follow" + name.removeprefix("subscribe")
    return name


def variable(name: str) -> str:
    name = camel(name)
    return f"{name}_" if name in RESERVED else name


def plural(noun: str) -> str:
    if noun.endswith("s"):
        return noun
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "s"


def place(method: Method) -> tuple[str, str]:
    """Returns the group of a method, and its name there."""
    if method.name in PLACES:
        return PLACES[method.name]
    verb, _, noun = method.name.partition("_")
    return (camel(plural(noun)), verb) if noun else ("", verb)


# ---- Shapes ---------------------------------------------------------------------------------------------------------------------------


def shape(given: Shape) -> str:
    match given:
        case Anything():
            return "unknown"
        case Nothing():
            return "null"
        case Flag():
            return "boolean"
        case Whole() | Number():
            return "number"
        case Text():
            return "string"
        case Constant(text):
            return json.dumps(text)
        case Named(name):
            return name
        case Listing(item):
            inner = shape(item)
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
        case Mapping(value):
            return f"Record<string, {shape(value)}>"
        case Choice(options):
            return " | ".join(dict.fromkeys(shape(each) for each in options))


def doc(text: str, indent: str = "", notes: Iterable[str] = ()) -> str:
    """Returns a comment with these paragraphs, or an empty text."""
    lines: list[str] = []
    for paragraph in [*filter(None, text.split("\n\n")), *notes]:
        if lines:
            lines.append("")
        lines += textwrap.wrap(" ".join(paragraph.replace("*/", "* /").split()), WIDTH - len(indent) - 3, break_long_words=False)
    if not lines:
        return ""
    if len(lines) == 1 and len(indent) + len(lines[0]) + 7 <= WIDTH:
        return f"{indent}/** {lines[0]} */\n"
    return f"{indent}/**\n" + "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines) + f"{indent} */\n"


def default_note(field: Field) -> str:
    text = field.description
    if field.default is not None and "by default" not in text:
        text += f" By default {json.dumps(field.default)}."
    return text.strip()


def member(field: Field, optional: bool) -> str:
    kind, text = shape(field.shape), default_note(field)
    if field.name == "idempotency_key" and optional:
        kind += " | null"
        text += " The client creates a key if none is given. With `null` the call has no key and is sent only once."
    return doc(text, "  ") + f"  {field.name}{'?' if optional else ''}: {kind};\n"


def union(head: str, options: list[str]) -> str:
    line = f"{head}{' | '.join(options)};"
    if len(line) <= WIDTH:
        return line + "\n"
    return head.rstrip() + "".join(f"\n  | {each}" for each in options) + ";\n"


# ---- types.ts -------------------------------------------------------------------------------------------------------------------------


def types(document: Document) -> str:
    parts = [HEAD, *(type_(each) for each in document.types)]
    parts += [options(document, each) for each in document.calls()]
    parts.append(method_map(document))
    return "\n".join(each for each in parts if each)


def type_(given: Type) -> str:
    match given:
        case Record(name, description, fields):
            body = "".join(member(each, not each.required) for each in fields)
            return f"{doc(description)}export interface {name} {{\n{body}}}\n"
        case Words(name, description, words):
            notes = [f"- `{word}`: {meaning}" for word, meaning in words if meaning]
            return doc(description, notes=notes) + union(f"export type {name} = ", [json.dumps(word) for word, _ in words])
        case Alias(name, description, inner):
            return f"{doc(description)}export type {name} = {shape(inner)};\n"


def required(method: Method) -> list[Field]:
    return [each for each in method.parameters if each.required]


def optional(method: Method) -> list[Field]:
    return [each for each in method.parameters if not each.required]


def options(document: Document, method: Method) -> str:
    """Prints the optional parameters of a method as an interface. It extends a type that has the same fields."""
    own, name = optional(method), f"{pascal(method.name)}Options"
    if not own:
        return ""
    head = f"The optional parameters of `{method.name}`."
    sent = document.sent()
    for base in document.types:
        if not isinstance(base, Record) or base.name not in sent or not base.closed or len(base.fields) < 5:
            continue
        known = {each.name: each.shape for each in method.parameters}
        if all(known.get(each.name) == each.shape for each in base.fields):
            left_out = " | ".join(json.dumps(each.name) for each in required(method) if base.field(each.name))
            extends = f"Omit<{base.name}, {left_out}>" if left_out else base.name
            more = "".join(member(each, True) for each in own if not base.field(each.name))
            if not more:
                return f"{doc(head)}export type {name} = {extends};\n"
            return f"{doc(head)}export interface {name} extends {extends} {{\n{more}}}\n"
    return f"{doc(head)}export interface {name} {{\n{''.join(member(each, True) for each in own)}}}\n"


def parameters(method: Method) -> str:
    needed = "; ".join(f"{each.name}: {shape(each.shape)}" for each in required(method))
    parts = [f"{{ {needed} }}"] if needed else []
    if optional(method):
        parts.append(f"{pascal(method.name)}Options")
    return " & ".join(parts) or "Record<string, never>"


def method_map(document: Document) -> str:
    lines = [doc("The parameters and result of each call, by its name."), "export interface Methods {\n"]
    for method in document.methods:
        lines.append(f"  {method.name}: {{ params: {parameters(method)}; result: {shape(method.result)} }};\n")
    lines.append("}\n\n")
    lines.append(doc("The parameters and items of each subscription, by the call that opens it."))
    lines.append("export interface Subscriptions {\n")
    for method in document.methods:
        if method.subscription:
            items = " | ".join(method.subscription.items)
            lines.append(f"  {method.name}: {{ params: {parameters(method)}; item: {items} }};\n")
    lines.append("}\n")
    return "".join(lines)


# ---- errors.ts ------------------------------------------------------------------------------------------------------------------------


def base_of(error: Error) -> str:
    """Returns the base class of an error, which reads its data."""
    names = {each.name for each in error.data}
    if "error" in names:
        return "BadEnd"
    return "RetryLater" if "retry_after_ms" in names else "RpcError"


def errors(document: Document) -> str:
    used = sorted({name for error in document.errors for each in error.data for name in re.findall(r"\b[A-Z]\w+", shape(each.shape))})
    parts = [HEAD]
    if used:
        parts.append(f'import type {{ {", ".join(used)} }} from "./types.js";\n')
    parts.append('import { BadEnd, RetryLater, RpcError } from "../errors.js";\n\n')
    for error in document.errors:
        fields = "; ".join(f"{each.name}?: {shape(each.shape)}" for each in error.data)
        data = f", {{ {fields} }}" if fields else ""
        parts.append(doc(f"{error.message[0].upper()}{error.message[1:]} ({error.code})."))
        parts.append(f"export class {error.name} extends {base_of(error)}<{json.dumps(error.name)}{data}> {{}}\n\n")
    parts.append(doc("The code of each error."))
    parts.append("export const codes = {\n" + "".join(f"  {each.name}: {each.code},\n" for each in document.errors) + "} as const;\n\n")
    parts.append(doc("The errors that a call may return. Their `name` tells them apart."))
    parts.append(union("export type CallError = ", [each.name for each in document.errors]) + "\n")
    parts.append(doc("The classes of the errors, in the order of `codes`: together they are smaller than a table."))
    parts.append("export const classes = [\n" + "".join(f"  {each.name},\n" for each in document.errors) + "] as const;\n")
    return "".join(parts)


# ---- methods.ts -----------------------------------------------------------------------------------------------------------------------


def arguments(method: Method, follows: bool) -> tuple[list[str], list[str]]:
    """Returns the parameters of a function, and their names."""
    declared = [f"{variable(each.name)}: {shape(each.shape)}" for each in required(method)]
    extra = "FollowOptions" if follows else "CallOptions"
    own = f"{pascal(method.name)}Options & " if optional(method) else ""
    return [*declared, f"options?: {own}{extra}"], [variable(each.name) for each in required(method)] + ["options"]


def wire(method: Method) -> str:
    """Returns the object with the required parameters."""
    named = [each.name if each.name == variable(each.name) else f"{each.name}: {variable(each.name)}" for each in required(method)]
    return f"{{ {', '.join(named)} }}" if named else "{}"


def result_of(method: Method) -> str:
    if method.subscription:
        return f"Following<{' | '.join(method.subscription.items)}>"
    return f"Promise<{shape(method.result)}>"


def sign(document: Document, given: Shape) -> str:
    """Returns what shows that a result has this shape: its `typeof`, or the name of a member. Empty if nothing does."""
    match given:
        case Flag() | Whole() | Number() | Text() | Constant():
            return "string" if isinstance(given, Constant) else shape(given)
        case Listing():
            return "map"
        case Mapping():
            return "object"
        case Named(name):
            match next(each for each in document.types if each.name == name):
                case Record(fields=fields):
                    return next((each.name for each in fields if each.required and not isinstance(each.shape, Choice | Anything)), "object")
                case Words():
                    return "string"
                case Alias(shape=inner):
                    return sign(document, inner)
    return ""


def callable_(document: Document) -> list[Method]:
    return [each for each in document.calls() if each.name not in BY_HAND]


def comment(method: Method, indent: str = "") -> str:
    text = method.description or method.summary
    notes = []
    if not method.subscription and method.again == ONCE:
        notes.append("The client does not repeat this call if the connection ends before the answer: see {@link OutcomeUnknown}.")
    return doc(text, indent, notes)


def methods(document: Document) -> str:
    mine = callable_(document)
    body = []
    for method in mine:
        declared, _ = arguments(method, bool(method.subscription))
        head = f"export const {function_name(method)} = ({', '.join(['client: Client', *declared])}): {result_of(method)} =>"
        if len(head) > WIDTH:
            lines = "".join(f"  {each},\n" for each in ["client: Client", *declared])
            head = f"export const {function_name(method)} = (\n{lines}): {result_of(method)} =>"
        if method.subscription:
            call = f'follow(client, "{method.name}", "{method.subscription.unsubscribe}", {wire(method)}, options)'
        else:
            call = f'{SENDERS[method.again]}(client, "{method.name}", "{sign(document, method.result)}", {wire(method)}, options)'
        body.append(f"{comment(method)}{head}\n  {call};\n")
    used = type_names(document, "".join(body))
    return (
        f'{HEAD}\nimport type {{ CallOptions, Client }} from "../client.js";\n'
        'import { change, create, read } from "../send.js";\n'
        'import { follow, type Following, type FollowOptions } from "../follow.js";\n'
        f"{import_types(used)}\n" + "\n".join(body)
    )


def type_names(document: Document, text: str) -> list[str]:
    known = {each.name for each in document.types} | {f"{pascal(each.name)}Options" for each in document.methods}
    code = re.sub(r"/\*\*.*?\*/", "", text, flags=re.S)
    return sorted(known & set(re.findall(r"\b[A-Z]\w+", code)))


def import_types(used: list[str]) -> str:
    return "import type {\n" + "".join(f"  {each},\n" for each in used) + '} from "./types.js";\n'


# ---- groups.ts ------------------------------------------------------------------------------------------------------------------------


def groups(document: Document) -> str:
    found: dict[str, list[tuple[str, Method]]] = {}
    for method in callable_(document):
        group, name = place(method)
        found.setdefault(group, []).append((name, method))
    body, names = [], []
    for group, members in found.items():
        title = f"{group[0].upper()}{group[1:]}Calls" if group else "PlainCalls"
        names.append(title)
        lines = [f"export class {title} {{\n  /** Creates calls that use this client. */\n  constructor(readonly client: Client) {{}}\n"]
        for name, method in members:
            declared, passed = arguments(method, bool(method.subscription))
            head = f"  {name}({', '.join(declared)}): {result_of(method)} {{\n"
            if len(head) > WIDTH:
                head = f"  {name}(\n" + "".join(f"    {each},\n" for each in declared) + f"  ): {result_of(method)} {{\n"
            call = f"    return calls.{function_name(method)}({', '.join(['this.client', *passed])});\n"
            lines.append(f"\n{comment(method, '  ')}{head}{call}  }}\n")
        what = "; ".join(f"`{method.name}`" for _, method in members)
        body.append(
            doc(f"{'Calls of `' + group + '`' if group else 'Calls without a group'}: {what}.".replace("; ", ", ")) + "".join(lines) + "}\n"
        )
    used = type_names(document, "".join(body))
    return (
        f'{HEAD}\nimport type {{ CallOptions, Client }} from "../client.js";\n'
        'import type { Following, FollowOptions } from "../follow.js";\n'
        'import * as calls from "./methods.js";\n'
        f"{import_types(used)}\n" + "\n".join(body)
    )


# ---- limits.ts ------------------------------------------------------------------------------------------------------------------------


def limits(document: Document) -> str:
    wait = document.method("run_and_wait").parameter("wait_timeout")
    if wait is None or wait.default is None or wait.maximum is None:
        raise ValueError("run_and_wait has a wait_timeout with a default and a maximum")
    return (
        f"{HEAD}\n/** The version of hero that these calls belong to. */\nexport const version = {json.dumps(document.version)};\n\n"
        f"/** The default timeout of a wait, in seconds. */\nexport const defaultWait = {wait.default:g};\n\n"
        f"/** The maximum timeout of one call that waits, in seconds. */\nexport const longestWait = {wait.maximum:g};\n"
    )


# ---- version.ts -----------------------------------------------------------------------------------------------------------------------


def version(document: Document) -> str:
    """Prints a file of its own, for code that is loaded separately."""
    return f"{HEAD}\n/** The version of hero that this client was made for. */\nexport const version = {json.dumps(document.version)};\n"
