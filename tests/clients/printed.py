"""Runs programs as docs/methods prints them: each line that it reads is one, as JSON, and the line that it writes is what that printed."""

import json
import sys
from enum import Enum

import hero


def plain(value):
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.value if isinstance(value, Enum) else value


with hero.Hero(sys.argv[1]) as server:
    for line in sys.stdin:
        said = []
        try:
            exec(json.loads(line), {"server": server, "print": said.append})
            answer = {"result": plain(said[-1])}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
