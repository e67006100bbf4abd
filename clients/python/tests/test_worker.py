"""An actor in Python: its tasks, its leases, its end, and its jobs when the actor is killed."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from hero import Hero, JobHandle, errors, models
from hero.testing import Server, serve
from hero.worker import Worker
from hero.worker.store import Store

T = TypeVar("T")
LIVENESS = 90.0


def until(what: str, look: Callable[[], T | None]) -> T:
    """Returns the result of `look`, as soon as there is one."""
    end = time.monotonic() + LIVENESS
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"not seen in time: {what}")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(["--script-types", "pytasks"]) as server:
        yield server


@pytest.fixture
def hero(server: Server) -> Iterator[Hero]:
    with Hero(server.url) as client:
        yield client


class Actor:
    def __init__(self, server: Server, done: Path, concurrency: int = 4, lease: float = 30.0) -> None:
        self.done = done
        self.command = [sys.executable, str(Path(__file__).parent / "actor.py"), str(server.data), str(done), str(concurrency), str(lease)]
        self.process = subprocess.Popen(self.command)

    def lines(self) -> list[str]:
        return self.done.read_text().splitlines() if self.done.exists() else []

    def saw(self, line: str) -> None:
        until(line, lambda: any(each.startswith(line) for each in self.lines()) or None)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def again(self) -> None:
        self.process = subprocess.Popen(self.command)


@contextlib.contextmanager
def acting(server: Server, tmp_path: Path, concurrency: int = 4, lease: float = 30.0) -> Iterator[Actor]:
    actor = Actor(server, tmp_path / "done", concurrency, lease)
    try:
        yield actor
    finally:
        actor.kill()


def submit(hero: Hero, task: str, args: object = None, **more: object) -> JobHandle:
    return hero.submit(task, script_type="pytasks", args=args, **more)  # type: ignore[arg-type]


def test_tasks_get_their_args_and_give_values_and_errors(server: Server, hero: Hero, tmp_path: Path) -> None:
    with acting(server, tmp_path):
        assert hero.run("add", script_type="pytasks", args={"a": 40}) == 42
        assert hero.run("add", script_type="pytasks", args=[1, 1]) == 2
        assert hero.run("add", script_type="pytasks", args=5) == 7
        assert hero.run("how many words are these", script_type="pytasks") == 5
        for task, args, said in [
            ("fail", None, "ValueError: no luck"),
            ("add", {"c": 1}, "do not fit the task 'add'"),
            ("odd", None, "is no JSON"),
        ]:
            with pytest.raises(errors.JobFailed) as told:
                hero.run(task, script_type="pytasks", args=args)
            assert said in told.value.message and told.value.kind == "script"
        assert any(actor.script_type == "pytasks" for actor in hero.list_actors())


def test_what_cannot_be_written_fails_its_job_at_once_with_what_is_wrong_and_the_worker_goes_on(
    server: Server, hero: Hero, tmp_path: Path
) -> None:
    # The lease outlasts the test, so an end that is not recorded would never show up.
    with acting(server, tmp_path, lease=3600.0) as actor:
        for task, said in [
            ("lone", r"what the task 'lone' returned is no JSON: a text in it is no Unicode, which has no lone surrogates: "),
            ("lone raised", r"ValueError: a\ud800b"),
            ("deep", "what the task 'deep' returned is no JSON: something in it has itself within, or is nested too deep for JSON"),
            ("mute", "Mute"),
            ("mute inside", "what the task 'mute inside' returned is no JSON: Mute"),
        ]:
            with pytest.raises(errors.JobFailed) as told:
                submit(hero, task).wait(wait_timeout=LIVENESS)
            assert told.value.message.startswith(said) and told.value.kind == "script", told.value.message
        assert hero.run("add", script_type="pytasks", args=1) == 3
        assert actor.process.poll() is None


def test_a_task_logs_tells_how_far_it_is_and_its_secrets_are_masked(server: Server, hero: Hero, tmp_path: Path) -> None:
    with acting(server, tmp_path):
        job = submit(hero, "tell", env_vars={"KEY": "hunter2-and-more"})
        progress = [item.progress for item in job.events(cursor="0-0") if isinstance(item, models.EventNotice) and item.progress]
        assert [(each.value, each.text) for each in progress] == [(50, "half")]
        texts = [item.text for item in job.logs() if isinstance(item, models.LineNotice)]
        assert texts == ["the secret is ***", *(f"line {number}" for number in range(100))]
        assert job.wait().value == "h"


def test_several_jobs_run_at_once(server: Server, hero: Hero, tmp_path: Path) -> None:
    with acting(server, tmp_path, concurrency=6) as actor:
        jobs = [submit(hero, task, 60) for task in ("slow", "wait") for _ in range(3)]
        until("all six at once", lambda: len([line for line in actor.lines() if line.startswith("began")]) == 6 or None)
        for job in jobs:
            job.stop()
        for job in jobs:
            with pytest.raises(errors.JobStopped):
                job.wait()


def test_stops_and_time_limits_reach_tasks_also_those_that_do_not_listen(server: Server, hero: Hero, tmp_path: Path) -> None:
    with acting(server, tmp_path) as actor:
        for task in ("wait", "slow", "stubborn"):
            job = submit(hero, task, None if task == "stubborn" else 600)
            actor.saw(f"began {job.id}")
            job.stop()
            with pytest.raises(errors.JobStopped):
                job.wait()
        with pytest.raises(errors.JobFailed) as told:
            submit(hero, "wait", 600, timeout=0.5).wait()
        assert told.value.kind == "timeout"
        assert hero.run("add", script_type="pytasks", args=1) == 3, "the worker goes on"


def test_a_task_that_obeys_and_returns_nothing_has_no_result(server: Server, hero: Hero, tmp_path: Path) -> None:
    with acting(server, tmp_path) as actor:
        for task in ("obey", "catch"):
            stopped, partial = submit(hero, task), submit(hero, task, "half")
            for job in (stopped, partial):
                actor.saw(f"began {job.id}")
                job.stop()
            with pytest.raises(errors.JobStopped):
                stopped.wait()
            assert partial.wait().value == "half"
            with pytest.raises(errors.JobFailed) as told:
                submit(hero, task, timeout=0.5).wait()
            assert told.value.kind == "timeout"
        requeued = submit(hero, "obey")
        actor.saw(f"began {requeued.id}")
        actor.process.send_signal(signal.SIGTERM)
        assert actor.process.wait(60) == 0
        assert str(requeued.info().status) == "dispatched", "it runs again"
        requeued.stop()


def test_a_graceful_stop_lets_jobs_end_and_gives_the_rest_back(server: Server, hero: Hero, tmp_path: Path) -> None:
    with acting(server, tmp_path) as actor:
        short, long = submit(hero, "slow", 0.5), submit(hero, "wait", 600)
        actor.saw(f"began {short.id}")
        actor.saw(f"began {long.id}")
        late = None
        actor.process.send_signal(signal.SIGTERM)
        assert actor.process.wait(60) == 0
        assert short.wait().value == short.id
        info = long.info()
        assert str(info.status) == "dispatched", "given back, for another to run"
        assert str(long.explain().reason) == "draining", "its worker has said that it takes no more"
        late = submit(hero, "add", 1)
        actor.again()
        assert late.wait().value == 3, "a new one takes what came meanwhile"
        until("the long one again", lambda: len([line for line in actor.lines() if line.startswith(f"began {long.id}")]) == 2 or None)
        long.stop()


def test_every_job_runs_at_least_once_though_the_worker_is_killed_20_times(server: Server, hero: Hero, tmp_path: Path) -> None:
    """Each kill interrupts a job, which runs again. The third crash of a job would end it, so no job crashes that often here."""
    with acting(server, tmp_path, concurrency=2, lease=1.0) as actor:
        jobs: list[JobHandle] = []

        def may_die() -> list[models.Job] | None:
            """The jobs that this process runs, if it runs some and whatever dies with it has died once before at most."""
            mine = f"pytasks:default:{actor.process.pid}"
            left = [job for job in hero.list_jobs(limit=1000).jobs if job.name == "mortal" and str(job.status) != "finished"]
            # There is always another job, however long the check takes.
            jobs.extend(submit(hero, "slow", 0.3, timeout=60, name="mortal") for _ in range(10 - len(left)))
            running = [job for job in left if str(job.status) == "started" and job.actor == mine]
            once = all(job.attempt <= 1 or (job.attempt == 2 and job in running) for job in left)
            return running if once else None

        for _ in range(20):
            until("jobs that run and may die", may_die)
            actor.kill()
            actor.again()
        results = [job.wait(wait_timeout=LIVENESS) for job in jobs]
        assert [result.value for result in results] == [job.id for job in jobs]
        began = Counter(line.split()[1] for line in actor.lines() if line.startswith("began"))
        assert set(began) == {job.id for job in jobs}
        assert sum(result.attempt - 1 for result in results) >= 20, "each kill had a run die, which ran again"


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("{here}/nothing", "there is no such directory"),
        ("{here}/file", "is no data directory.*no directory"),
        ("{here}", "it has no redis.secret"),
        ("ws://127.0.0.1:8700", "a worker takes its jobs from Redis"),
        ("redis://127.0.0.1:port", "is no Redis of a hero server"),
        ("mailto://x:secret@y", "'mailto://y' is no Redis"),
    ],
)
def test_a_wrong_place_of_redis_is_told_with_what_to_pass(tmp_path: Path, place: str, why: str) -> None:
    (tmp_path / "file").touch()
    worker = Worker("pytasks", redis=place.format(here=tmp_path))
    worker.script(len)
    with pytest.raises(errors.ConnectError, match=why) as told:
        worker.run()
    assert "pass the data directory" in str(told.value) and "redis://" in str(told.value)


def test_a_redis_that_wants_another_password_is_told_and_not_asked_again(server: Server) -> None:
    for login in ("", "unix://:hunter2@"):
        worker = Worker("pytasks", redis=f"{login or 'unix://'}{server.data}/redis.sock")
        worker.script(len)
        with pytest.raises(errors.ConnectError, match=r"does not let this worker in .*the data directory") as told:
            worker.run()
        assert str(server.data) in str(told.value) and "hunter2" not in str(told.value)


def test_a_heartbeat_that_is_never_answered_does_not_hold_up_the_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker("pytasks", redis=str(server.data), instance=8)
    worker.script(len)

    async def never(_store: Store, _said: str) -> None:
        worker.stop()
        await asyncio.Event().wait()

    async def serves() -> None:
        await asyncio.wait_for(worker.serve(), LIVENESS)

    monkeypatch.setattr(Store, "present", never)
    asyncio.run(serves())


def test_a_worker_without_tasks_says_how_to_register_one() -> None:
    with pytest.raises(errors.Error, match=r"has no tasks: register functions with @worker\.task"):
        Worker("pytasks").run()


def test_a_worker_says_in_one_line_what_it_takes_and_where(server: Server) -> None:
    program = f"""
from hero.worker import Worker
worker = Worker("pytasks", redis={str(server.data)!r}, concurrency=3, instance=7)
worker.task("add")(print)
worker.script(len)
worker.run()
"""
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert "pytasks:default:7 takes jobs of the script type pytasks" in said
        assert f"from {server.data}, 3 at once; tasks: add, and any other script" in said
    finally:
        process.terminate()
        assert process.wait(60) == 0
        process.communicate()
