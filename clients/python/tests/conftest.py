"""Tests run against a live server (HERO_BIN) and against small scripted servers. Coroutines run here, without a plugin."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from faces import SyncHero

from hero import aio

LIVENESS = 120.0
"""The timeout of each test, on any machine."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**given), LIVENESS))
    return True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `Hero` runs with both faces."""
    if "Hero" in metafunc.fixturenames:
        metafunc.parametrize("Hero", [aio.Hero, SyncHero], ids=["asyncio", "sync"])
