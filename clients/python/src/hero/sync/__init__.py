# Made of ../aio/__init__.py by `make clients`. Change that instead.
"""The sync face of hero-client; the other face is `hero.aio`, with the same names."""

from .._core.call import Status
from .client import Hero, run
from .handle import FlowHandle, JobHandle
from .stream import Subscription

__all__ = ["FlowHandle", "Hero", "JobHandle", "Status", "Subscription", "run"]
