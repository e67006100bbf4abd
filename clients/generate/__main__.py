"""`python3 -m generate` writes the generated code of every client.

`--check` writes nothing, and exits with 1 if something would change.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

from . import document

CLIENTS = Path(__file__).resolve().parent.parent
# Each module has `files(document) -> {path below clients/: text}`.
LANGUAGES = ("python", "typescript", "rust", "pages")


def files(read: document.Document) -> Iterator[tuple[Path, str]]:
    for language in LANGUAGES:
        if importlib.util.find_spec(f"{__package__}.{language}") is None:
            continue
        printer = importlib.import_module(f"{__package__}.{language}")
        for path, text in printer.files(read).items():
            yield CLIENTS / path, text


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        print(__doc__, file=sys.stderr)
        return 2
    stale = 0
    for path, text in files(document.read(CLIENTS.parent / "openrpc.json")):
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        print(f"{'stale' if check else 'wrote'} {path.relative_to(CLIENTS.parent)}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if check and stale:
        print("`make clients` writes them anew", file=sys.stderr)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
