"""The functions of hero in Redis, and how they are reached."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from .job import Job

try:
    import redis.asyncio as redis_asyncio
    from redis import exceptions as redis_errors
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
except ModuleNotFoundError as missing:  # pragma: no cover
    raise ModuleNotFoundError("hero.worker needs the package redis: pip install 'hero-client[worker]'") from missing

UNREACHED = (redis_errors.RedisError, OSError)
"""What a call raises that did not come through, or was refused."""
Refused = redis_errors.ResponseError
"""What a call raises that Redis refused."""

PATIENCE = 10.0
"""The longest pause between two attempts to reach Redis, s."""


class Store:
    """The calls of one actor."""

    def __init__(self, address: str, context_id: int, owner: str, actor: str) -> None:
        self.address = address
        self._context, self._owner, self._actor = context_id, owner, actor
        self._redis = _connect(address, context_id)

    async def _fcall(self, function: str, keys: list[str], *words: Any) -> Any:
        return await self._redis.execute_command("FCALL", function, len(keys), *keys, self._owner, self._context, *words)

    async def claim(self, queues: list[str], lease: float) -> dict[str, str] | None:
        """The next job, if there is one: its fields."""
        taken = await self._fcall("hero_claim", queues, self._actor, int(lease * 1000))
        return dict(zip(taken[::2], taken[1::2], strict=True)) if taken else None

    async def present(self, said: str) -> None:
        """Says that the actor is there, which holds for 15 s."""
        await self._fcall("hero_present", [f"hero:meta:actor:inst:{self._actor}"], said)

    async def of_job(self, function: str, job: Job, *words: Any) -> str:
        """Renews, logs, tells or ends: what a claim of a job may do."""
        return str(await self._fcall(function, [f"hero:job:{job.id}"], job.claim, *words))

    def hints(self) -> Any:
        """What tells of jobs and stops."""
        return self._redis.pubsub()

    async def close(self) -> None:
        await self._redis.aclose()

    def hint(self, error: Exception) -> str:
        """What to do about an error."""
        if "Function not found" in str(error):
            return f"{error} (a hero server that uses this Redis puts the functions there: is it this Redis, and did one run?)"
        return str(error) or repr(error)

    def name(self) -> str:
        """Where it is, without a password."""
        head, at, host = self.address.rpartition("@")
        return f"{head.partition('://')[0]}://{host}" if at else self.address


def pause(failures: int) -> float:
    """Full jitter: anything up to a bound that doubles, s."""
    return random.uniform(0, min(PATIENCE, 0.1 * 2 ** min(failures, 10)))


def _connect(address: str, context_id: int) -> Any:
    settings: dict[str, Any] = {"db": context_id, "decode_responses": True, "encoding_errors": "replace"}
    # A claim that is sent twice claims two jobs, so nothing is repeated unseen.
    settings["retry"] = Retry(NoBackoff(), 0)
    settings["socket_connect_timeout"] = 10
    settings["health_check_interval"] = 10
    path = Path(address)
    if path.is_dir():
        settings["password"] = (path / "redis.secret").read_text().strip()
        return redis_asyncio.Redis(unix_socket_path=str(path / "redis.sock"), **settings)
    return redis_asyncio.Redis.from_url(address, **settings)  # pyright: ignore[reportUnknownMemberType]
