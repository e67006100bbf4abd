"""Runs jobs at full load for minutes, and tells what grows: memory, the append-only file, latency (README.md)."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from client import Failure, within
from picture import Series, draw
from server import directory
from session import positive, run, session
from testbed import JOB, Testbed, open_testbed
from usage import Tree

CALL = 120  # seconds for one call, and for all to end
DRAWN = 120  # points of a picture
CHANGE = 0.1  # what is not flat
MB = 1 << 20

# Each picture: its title, its unit, and its lines, each a name and how to show several seconds as one.
PICTURES: dict[str, tuple[str, str, dict[str, str]]] = {
    "memory": (
        "Memory at full load",
        "MB",
        {"redis_mb": "Redis", "redis_data_mb": "Redis' data", "server_mb": "server", "engines_mb": "engines"},
    ),
    "file": ("The append-only file at full load", "MB", {"file_mb": "append-only file"}),
    "latency": ("Latency at full load", "ms", {"p50_ms": "median", "p99_ms": "99th percentile"}),
    "jobs": ("Jobs at full load", "jobs a second", {"jobs": "ended in a second"}),
    "keys": ("Keys in Redis at full load", "keys", {"keys": "keys"}),
}
SERIES = [name for _, _, lines in PICTURES.values() for name in lines]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hero", default=os.environ.get("HERO"), help="the server program")
    parser.add_argument("--seconds", type=positive, default=600, help="seconds to record (%(default)s)")
    parser.add_argument("--settle", type=int, default=90, help="seconds of load before that (%(default)s)")
    parser.add_argument("--retention", default="30s", help="time to keep a job, less than --settle (%(default)s)")
    parser.add_argument("--callers", type=positive, default=64, help="callers that wait for a job each (%(default)s)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--from", dest="figures", type=Path, help="measure nothing: take the figures of this file")
    parser.add_argument("--svg", type=Path, help="draw pictures in this directory")
    parser.add_argument("--keep", action="store_true", help="keep the data and the log of the server")
    given = parser.parse_args()
    if not given.hero and not given.figures:
        parser.error("--hero or the environment variable HERO has to name the server program")
    return given


class Load:
    """Callers that run one job after the other until they are told to end."""

    def __init__(self, testbed: Testbed, callers: int) -> None:
        self.testbed = testbed
        self.ended = False
        self.times: list[float] = []  # of the calls since the last look
        self.callers = [asyncio.create_task(self.caller()) for _ in range(callers)]

    async def caller(self) -> None:
        while not self.ended:
            begun = time.perf_counter()
            await self.testbed.call("run_and_wait", {**JOB, "wait_timeout": CALL})
            self.times.append(time.perf_counter() - begun)

    def take(self) -> list[float]:
        """Returns the sorted times of the calls since the last look, unless a caller failed."""
        for caller in self.callers:
            if caller.done():
                caller.result()
        times, self.times = sorted(self.times), []
        return times

    async def end(self) -> None:
        self.ended = True
        await asyncio.gather(*self.callers)

    def cancel(self) -> None:
        for caller in self.callers:
            caller.cancel()


def figures(testbed: Testbed, times: Sequence[float]) -> dict[str, float]:
    """What one second brought, and what the processes hold after it."""
    tree: Tree = testbed.tree()
    held, own = tree.resident(), tree.proportional()
    row: dict[str, float] = {f"{component}_rss_mb": held[component] / MB for component in held}
    # Redis shares nothing but its program. Engines share pages with the server.
    row |= {"redis_mb": held["redis"] / MB, "server_mb": own["server"] / MB, "engines_mb": own["engines"] / MB}
    row["redis_data_mb"] = int(testbed.store.info()["used_memory"]) / MB
    files = (testbed.servers[0].data / "appendonlydir").glob("*")
    row["file_mb"] = sum(size_of(file) for file in files) / MB
    row |= {"keys": int(testbed.store.ask("DBSIZE")), "engines": len(tree.components["engines"]), "jobs": len(times)}
    if times:
        row |= {"p50_ms": 1e3 * times[len(times) // 2], "p99_ms": 1e3 * times[int(len(times) * 0.99)]}
    return {name: round(figure, 3) for name, figure in row.items()}


def size_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0  # Redis has just removed it.


async def watch(testbed: Testbed, load: Load, given: argparse.Namespace, rows: list[dict[str, float]]) -> None:
    """Adds a row for each second."""
    await asyncio.sleep(given.settle)
    load.take()
    begun = time.perf_counter()
    for second in range(1, given.seconds + 1):
        await asyncio.sleep(max(begun + second - time.perf_counter(), 0))
        # In another thread, so that the callers are not held up.
        rows.append({"second": second} | await asyncio.to_thread(figures, testbed, load.take()))
        if second % 60 == 0:
            print(f"{second:>5} s: {rows[-1]['jobs']:.0f} jobs/s, {rows[-1].get('p99_ms', 0):.1f} ms", flush=True)


async def soak(given: argparse.Namespace) -> dict[str, Any]:
    document = session(given.hero) | {name: vars(given)[name] for name in ("callers", "settle", "retention")}
    rows: list[dict[str, float]] = []
    kept = {"--retention-waited": given.retention, "--retention-finished": given.retention}
    try:
        with directory(given.keep) as data:
            async with open_testbed(given.hero, data, kept) as testbed:
                load = Load(testbed, given.callers)
                try:
                    seconds = given.settle + 2 * given.seconds + CALL
                    await within(seconds, "the soak", watch(testbed, load, given, rows))
                    await within(CALL, "the end of the last jobs", load.end())
                finally:
                    load.cancel()
    finally:
        document["seconds"] = rows
        if given.json:  # Also what came before a failure.
            given.json.write_text(json.dumps(document) + "\n")
    if not any(row["jobs"] for row in rows):
        raise Failure("no job ended: measure for longer (--seconds)")
    return document


def verdict(values: Sequence[float]) -> tuple[float, float, str]:
    """The medians of the first and the last minute, and whether it grew or fell: the high values, too, by then."""
    window, half = min(60, max(len(values) // 4, 1)), max(len(values) // 2, 1)
    first, last = statistics.median(values[:window]), statistics.median(values[-window:])
    high, later = (sorted(part)[int(len(part) * 0.9)] for part in (values[:half], values[-half:]))
    if last > first * (1 + CHANGE) and later > high * (1 + CHANGE):
        return first, last, "grew"
    if last < first * (1 - CHANGE) and later < high * (1 - CHANGE):
        return first, last, "fell"
    return first, last, "flat"


def summary(rows: list[dict[str, float]]) -> None:
    jobs = sum(row["jobs"] for row in rows)
    print(f"\n{jobs:,.0f} jobs in {len(rows)} s: {jobs / len(rows):,.0f} a second")
    print("".rjust(16) + "".join(title.rjust(14) for title in ("first minute", "last minute", "a minute", "")))
    for name in SERIES:
        values = [row[name] for row in rows if name in row]
        first, last, word = verdict(values)
        slope = (last - first) / max(len(rows) / 60 - 1, 1)
        print(name.rjust(16) + f"{first:14,.2f}{last:14,.2f}{slope:+14,.2f}{word:>14}")


def pictures(rows: list[dict[str, float]], target: Path) -> None:
    """Draws the seconds in groups: the median of each, and of the 99th percentile the highest."""
    size = -(-len(rows) // DRAWN)
    groups = [rows[first : first + size] for first in range(0, len(rows), size)]
    labels = [f"{group[0]['second'] - 1:.0f}" for group in groups]
    every = max(len(groups) // 10, 1)
    for picture, (title, unit, lines) in PICTURES.items():
        series: Series = {text: [grouped(name, group) for group in groups] for name, text in lines.items()}
        shown = {"show_dots": False, "x_labels_major_every": every, "show_minor_x_labels": False}
        draw(target / f"soak-{picture}.svg", title, ("seconds", labels), unit, series, **shown)


def grouped(name: str, group: list[dict[str, float]]) -> float | None:
    values = [row[name] for row in group if name in row]
    if not values:
        return None
    return max(values) if name == "p99_ms" else statistics.median(values)


def main() -> None:
    given = options()
    document = json.loads(given.figures.read_text()) if given.figures else run(soak(given))
    summary(document["seconds"])
    if given.svg:
        pictures(document["seconds"], given.svg)


if __name__ == "__main__":
    main()
