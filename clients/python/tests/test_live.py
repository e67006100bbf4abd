"""Tests against a live server, in both faces."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from faces import SyncHero, in_thread

import hero as package
from hero import Hero, aio, errors, models
from hero.aio.methods import METHODS
from hero.testing import Server, serve


def test_one_line_runs_a_script(hero_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERO_SERVER", hero_server.url)
    assert package.run("40 + 2") == 42
    assert asyncio.run(aio.run("args.a", args={"a": [1, None]})) == [1, None]


def test_values_are_checked_by_the_type_of_the_caller(hero_client: Hero) -> None:
    assert hero_client.run("[1, 2]", result_type=list[int]) == [1, 2]
    for script, kind, says in [
        ("1", str, "is no str but of type int, 1: Input should be a valid string"),
        ("`x`", int, "is no int but of type str, 'x': Input should be a valid integer"),
        ("[1, `x`]", list[int], r"is no list\[int\] but of type list, \[1, 'x'\]: 1: Input should be a valid integer"),
        ("1", models.Job, "is no hero.models.Job but of type int"),
    ]:
        with pytest.raises(errors.UnexpectedAnswer, match=f"value of job .* {says}"):
            hero_client.run(script, result_type=kind)


def test_a_failed_job_is_an_error_with_all_that_is_known(hero_client: Hero) -> None:
    with pytest.raises(errors.JobFailed) as told:
        hero_client.run("fn deep() { throw #{message: `no`, price: 3} }\n\n  deep()")
    error = told.value
    assert (error.kind, error.message, error.line) == (models.ErrorKind.SCRIPT, "no", 1)
    assert error.column and error.stack == ["deep"] and error.data == {"message": "no", "price": 3}
    assert error.job_id and error.code == errors.Code.JOB_FAILED and "line 1" in str(error)


def test_a_wait_that_runs_out_names_the_job_which_goes_on(hero_client: Hero) -> None:
    # The job cannot end before the wait does.
    hero_client.pause_queue("osis")
    try:
        with pytest.raises(errors.WaitTimeout) as told:
            hero_client.run("7", wait_timeout=0.05)
    finally:
        hero_client.resume_queue("osis")
    assert told.value.job_id is not None
    assert hero_client.job(told.value.job_id).wait(wait_timeout=math.inf).value == 7


def test_a_job_is_followed_with_its_log_and_stopped(hero_client: Hero) -> None:
    job = hero_client.submit("print(`one`); job::progress(50, `half`); print(`two`); `done`", labels={"a": "b"})
    assert [item.text for item in job.logs() if item.type == "line"] == ["one", "two"]
    items = list(job.events(cursor="0-0"))
    statuses = [str(item.status) for item in items if item.type == "event"]
    assert statuses[-1] == "finished" and items[-1].type == "ended"
    assert job.wait().value == "done" and job.info().labels == {"a": "b"} and job.status() == "finished"
    other = hero_client.submit("sleep(60)")
    assert other.stop() in ("started", "error")
    with pytest.raises(errors.JobStopped) as told:
        other.wait()
    assert told.value.kind == "stopped"


def test_flows_run(hero_client: Hero) -> None:
    flow = hero_client.submit_flow({"a": {"script": "20"}, "b": models.FlowJobSpec(script="inputs.a + 22", depends_on=["a"])})
    assert str(flow.wait(wait_timeout=60).status) == "finished"
    assert [item.type for item in flow.events()][-1] == "ended"
    assert flow.info().flow_id == flow.id


def test_creates_give_times_and_models_as_python_has_them(hero_client: Hero) -> None:
    later = datetime(2099, 1, 1, tzinfo=timezone.utc)
    job_id = hero_client.create_job("1", run_at=later)
    hero_client.start_job(job_id)
    assert hero_client.get_job(job_id).status is models.JobStatus.SCHEDULED
    schedule = hero_client.create_schedule(models.JobSpecInput(script="1"), every=3600, overlap="queue")
    assert hero_client.delete_schedule(schedule.schedule_id)


def test_pages_and_models_show_in_a_notebook(hero_client: Hero) -> None:
    job = hero_client.submit("`<b>`", name="<i>")
    job.wait()
    page = hero_client.list_jobs(limit=3)
    assert "&lt;i&gt;" in page._repr_html_() and "<i>" not in page._repr_html_()
    assert "None" not in repr(job.info()) and job.id in repr(job)


def test_threads_share_a_client(hero_client: Hero) -> None:
    results: list[int] = []
    threads = [threading.Thread(target=lambda n=n: results.append(hero_client.run(f"{n} * 2"))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(results) == [n * 2 for n in range(8)]


def test_closing_ends_what_other_threads_wait_for(hero_server: Server) -> None:
    client = Hero(hero_server.url)
    job = client.submit("sleep(60)")
    told: list[BaseException] = []
    ready = threading.Barrier(3)

    def wait() -> None:
        ready.wait()
        try:
            job.wait()
        except errors.Error as error:
            told.append(error)

    def follow() -> None:
        try:
            with job.events() as events:
                next(events)
                ready.wait()
                list(events)
        except errors.Error as error:
            told.append(error)

    threads = [threading.Thread(target=work) for work in (wait, follow)]
    for thread in threads:
        thread.start()
    ready.wait()
    client.close()
    for thread in threads:
        thread.join(60)
    assert [type(error) for error in told] == [errors.Closed] * 2
    with Hero(hero_server.url) as other:
        other.stop_job(job.id)


def test_jobs_that_are_created_together_may_name_each_other(hero_client: Hero) -> None:
    first, second = str(uuid4()), str(uuid4())
    jobs = [{"script": "1", "job_id": first}, models.JobSpecInput(script="2", job_id=second, prerequisites=[first])]
    assert hero_client.create_jobs(jobs) == [first, second]
    assert [str(each) for each in hero_client.get_job(second).prerequisites or []] == [first]


def test_an_answer_of_megabytes_is_taken(hero_client: Hero) -> None:
    text = "x" * 700_000
    result = hero_client.run_and_wait("args", args=text)
    assert result.value == text and len(result.output) >= len(text), "more than websockets takes by itself"


def test_both_faces_have_every_method_with_the_same_defaults() -> None:
    import inspect

    for name in [*METHODS.values(), "run", "submit", "job", "flow", "submit_flow", "login", "connect", "close", "__init__"]:
        one, other = inspect.signature(getattr(Hero, name)), inspect.signature(getattr(aio.Hero, name))
        assert str(one).replace("hero.sync", "hero.aio") == str(other), name
    assert {name for name in dir(Hero) if not name.startswith("_")} == {name for name in dir(aio.Hero) if not name.startswith("_")}


async def test_who_is_cancelled_stops_waiting_and_the_job_if_asked(hero_server: Server) -> None:
    async with aio.Hero(hero_server.url) as hero:
        async with hero.subscribe_events() as events:
            running = asyncio.create_task(hero.run("sleep(60)", stop_on_cancel=True))
            async for event in events:
                if event.type == "event" and event.status == "started":
                    running.cancel()
                    break
        with pytest.raises(asyncio.CancelledError):
            await running
        assert event.type == "event"
        with pytest.raises(errors.JobStopped):
            await hero.wait_job(event.job_id)


INTERRUPTED = "hero.run('sleep(60)', name='interrupted')"
ELSEWHERE = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])"
"""Another thread than the one that calls takes the signal, as one does that comes just before the call sleeps: its sleep is not interrupted."""


@pytest.mark.parametrize(
    "program", [INTERRUPTED, f"h = hero.Hero(); h.ping(); {ELSEWHERE}; h.run('sleep(60)', name='interrupted', stop_on_cancel=True)"]
)
def test_ctrl_c_stops_the_job_of_a_program(hero_server: Server, hero_client: Hero, program: str) -> None:
    # A process that is started in the background ignores the signal, and so do its children.
    program = f"import hero, signal; signal.signal(signal.SIGINT, signal.default_int_handler); {program}"
    with hero_client.subscribe_events() as events:
        process = subprocess.Popen(
            [sys.executable, "-c", program], env={**os.environ, "HERO_SERVER": hero_server.url}, stderr=subprocess.PIPE
        )
        starts = (item for item in events if item.type == "event" and item.status == "started")
        # Jobs of other tests also start meanwhile.
        started = next(item for item in starts if hero_client.get_job(item.job_id).name == "interrupted")
        process.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in process.communicate(timeout=60)[1]
    with pytest.raises(errors.JobStopped):
        hero_client.wait_job(started.job_id)


def test_a_wait_may_be_a_timedelta_and_what_is_no_duration_is_told(hero_client: Hero) -> None:
    for short in (timedelta(milliseconds=10), 0.01):
        with pytest.raises(errors.WaitTimeout) as late:
            hero_client.run("sleep(5)", wait_timeout=short)
        with pytest.raises(errors.WaitTimeout):
            hero_client.job(str(late.value.job_id)).wait(wait_timeout=short)
    for odd in ("5m", "5", True, [1]):
        with pytest.raises(TypeError, match="a number of seconds or a"):
            hero_client.run("1", wait_timeout=odd)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
        with pytest.raises(TypeError, match="a number of seconds or a"):
            hero_client.run_and_wait("1", wait_timeout=odd)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_any_duration_of_a_call_may_be_a_timedelta(hero_client: Hero) -> None:
    day = timedelta(days=1)
    job = hero_client.create_job("1", timeout=timedelta(minutes=5), retention=day)
    made = hero_client.get_job(job)
    assert made.timeout == 300
    schedule = hero_client.create_schedule({"script": "1", "timeout": timedelta(minutes=2)}, every=day)
    assert schedule.every == 86400
    hero_client.delete_schedule(schedule.schedule_id)


async def test_many_calls_are_under_way_at_once(hero_server: Server) -> None:
    async with aio.Hero(hero_server.url) as hero:
        assert await asyncio.gather(*(hero.run(f"{n}") for n in range(50))) == list(range(50))


@pytest.fixture
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serve(["--login"]) as server:
        yield server


def test_tokens_and_rights(guarded: Server) -> None:
    with pytest.raises(errors.NotAuthenticated):
        Hero(guarded.url, token="hero_none").ping()
    with pytest.raises(errors.NotAuthenticated, match="give token=… or set HERO_TOKEN"):
        Hero(guarded.url).run("1")
    with pytest.raises(errors.NotAuthenticated, match="give token=… or set HERO_TOKEN"):
        list(Hero(guarded.url).subscribe_events())
    with Hero(f"unix://{guarded.data}/hero.sock") as operator:
        identity = operator.create_identity()
        operator.grant(identity.identity_id, "reader")
        token = operator.create_token(identity.identity_id)
        with Hero(guarded.url, token=token.secret) as reader:
            assert reader.whoami().identity_id == identity.identity_id
            with pytest.raises(errors.PermissionDenied, match="caller"):
                reader.run("1")
            operator.revoke_token(token.token_id)
            with pytest.raises(errors.NotAuthenticated):
                while True:
                    reader.whoami()


async def test_nothing_is_lost_when_the_server_is_killed_and_comes_back(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The server restarts with the same data directory and port: waits and subscriptions continue."""
    with tempfile.TemporaryDirectory(prefix="hero-") as home:
        data = Path(home)
        with serve(data=data) as server:
            port = server.url.rpartition(":")[2]
            hero = aio.Hero(server.url, reconnect=None)
            job = await hero.submit("for n in 0..40 { print(`${n}`); sleep(0.1); } `end`", retries=3, timeout=60)
            texts: list[str] = []
            some = asyncio.Event()
            following = asyncio.create_task(_follow(job, texts, some))
            waiting = asyncio.create_task(job.wait(wait_timeout=math.inf))
            await some.wait()
            server.process.kill()
            server.process.wait()
        with serve(data=data, listen=f"127.0.0.1:{port}"):
            assert (await waiting).value == "end"
            await following
            page = await hero.get_logs(job.id, limit=1000)
            assert texts == [line.text for line in page.lines], "each line once, none missing"
            await hero.close()


async def test_waits_go_on_when_the_server_ends_gracefully_and_comes_back(Hero: Any) -> None:
    """A server that ends answers all waits early, and the restarted one ends the jobs."""
    with tempfile.TemporaryDirectory(prefix="hero-") as home:
        data = Path(home)
        with serve(data=data) as server:
            hero = Hero(server.url, reconnect=None)
            client: Any = hero.sync if isinstance(hero, SyncHero) else hero

            def waits(wait: Callable[[], Any]) -> asyncio.Future[Any]:
                return asyncio.ensure_future(in_thread(wait) if isinstance(hero, SyncHero) else wait())

            await hero.pause_queue("osis")
            job_id = await hero.create_job("40")
            flow_id = await hero.create_flow({"a": {"script": "6"}})
            async with hero.subscribe_events() as events:
                await hero.start_job(job_id)
                await hero.start_flow(flow_id)
                waiting = [
                    waits(lambda: client.run("1")),
                    waits(lambda: client.run("2", wait_timeout=100)),
                    waits(lambda: client.run("3", wait_timeout=math.inf, stop_on_cancel=True)),
                    waits(lambda: client.job(job_id).wait()),
                    waits(lambda: client.job(job_id).wait(wait_timeout=100)),
                    waits(lambda: client.flow(flow_id).wait(wait_timeout=math.inf)),
                ]
                jobs: set[str] = set()
                async for event in events:
                    if event.type == "event" and event.status == "dispatched":
                        jobs.add(event.job_id)
                    if len(jobs) == 5:
                        break
            server.process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(server.process.wait, 60) == 0
        with serve(data=data, listen=f"127.0.0.1:{server.url.rpartition(':')[2]}"):
            assert not any(each.done() for each in waiting)
            await hero.resume_queue("osis")
            *ran, job, again, flow = await asyncio.gather(*waiting)
            assert (ran, job.value, again.value, str(flow.status)) == ([1, 2, 3], 40, 40, "finished")
            await hero.close()


async def _follow(job: aio.JobHandle, texts: list[str], some: asyncio.Event) -> None:
    async for item in job.logs():
        if item.type == "line":
            texts.append(item.text)
            if len(texts) == 5:
                some.set()
