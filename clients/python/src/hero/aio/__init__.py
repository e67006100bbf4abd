"""The asyncio face of hero-client; the other face is `hero`, with the same names."""

from .._core.call import Status
from .client import Hero, run
from .handle import FlowHandle, JobHandle
from .stream import Subscription

__all__ = ["FlowHandle", "Hero", "JobHandle", "Status", "Subscription", "run"]
