"""A worker for the tests, started as a process. It writes a line to the given file for each thing that it does."""

from __future__ import annotations

import asyncio
import sys
import time

from hero.worker import LogHandler, Worker, current

data, done, concurrency, lease = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
worker = Worker("pytasks", redis=data, concurrency=concurrency, lease=lease, poll=0.2, grace=5.0)


def note(text: str) -> None:
    with open(done, "a") as file:
        file.write(f"{text}\n")


@worker.task("add")
def add(a: int, b: int = 2) -> int:
    return a + b


@worker.task("slow")
def slow(seconds: float) -> str:
    job = current()
    note(f"began {job.id} {job.attempt}")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        job.check()
        time.sleep(0.01)
    note(f"ended {job.id} {job.attempt}")
    return job.id


@worker.task("obey")
def obey(value: object = None) -> object:
    note(f"began {current().id} {current().attempt}")
    while not current().stopping:
        time.sleep(0.01)
    return value


@worker.task("wait")
async def wait(seconds: float) -> str:
    note(f"began {current().id} {current().attempt}")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        note(f"cancelled {current().id}")
        raise
    return "waited"


@worker.task("catch")
async def catch(value: object = None) -> object:
    note(f"began {current().id} {current().attempt}")
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        return value


@worker.task("stubborn")
def stubborn() -> None:
    note(f"began {current().id} {current().attempt}")
    time.sleep(600)


@worker.task("tell")
def tell() -> str:
    import logging

    job = current()
    logger = logging.getLogger("mine")
    logger.addHandler(LogHandler())
    logger.warning("the secret is %s", job.env["KEY"])
    for number in range(100):
        job.log(f"line {number}")
    job.progress(50, "half")
    time.sleep(1.2)
    return job.env["KEY"][:1]


@worker.task("fail")
def fail() -> None:
    raise ValueError("no luck")


@worker.task("odd")
def odd() -> object:
    return object()


@worker.task("lone")
def lone() -> list[str]:
    return ["fine", "a\ud800b"]


@worker.task("lone raised")
def lone_raised() -> None:
    raise ValueError("a\ud800b")


@worker.task("deep")
def deep() -> list[object]:
    nested: list[object] = []
    for _ in range(200_000):
        nested = [nested]
    return nested


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("it says nothing")


@worker.task("mute")
def mute() -> None:
    raise Mute


@worker.task("mute inside")
def mute_inside() -> object:
    class Odd:
        def __iter__(self) -> None:
            raise Mute

    return Odd()


@worker.script
def count(script: str) -> int:
    return len(script.split())


if __name__ == "__main__":
    worker.run()
