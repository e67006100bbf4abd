"""Both faces reach every call and every subscription of the API document, with all required arguments."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import hero
from hero import aio

DOCUMENT = json.loads((Path(__file__).resolve().parents[3] / "openrpc.json").read_text())
METHODS: dict[str, list[str]] = {
    method["name"]: [param["name"] for param in method["params"] if param.get("required")] for method in DOCUMENT["methods"]
}
SUBSCRIPTIONS: dict[str, str] = {
    method["name"]: method["x-subscription"]["unsubscribe"] for method in DOCUMENT["methods"] if "x-subscription" in method
}


class Told(Exception):
    """Raised for a recorded request: there is no answer."""


class Recorder:
    """A session that records its requests."""

    def __init__(self) -> None:
        self.asked: dict[str, set[str]] = {}

    def call(self, method: str, params: dict[str, Any], *_: Any) -> Any:
        self.asked[method] = {name for name, value in params.items() if value is not None}
        raise Told

    def subscribe(self, method: str, unsubscribe: str, params: dict[str, Any], *_: Any) -> Any:
        assert SUBSCRIPTIONS[method] == unsubscribe
        self.asked[unsubscribe] = {"subscription"}
        self.call(method, params)


def needed(method: Any) -> dict[str, Any]:
    """Returns a value for each required argument."""
    asked = inspect.signature(method).parameters.values()
    return {each.name: {} for each in asked if each.default is each.empty and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)}


@pytest.mark.parametrize("face", [aio.Hero, hero.Hero], ids=["asyncio", "sync"])
async def test_each_call_and_each_subscription_of_the_document_is_reached(face: Any) -> None:
    client = face("ws://127.0.0.1:1")
    client._session = recorder = Recorder()
    for name in METHODS:
        # Leaving a subscription ends it.
        if name in SUBSCRIPTIONS.values():
            continue
        method = getattr(client, name)
        with pytest.raises(Told):
            made = method(**needed(method))
            made = made.open() if name in SUBSCRIPTIONS else made
            if inspect.isawaitable(made):
                await made
    assert sorted(recorder.asked) == sorted(METHODS)
    for name, params in METHODS.items():
        assert recorder.asked[name].issuperset(params), name
