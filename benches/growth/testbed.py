"""What a curve is measured on: its servers, the connections to them, and calls that many curves make."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from client import PER_ADDRESS, Client, Failure, Listener
from server import Server, Store, serving, shared
from usage import COMPONENTS, Tree

SLICE = 64  # jobs that one call creates and starts
FILLING = 8  # such calls at once
STUCK = 120  # seconds without progress
POLL = 0.02
WAITS = 1_000  # calls that wait on one connection
OPENING = 50  # connections that open at once

JOB: dict[str, Any] = {"script": "40 + 2"}
PARKED: dict[str, Any] = {"script": "40 + 2", "script_type": "parked"}


@dataclass
class Figures:
    """What some jobs took."""

    jobs: int = 0
    wall: float = 0.0  # seconds
    seconds: dict[str, float] = field(default_factory=dict)  # of processor time, by component
    latencies: list[float] = field(default_factory=list)  # seconds of each call
    extra: dict[str, float] = field(default_factory=dict)

    def row(self) -> dict[str, float]:
        """The cost a job in microseconds, and the latency in milliseconds."""
        row = {f"{component}_us": self.seconds[component] / self.jobs * 1e6 for component in COMPONENTS}
        row["wall_us"] = self.wall / self.jobs * 1e6
        if times := sorted(self.latencies):
            row["p50_ms"], row["p99_ms"] = (1e3 * times[int(len(times) * share)] for share in (0.5, 0.99))
        return {name: round(figure, 4) for name, figure in (row | self.extra).items()}


@dataclass
class Testbed:
    """The servers of a curve, with one connection to each."""

    servers: list[Server]
    urls: list[str]
    clients: list[Client]
    store: Store
    waiting: list[Client] = field(default_factory=list)
    listeners: list[Listener] = field(default_factory=list)
    contexts: list[int] = field(default_factory=lambda: [0])
    filled: int = 0  # how far a curve got that grows

    def tree(self) -> Tree:
        return Tree(server.pid for server in self.servers)

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        return await self.clients[0].call(method, params)

    async def run_jobs(self, callers: int, jobs: int) -> Figures:
        """Runs jobs, each caller one after the other, in all contexts and on all servers in turn."""
        times: list[float] = []
        numbers = iter(range(jobs))

        async def caller() -> None:
            for number in numbers:
                client = self.clients[number % len(self.clients)]
                context = self.contexts[number % len(self.contexts)]
                begun = time.perf_counter()
                done = await client.call("run_and_wait", {**JOB, "context_id": context})
                times.append(time.perf_counter() - begun)
                if done["output"] != "42":
                    raise Failure(f"the server says that 40 + 2 is {done['output']}")

        before, begun = self.tree().seconds(), time.perf_counter()
        await together([caller() for _ in range(min(callers, jobs))])
        return self.since(before, begun, jobs, times)

    def since(self, before: dict[str, float], begun: float, jobs: int, times: list[float]) -> Figures:
        wall, after = time.perf_counter() - begun, self.tree().seconds()
        seconds = {component: max(after[component] - before[component], 0.0) for component in COMPONENTS}
        return Figures(jobs, wall, seconds, times)

    async def create(self, job: dict[str, Any], count: int) -> list[str]:
        """Creates and starts as many of this job. Returns their ids."""
        ids: list[str] = []
        sizes = iter([SLICE] * (count // SLICE) + [count % SLICE] * bool(count % SLICE))

        async def caller() -> None:
            for size in sizes:
                ids.extend(await self.call("create_jobs", {"jobs": [job] * size, "start": True}))

        await together([caller() for _ in range(FILLING)])
        return ids

    async def depth(self) -> int:
        """Returns the number of jobs that wait for the actors."""
        queues = await self.call("list_queues", {})
        return sum(queue["depth"] for queue in queues if queue["script_type"] == "osis")

    async def drain_to(self, depth: int) -> None:
        """Waits until no more jobs than this wait."""
        least, since = await self.depth(), time.monotonic()
        while (now := await self.depth()) > depth:
            if now < least:
                least, since = now, time.monotonic()
            if time.monotonic() - since > STUCK:
                raise Failure(f"{now} jobs wait, and none was taken for {STUCK} s: read serve.log (--keep keeps it)")
            await asyncio.sleep(POLL)

    async def wait_for(self, ids: list[str]) -> None:
        """Opens a call for each of these jobs that waits for it, on as many connections as that needs."""
        for first in range(0, len(ids), WAITS):
            source = 1 + (len(self.waiting) * WAITS) // PER_ADDRESS
            client = await Client.to(self.urls[0], source)
            self.waiting.append(client)
            for job in ids[first : first + WAITS]:
                await client.send("wait_job", {"job_id": job, "wait_timeout": 3600})
            await client.call("ping", {})

    async def listen(self, count: int, criteria: dict[str, Any]) -> None:
        """Opens as many connections that follow the events of jobs that match."""
        for first in range(0, count, OPENING):
            wanted = range(first, min(first + OPENING, count))
            self.listeners += await asyncio.gather(*(Listener.to(self.urls[0], criteria) for _ in wanted))

    async def heard(self) -> int:
        """Waits until no more events come. Returns how many came so far."""
        deadline, before = time.monotonic() + STUCK, -1
        while (now := sum(listener.received for listener in self.listeners)) != before:
            if time.monotonic() > deadline:
                raise Failure(f"events still come after {STUCK} s: measure fewer jobs (--jobs)")
            before = now
            await asyncio.sleep(5 * POLL)
        return now

    async def close(self) -> None:
        """Closes every connection."""
        connections: list[Client | Listener] = [*self.clients, *self.waiting, *self.listeners]
        await asyncio.gather(*(each.close() for each in connections), return_exceptions=True)
        self.store.close()


async def together(callers: list[Any]) -> None:
    """Runs all of them, and ends the others when one fails."""
    try:
        async with asyncio.TaskGroup() as group:
            for caller in callers:
                group.create_task(caller)
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


@asynccontextmanager
async def open_testbed(program: str, data: Path, settings: dict[str, str], servers: int = 1) -> AsyncIterator[Testbed]:
    """Starts servers that share the private Redis of the first, and connects to each."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(serving(program, data / "1", settings))
        started = [first]
        for number in range(2, servers + 1):
            further = serving(program, data / str(number), settings | shared(data / "1"))
            started.append(await stack.enter_async_context(further))
        urls = [url for _, url in started]
        clients = [await Client.to(url) for url in urls]
        testbed = Testbed([server for server, _ in started], urls, clients, Store(data / "1"))
        stack.push_async_callback(testbed.close)
        yield testbed
