"""The curves: what grows, the points, how a point is prepared, and what is measured there."""

from __future__ import annotations

import time
from typing import ClassVar

from stage import JOB, PARKED, Figures, Stage, together

CALLERS = 16


class Curve:
    """Measures `run_and_wait`. Points grow on one server unless each needs a new one (`fresh`)."""

    name: ClassVar[str]
    by: ClassVar[str]
    x: ClassVar[str]
    points: ClassVar[tuple[int, ...]]
    tiny: ClassVar[tuple[int, ...]] = (1, 2)
    fresh: ClassVar[bool] = False
    callers: ClassVar[int] = CALLERS
    job: ClassVar[str] = "a job"

    def settings(self, point: int) -> dict[str, str]:
        """The settings of the server beside those of all."""
        return {}

    def servers(self, point: int) -> int:
        return 1

    async def prepare(self, stage: Stage, point: int) -> None:
        """Brings the server to the point, from the one before."""

    async def measure(self, stage: Stage, point: int, jobs: int) -> Figures:
        return await stage.run_jobs(self.callers, jobs)


class Queue(Curve):
    name = "queue"
    by = "the length of another queue"
    x = "jobs that wait in a queue of another type"
    points = (1_000, 10_000, 100_000, 1_000_000)
    tiny = (100, 200)

    async def prepare(self, stage: Stage, point: int) -> None:
        await stage.create(PARKED, point - stage.filled)
        stage.filled = point


class Drain(Curve):
    """Jobs are taken from the long queue itself: it is paused, filled, and resumed until some have been taken."""

    name = "drain"
    by = "the length of its queue"
    x = "jobs in the queue that the jobs are taken from"
    points = (10_000, 100_000, 1_000_000)
    tiny = (100, 200)

    async def prepare(self, stage: Stage, point: int) -> None:
        await stage.call("pause_queue", {"script_type": "osis"})
        await stage.create(JOB, point - await stage.depth())

    async def measure(self, stage: Stage, point: int, jobs: int) -> Figures:
        await self.prepare(stage, point)
        depth = await stage.depth()
        before, begun = stage.tree().seconds(), time.perf_counter()
        await stage.call("resume_queue", {"script_type": "osis"})
        await stage.drain_to(depth - min(jobs, depth // 2))
        await stage.call("pause_queue", {"script_type": "osis"})
        return stage.since(before, begun, depth - await stage.depth(), [])


class Actors(Curve):
    name = "actors"
    by = "actors"
    x = "actors, with 64 callers"
    points = (1, 2, 4, 8, 16, 32, 64)
    tiny = (2,)
    fresh = True
    callers = 64

    def settings(self, point: int) -> dict[str, str]:
        return {"--pool": f"osis={point}"}


class Contexts(Curve):
    name = "contexts"
    by = "contexts"
    x = "contexts whose jobs take turns, with 2 actors each"
    points = (1, 2, 5, 10, 20, 50, 100)

    async def prepare(self, stage: Stage, point: int) -> None:
        while len(stage.contexts) < point:
            made = await stage.call("create_context", {})
            stage.contexts.append(made["context_id"])
        await stage.run_jobs(self.callers, 10 * point)  # The first job of a context starts its actors.


class Waiters(Curve):
    name = "waiters"
    by = "calls that wait"
    x = "open calls of wait_job, each for another job that does not end"
    points = (1, 10, 100, 1_000, 10_000)

    async def prepare(self, stage: Stage, point: int) -> None:
        await stage.wait_for(await stage.create(PARKED, point - stage.filled))
        stage.filled = point


class Subscribers(Curve):
    """Every subscriber gets every event, so that their cost grows with their number. `event_us` is that of one."""

    name = "subscribers"
    by = "subscribers to it"
    x = "connections that follow the events of all these jobs"
    points = (1, 10, 100, 1_000)
    events: ClassVar[int] = 200_000  # of all subscribers together in a round, about

    async def prepare(self, stage: Stage, point: int) -> None:
        await stage.listen(point - len(stage.listeners), {"script_type": "osis"})

    async def measure(self, stage: Stage, point: int, jobs: int) -> Figures:
        before, begun, heard = stage.tree().seconds(), time.perf_counter(), await stage.heard()
        run = await stage.run_jobs(self.callers, min(jobs, max(self.events // (3 * point), 20)))
        received = await stage.heard() - heard
        figures = stage.since(before, begun, run.jobs, run.latencies)
        figures.wall = run.wall
        if received:
            figures.extra["events"] = received / run.jobs
            figures.extra["event_us"] = figures.seconds["server"] / received * 1e6
        return figures


class Bystanders(Subscribers):
    name = "bystanders"
    by = "subscribers to other jobs"
    x = "connections that follow the events of jobs of another type"
    events = 200_000_000

    async def prepare(self, stage: Stage, point: int) -> None:
        await stage.listen(point - len(stage.listeners), {"script_type": "parked"})


class Kept(Curve):
    name = "kept"
    by = "kept jobs"
    x = "finished jobs that are kept, beside those of the measurement"
    points = (0, 1_000, 10_000, 100_000, 1_000_000)
    tiny = (0, 100)

    async def prepare(self, stage: Stage, point: int) -> None:
        await stage.create(JOB, point - stage.filled)
        await stage.drain_to(0)
        stage.filled = point


class Flow(Curve):
    """Flows in which each job waits for the one ten places before it, so that ten run at once."""

    name = "flow"
    by = "the size of its flow"
    x = "jobs of a flow, ten of them at once"
    points = (1, 10, 100, 1_000)  # A flow has at most 1,000 jobs.
    job = "a job of the flow"

    async def measure(self, stage: Stage, point: int, jobs: int) -> Figures:
        names = [f"job_{number}" for number in range(point)]
        flow = {
            name: JOB | ({"depends_on": [names[number - 10]]} if number >= 10 else {})
            for number, name in enumerate(names)
        }
        flows = iter(range(max(jobs // point, 1)))
        count = 0

        async def caller() -> None:
            nonlocal count
            for _ in flows:
                await stage.call("run_flow_and_wait", {"jobs": flow, "wait_timeout": 600})
                count += 1

        before, begun = stage.tree().seconds(), time.perf_counter()
        await together([caller() for _ in range(max(CALLERS // min(point, 10), 2))])
        return stage.since(before, begun, count * point, [])


class Servers(Curve):
    name = "servers"
    by = "servers"
    x = "servers of one Redis, which take turns, with 2 actors each"
    points = (1, 2, 3, 4)
    tiny = (2,)
    fresh = True

    def servers(self, point: int) -> int:
        return point


CURVES: dict[str, type[Curve]] = {
    curve.name: curve
    for curve in (Queue, Drain, Actors, Contexts, Waiters, Subscribers, Bystanders, Kept, Flow, Servers)
}
