"""Tests run against a live server (HERO_BIN), and against small servers that do as they are told. Coroutines are run here, without a plugin."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

LIVENESS = 120.0
"""No test takes longer, on any machine."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**given), LIVENESS))
    return True
