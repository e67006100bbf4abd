"""The curves: what grows, the points, how a point is prepared, and what is measured there."""

from __future__ import annotations

import time
from typing import ClassVar

from testbed import JOB, PARKED, Figures, Testbed, together

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

    async def prepare(self, testbed: Testbed, point: int) -> None:
        """Brings the server to the point, from the one before."""

    async def measure(self, testbed: Testbed, point: int, jobs: int) -> Figures:
        return await testbed.run_jobs(self.callers, jobs)


class Queue(Curve):
    name = "queue"
    by = "the length of another queue"
    x = "jobs that wait in a queue of another type"
    points = (1_000, 10_000, 100_000, 1_000_000)
    tiny = (100, 200)

    async def prepare(self, testbed: Testbed, point: int) -> None:
        await testbed.create(PARKED, point - testbed.filled)
        testbed.filled = point


class Drain(Curve):
    """Jobs are taken from the long queue itself: it is paused, filled, and resumed until some have been taken."""

    name = "drain"
    by = "the length of its queue"
    x = "jobs in the queue that the jobs are taken from"
    points = (10_000, 100_000, 1_000_000)
    tiny = (100, 200)

    async def prepare(self, testbed: Testbed, point: int) -> None:
        await testbed.call("pause_queue", {"script_type": "osis"})
        await testbed.create(JOB, point - await testbed.depth())

    async def measure(self, testbed: Testbed, point: int, jobs: int) -> Figures:
        await self.prepare(testbed, point)
        depth = await testbed.depth()
        before, begun = testbed.tree().seconds(), time.perf_counter()
        await testbed.call("resume_queue", {"script_type": "osis"})
        await testbed.drain_to(depth - min(jobs, depth // 2))
        await testbed.call("pause_queue", {"script_type": "osis"})
        return testbed.since(before, begun, depth - await testbed.depth(), [])


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

    async def prepare(self, testbed: Testbed, point: int) -> None:
        while len(testbed.contexts) < point:
            made = await testbed.call("create_context", {})
            testbed.contexts.append(made["context_id"])
        await testbed.run_jobs(self.callers, 10 * point)  # The first job of a context starts its actors.


class Waiters(Curve):
    name = "waiters"
    by = "calls that wait"
    x = "open calls of wait_job, each for another job that does not end"
    points = (1, 10, 100, 1_000, 10_000)

    async def prepare(self, testbed: Testbed, point: int) -> None:
        await testbed.wait_for(await testbed.create(PARKED, point - testbed.filled))
        testbed.filled = point


class Subscribers(Curve):
    """Every subscriber gets every event, so that their cost grows with their number. `event_us` is that of one."""

    name = "subscribers"
    by = "subscribers to it"
    x = "connections that follow the events of all these jobs"
    points = (1, 10, 100, 1_000)
    events: ClassVar[int] = 200_000  # of all subscribers together in a round, about

    async def prepare(self, testbed: Testbed, point: int) -> None:
        await testbed.listen(point - len(testbed.listeners), {"script_type": "osis"})

    async def measure(self, testbed: Testbed, point: int, jobs: int) -> Figures:
        before, begun, heard = testbed.tree().seconds(), time.perf_counter(), await testbed.heard()
        run = await testbed.run_jobs(self.callers, min(jobs, max(self.events // (3 * point), 20)))
        received = await testbed.heard() - heard
        figures = testbed.since(before, begun, run.jobs, run.latencies)
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

    async def prepare(self, testbed: Testbed, point: int) -> None:
        await testbed.listen(point - len(testbed.listeners), {"script_type": "parked"})


class Kept(Curve):
    name = "kept"
    by = "kept jobs"
    x = "finished jobs that are kept, beside those of the measurement"
    points = (0, 1_000, 10_000, 100_000, 1_000_000)
    tiny = (0, 100)

    async def prepare(self, testbed: Testbed, point: int) -> None:
        await testbed.create(JOB, point - testbed.filled)
        await testbed.drain_to(0)
        testbed.filled = point


class Flow(Curve):
    """Flows in which each job waits for the one ten places before it, so that ten run at once."""

    name = "flow"
    by = "the size of its flow"
    x = "jobs of a flow, ten of them at once"
    points = (1, 10, 100, 1_000)  # A flow has at most 1,000 jobs.
    job = "a job of the flow"

    async def measure(self, testbed: Testbed, point: int, jobs: int) -> Figures:
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
                await testbed.call("run_flow_and_wait", {"jobs": flow, "wait_timeout": 600})
                count += 1

        before, begun = testbed.tree().seconds(), time.perf_counter()
        await together([caller() for _ in range(max(CALLERS // min(point, 10), 2))])
        return testbed.since(before, begun, count * point, [])


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
