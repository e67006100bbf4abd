"""Pytest fixtures: a server for the session, and a client for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .. import Hero
from . import Server, serve


@pytest.fixture(scope="session")
def hero_server() -> Iterator[Server]:
    """A `hero serve` on a free port with a private Redis, shared by all tests."""
    with serve() as server:
        yield server


@pytest.fixture
def hero_client(hero_server: Server) -> Iterator[Hero]:
    """A client of `hero_server`."""
    with Hero(hero_server.url) as client:
        yield client
