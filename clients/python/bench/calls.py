"""The cost of the client: calls per second and processor time, compared with a bare `websockets` client, at 1 and 64 in flight.

    HERO_BIN=target/release/hero venv/bin/python bench/calls.py [--seconds 3] [--rounds 5] [--json FILE]

Both send `get_job` of one job (a real answer, which the client makes a model of) and `ping`; the bare one encodes, sends, matches answers by
their ids and decodes, as any client has to. They take turns, round by round, so that a busy machine is busy for both; the middle round counts.
Overhead is of processor time per call: calls a second depend on the server, too. The sync face is beside a client of `websockets.sync` that threads
share, as they may share ours (a reader matches answers), at 1 and 64 threads; and, with one thread, beside the least: `send`, then `recv`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.sync.client import ClientConnection as SyncConnection
from websockets.sync.client import connect as connect_sync

import hero
from hero import aio
from hero.testing import serve

Call = Callable[[], Awaitable[Any]]


class Bare:
    """A minimal client: numbers, a reader, and a future for each answer."""

    def __init__(self, websocket: ClientConnection) -> None:
        self.websocket, self.number, self.waiting = websocket, 0, dict[int, asyncio.Future[Any]]()
        self.reader = asyncio.create_task(self.read())

    async def read(self) -> None:
        async for text in self.websocket:
            answer = json.loads(text)
            self.waiting.pop(answer["id"]).set_result(answer["result"])

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        self.number = number = self.number + 1
        future = self.waiting[number] = asyncio.get_running_loop().create_future()
        await self.websocket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        return await future


async def measure(call: Call, flight: int, seconds: float) -> tuple[float, float]:
    """Returns calls per second, and microseconds of processor time per call."""
    done = 0
    end = time.perf_counter() + seconds

    async def caller() -> None:
        nonlocal done
        # Runs at least once: on a busy machine the time may already be over.
        while not done or time.perf_counter() < end:
            await call()
            done += 1

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(caller() for _ in range(flight)))
    return done / (time.perf_counter() - began), (time.process_time() - cpu) / done * 1e6


class Shared:
    """A minimal client that threads can share: numbers, a reader, and a lock for each answer."""

    def __init__(self, websocket: SyncConnection) -> None:
        self.websocket, self.number, self.lock = websocket, 0, threading.Lock()
        self.waiting: dict[int, tuple[threading.Lock, list[Any]]] = {}
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for text in self.websocket:
            answer = json.loads(text)
            done, results = self.waiting.pop(answer["id"])
            results.append(answer["result"])
            done.release()

    def call(self, method: str, params: dict[str, Any]) -> Any:
        done, results = threading.Lock(), list[Any]()
        done.acquire()
        with self.lock:
            self.number = number = self.number + 1
            self.waiting[number] = done, results
        self.websocket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        done.acquire()
        return results[0]


def measure_sync(call: Callable[[], Any], threads: int, seconds: float) -> tuple[float, float]:
    done = [0] * threads
    end = time.perf_counter() + seconds

    def caller(number: int) -> None:
        while not done[number] or time.perf_counter() < end:
            call()
            done[number] += 1

    began, cpu = time.perf_counter(), time.process_time()
    callers = [threading.Thread(target=caller, args=(number,)) for number in range(threads)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    return sum(done) / (time.perf_counter() - began), (time.process_time() - cpu) / sum(done) * 1e6


class Table:
    """Returns the median of the rounds, of our client and of the bare one."""

    def __init__(self) -> None:
        self.rounds: dict[str, dict[str, list[tuple[float, float]]]] = {}

    def add(self, what: str, who: str, figures: tuple[float, float]) -> None:
        self.rounds.setdefault(what, {}).setdefault(who, []).append(figures)

    def lines(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for what, by in self.rounds.items():
            middle = {
                who: (statistics.median(each[0] for each in rounds), statistics.median(each[1] for each in rounds))
                for who, rounds in by.items()
            }
            ours, bare = middle["hero"], middle["bare"]
            found.append(
                {
                    "what": what,
                    "hero_calls_per_second": round(ours[0]),
                    "bare_calls_per_second": round(bare[0]),
                    "hero_cpu_us": round(ours[1], 1),
                    "bare_cpu_us": round(bare[1], 1),
                    "cpu_overhead": round(ours[1] / bare[1] - 1, 3),
                    "rate_overhead": round(bare[0] / ours[0] - 1, 3),
                }
            )
        return found


async def in_asyncio(url: str, table: Table, rounds: int, seconds: float) -> None:
    async with aio.Hero(url) as client, connect(url, compression=None, max_size=2**25) as websocket:
        bare = Bare(websocket)
        job = await client.submit("40 + 2")
        await job.wait()
        named = {"job_id": job.id}
        calls: dict[str, tuple[Call, Call]] = {
            "ping": (client.ping, lambda: bare.call("ping", {})),
            "get_job": (lambda: client.get_job(job.id), lambda: bare.call("get_job", named)),
        }
        for _ in range(rounds):
            for name, (ours, theirs) in calls.items():
                for flight in (1, 64):
                    table.add(f"asyncio {name}, {flight} in flight", "bare", await measure(theirs, flight, seconds))
                    table.add(f"asyncio {name}, {flight} in flight", "hero", await measure(ours, flight, seconds))
        bare.reader.cancel()


def in_threads(url: str, table: Table, rounds: int, seconds: float) -> None:
    settings: dict[str, Any] = {"compression": None, "max_size": 2**25}
    with hero.Hero(url) as client, connect_sync(url, **settings) as alone, connect_sync(url, **settings) as websocket:
        shared, number = Shared(websocket), 0

        def bare(method: str, params: dict[str, Any]) -> Any:
            nonlocal number
            number += 1
            alone.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
            return json.loads(alone.recv())["result"]

        job = client.submit("40 + 2")
        job.wait()
        named = {"job_id": job.id}
        calls: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
            "ping": (client.ping, {}),
            "get_job": (lambda: client.get_job(job.id), named),
        }
        for _ in range(rounds):
            for name, (ours, params) in calls.items():
                for threads in (1, 64):
                    theirs = measure_sync(lambda name=name, params=params: shared.call(name, params), threads, seconds)
                    table.add(f"sync {name}, {threads} in flight", "bare", theirs)
                    figures = measure_sync(ours, threads, seconds)
                    table.add(f"sync {name}, {threads} in flight", "hero", figures)
                    if threads == 1:
                        table.add(f"sync {name}, beside send and recv", "hero", figures)
                least = measure_sync(lambda name=name, params=params: bare(name, params), 1, seconds)
                table.add(f"sync {name}, beside send and recv", "bare", least)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each of the measurements of a round takes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where the figures go, too")
    given = parser.parse_args()
    table = Table()
    with serve() as server:
        work: Coroutine[Any, Any, None] = in_asyncio(server.url, table, given.rounds, given.seconds)
        asyncio.run(work)
        in_threads(server.url, table, given.rounds, given.seconds)
    lines = table.lines()
    print(f"{'':32} {'calls/s':>8} {'bare':>8} {'CPU µs':>8} {'bare':>8} {'CPU overhead':>13}")
    for line in lines:
        rates = f"{line['hero_calls_per_second']:>8} {line['bare_calls_per_second']:>8}"
        cpu = f"{line['hero_cpu_us']:>8} {line['bare_cpu_us']:>8} {line['cpu_overhead']:>12.0%}"
        print(f"{line['what']:32} {rates} {cpu}")
    if given.json:
        given.json.write_text(json.dumps({"python": sys.version.split()[0], "figures": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
