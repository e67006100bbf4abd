"""Measures the cost of a job against what grows: queues, actors, contexts, waiters, and others (README.md)."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from client import within
from curves import CALLERS, CURVES, Curve
from picture import draw
from server import directory
from session import positive, run, session
from testbed import Testbed, open_testbed
from usage import COMPONENTS

POINT = 3600  # seconds for one point
TINY = {"jobs": 20, "rounds": 1, "rest": 0.1}
LINES = {"redis_us": "Redis", "server_us": "server", "engines_us": "engines", "wall_us": "wall"}
COLUMNS = LINES | {"p50_ms": "p50 ms", "p99_ms": "p99 ms"}
TITLES = {
    "redis_us": "Redis' processor time",
    "server_us": "the server's",
    "engines_us": "the engines'",
    "wall_us": "wall time",
}
Given = argparse.Namespace


def options() -> Given:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hero", default=os.environ.get("HERO"), help="the server program")
    parser.add_argument("--only", default=",".join(CURVES), help="these curves, separated by commas: %(default)s")
    parser.add_argument("--points", type=positive, help="only so many of the smallest points of each curve")
    parser.add_argument("--jobs", type=positive, default=10_000, help="jobs of a round (%(default)s)")
    parser.add_argument(
        "--rounds", type=positive, default=3, help="rounds at each point, whose median counts (%(default)s)"
    )
    parser.add_argument("--rest", type=float, default=3.0, help="seconds to watch each point at rest (%(default)s)")
    parser.add_argument("--tiny", action="store_true", help="a point or two of each curve, and few jobs")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--from", dest="figures", type=Path, help="measure nothing: take the figures of this file")
    parser.add_argument("--svg", type=Path, help="draw a picture of each curve in this directory")
    parser.add_argument("--keep", action="store_true", help="keep the data and the logs of the servers")
    given = parser.parse_args()
    if given.tiny:
        vars(given).update(TINY)
    given.only = given.only.split(",")
    if unknown := [name for name in given.only if name not in CURVES]:
        parser.error(f"there is no curve {', '.join(unknown)}; there are {', '.join(CURVES)}")
    if not given.hero and not given.figures:
        parser.error("--hero or the environment variable HERO has to name the server program")
    return given


async def at_rest(testbed: Testbed, seconds: float) -> dict[str, float]:
    """Watches what the processes take without jobs, in milliseconds of processor time a second."""
    before = testbed.tree().seconds()
    await asyncio.sleep(seconds)
    after = testbed.tree().seconds()
    taken = {component: after[component] - before[component] for component in COMPONENTS}
    return {f"{component}_rest": round(taken[component] / seconds * 1e3, 3) for component in COMPONENTS}


async def with_reference(reference: Testbed, row: dict[str, float], jobs: int) -> dict[str, float]:
    """Adds what the reference needs at this moment, and how many times that the row needs."""
    other = (await reference.run_jobs(CALLERS, max(jobs // 5, 20))).row()
    cost, plain = (each["redis_us"] + each["server_us"] for each in (row, other))
    return row | {"reference_us": round(plain, 4), "ratio": round(cost / plain, 4)}


async def at_point(curve: Curve, testbed: Testbed, point: int, reference: Testbed, given: Given) -> dict[str, Any]:
    """Prepares a point, measures it in rounds, and watches it at rest."""
    await curve.prepare(testbed, point)
    await curve.measure(testbed, point, max(given.jobs // 10, 20))
    rounds = []
    for _ in range(given.rounds):
        await testbed.store.rewritten()
        row = (await curve.measure(testbed, point, given.jobs)).row()
        rounds.append(await with_reference(reference, row, given.jobs))
    rest = await at_rest(testbed, given.rest)
    memory = testbed.tree().proportional()
    rest |= {f"{component}_mb": round(memory[component] / (1 << 20), 2) for component in COMPONENTS}
    median = {name: statistics.median(row[name] for row in rounds) for name in rounds[0]}
    return {"point": point, "median": median, "rest": rest, "rounds": rounds}


async def measured(curve: Curve, reference: Testbed, given: Given) -> list[dict[str, Any]]:
    """Measures the points of a curve: on one server as it grows, or on a new one each."""
    rows: list[dict[str, Any]] = []
    points = list(curve.tiny if given.tiny else curve.points)[: given.points]
    for group in [[point] for point in points] if curve.fresh else [points]:
        async with new_testbed(given, curve.settings(group[0]), curve.servers(group[0])) as testbed:
            for point in group:
                work = at_point(curve, testbed, point, reference, given)
                rows.append(await within(POINT, f"{curve.name} at {point:,}", work))
                print(line(f"{point:,}", rows[-1]["median"], rows[0]["median"]), flush=True)
    return rows


@asynccontextmanager
async def new_testbed(given: Given, settings: dict[str, str], servers: int) -> AsyncIterator[Testbed]:
    with directory(given.keep) as data:
        async with open_testbed(given.hero, data, settings, servers) as testbed:
            yield testbed


def line(label: str, median: dict[str, float], first: dict[str, float]) -> str:
    """One line of the table. The last column is the ratio to the reference, divided by that at the first point."""
    cells = [f"{median[name]:.1f}" if name in median else "–" for name in COLUMNS]
    cells.append(f"{median['ratio'] / first['ratio']:.2f} ×")
    return label.rjust(12) + "".join(cell.rjust(16) for cell in cells)


async def measure_all(given: Given) -> dict[str, Any]:
    """Measures the curves beside a server where nothing grows: a busy machine affects both."""
    document: dict[str, Any] = session(given.hero) | {"jobs": given.jobs, "rounds": given.rounds, "curves": {}}
    async with new_testbed(given, {}, 1) as reference:
        warm_up = reference.run_jobs(CALLERS, max(given.jobs // 5, 20))
        await within(POINT, "the first jobs of the reference", warm_up)
        for name in given.only:
            curve = CURVES[name]()
            print(f"\n{name}: {curve.x}; processor and wall time of {curve.job} in microseconds")
            print("".rjust(12) + "".join(title.rjust(16) for title in [*COLUMNS.values(), "of the first"]))
            document["curves"][name] = {"x": curve.x, "points": await measured(curve, reference, given)}
            if given.json:
                given.json.write_text(json.dumps(document, indent=1) + "\n")
    return document


def pictures(document: dict[str, Any], target: Path) -> None:
    for name, curve in document["curves"].items():
        points = curve["points"]
        series = {TITLES[figure]: [row["median"][figure] for row in points] for figure in TITLES}
        labels = [f"{row['point']:,}" for row in points]
        title = f"The cost of {CURVES[name].job} by {CURVES[name].by}"
        draw(target / f"{name}.svg", title, (curve["x"], labels), "microseconds", series)


def main() -> None:
    given = options()
    document = json.loads(given.figures.read_text()) if given.figures else run(measure_all(given))
    if given.svg:
        pictures(document, given.svg)


if __name__ == "__main__":
    main()
