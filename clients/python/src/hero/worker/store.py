"""The connection to Redis, and hero's functions there."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from ..errors import ConnectError
from .job import Job

try:
    import redis.asyncio as redis_asyncio
    from redis import exceptions as redis_errors
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
except ModuleNotFoundError as missing:  # pragma: no cover
    raise ModuleNotFoundError("hero.worker needs the package redis: pip install 'hero-client[worker]'") from missing

UNREACHED = (redis_errors.RedisError, OSError)
"""The exceptions of a call that did not reach Redis or was refused."""
Refused = redis_errors.ResponseError
"""The exception of a call that Redis refused."""

HERE = "pass the data directory of a `hero serve` with a Redis of its own, or the address of its Redis: redis://, rediss:// or unix://"

PATIENCE = 10.0
"""Maximum seconds between two attempts to reach Redis."""


class Store:
    """The calls of one actor."""

    def __init__(self, address: str, context_id: int, owner: str, actor: str) -> None:
        self.address = address
        self._context, self._owner, self._actor = context_id, owner, actor
        self._redis = _connect(address, context_id)

    async def greet(self) -> None:
        """Raises an error if Redis refuses the login, because a second attempt would not help.

        An absent Redis is no error here: it may still start.
        """
        try:
            await self._redis.ping()
        except UNREACHED as error:
            # A refusal while connecting is the cause of another exception.
            if any(isinstance(each, redis_errors.AuthenticationError) for each in (error, error.__cause__)):
                secret = "redis://:PASSWORD@HOST:PORT, or the data directory of the server if the Redis is its own"
                what = f"the Redis at {self.name()} does not let this worker in ({error or 'it wants a password'}): pass {secret}"
                raise ConnectError(what) from None

    async def _fcall(self, function: str, keys: list[str], *words: Any) -> Any:
        return await self._redis.execute_command("FCALL", function, len(keys), *keys, self._owner, self._context, *words)

    async def claim(self, queues: list[str], lease: float) -> dict[str, str] | None:
        """Claims the next job and returns its fields, or None."""
        taken = await self._fcall("hero_claim", queues, self._actor, int(lease * 1000))
        return dict(zip(taken[::2], taken[1::2], strict=True)) if taken else None

    async def present(self, said: str) -> None:
        """Sends a heartbeat of the actor, which is valid for 15 s."""
        await self._fcall("hero_present", [f"hero:meta:actor:inst:{self._actor}"], said)

    async def of_job(self, function: str, job: Job, *words: Any) -> str:
        """Calls a function for a claimed job: renew, log, report progress, or end."""
        return str(await self._fcall(function, [f"hero:job:{job.id}"], job.claim, *words))

    def hints(self) -> Any:
        """Returns the subscription for notifications of jobs and stop requests."""
        return self._redis.pubsub()

    async def close(self) -> None:
        await self._redis.aclose()

    def hint(self, error: Exception) -> str:
        """Returns advice for an error."""
        if "Function not found" in str(error):
            return f"{error} (a hero server that uses this Redis puts the functions there: is it this Redis, and did one run?)"
        return str(error) or repr(error)

    def name(self) -> str:
        """Returns the address without its password."""
        return without_password(self.address)


def pause(failures: int) -> float:
    """Returns a pause in seconds with full jitter: a random time up to a bound that doubles."""
    return random.uniform(0, min(PATIENCE, 0.1 * 2 ** min(failures, 10)))


def _connect(address: str, context_id: int) -> Any:
    settings: dict[str, Any] = {"db": context_id, "decode_responses": True, "encoding_errors": "replace"}
    # A claim that is sent twice claims two jobs, so the library must not repeat calls.
    settings["retry"] = Retry(NoBackoff(), 0)
    settings["socket_connect_timeout"] = 10
    settings["health_check_interval"] = 10
    if "://" not in address:
        return redis_asyncio.Redis(unix_socket_path=str(Path(address) / "redis.sock"), password=_secret(Path(address)), **settings)
    try:
        return redis_asyncio.Redis.from_url(address, **settings)  # pyright: ignore[reportUnknownMemberType]
    except ValueError as wrong:
        is_server = address.partition("://")[0] in ("ws", "wss", "http", "https")
        why = "that is where clients of the server connect, and a worker takes its jobs from Redis" if is_server else wrong
        raise ConnectError(f"{without_password(address)!r} is no Redis of a hero server ({why}): {HERE}") from None


def _secret(data: Path) -> str:
    """Reads the password of the Redis in a data directory."""
    try:
        return (data / "redis.secret").read_text().strip()
    except FileNotFoundError:
        why = (
            "it has no redis.secret, so no hero server with a Redis of its own has run there"
            if data.is_dir()
            else "there is no such directory"
        )
    except NotADirectoryError:
        why = "it is no directory"
    except OSError as failed:
        why = f"its redis.secret cannot be read: {failed.strerror}; workers run as the user of the server"
    raise ConnectError(f"{str(data)!r} is no data directory of a hero server ({why}): {HERE}")


def without_password(address: str) -> str:
    """Removes the password from an address."""
    head, at, host = address.rpartition("@")
    return f"{head.partition('://')[0]}://{host}" if at else address
