"""A client of hero, a job server for scripts.

    import hero
    print(hero.run("40 + 2"))

`hero.Hero` is the client, and `hero.aio.Hero` is the same for asyncio. `hero.worker` runs jobs in Python.
`hero.testing` starts servers for tests.
"""

from . import errors, models
from .errors import *  # noqa: F403
from .sync import FlowHandle, Hero, JobHandle, Status, Subscription, run

__version__ = "0.1.0"
__all__ = ["FlowHandle", "Hero", "JobHandle", "Status", "Subscription", "errors", "models", "run"]
__all__ += errors.__all__
