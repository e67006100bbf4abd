"""Broken connections: servers that are absent, different, older, leave during a call or send too much; and the client's reaction."""

from __future__ import annotations

import asyncio
import json
import math
import re
import select
import socket
import threading
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from faces import SyncHero, in_thread
from fake import Talk, fake, raw, slow
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.sync.client import ClientConnection
from websockets.uri import parse_uri

from hero import errors, models
from hero._core.link import Beginning, address_of, host_of
from hero.aio import Hero

JOB = "d89ab59b-b3f5-4480-8b9e-72c165c1585c"
FAST: dict[str, Any] = {"reconnect": 5, "heartbeat": 0}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def test_a_server_that_is_not_there_is_told_at_once_with_what_to_do(Hero: Any) -> None:
    url = f"ws://127.0.0.1:{free_port()}"
    with pytest.raises(errors.ConnectError) as told:
        await Hero(url).ping()
    assert url in str(told.value) and "hero serve" in str(told.value) and "HERO_SERVER" in str(told.value)


@pytest.mark.parametrize(
    "url",
    [
        "ws://me:secret@h:8700",
        "https://me:secret@h/hero",
        "me:secret@h:8700",
        "me:secret@h",
        "ws://:secret@h",
        "ftp://me:secret@h",
        "ws://me:se/secret@h",
        "ws://me:12/secret@h",
        "ws://me:?secret@h:0",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(Hero: Any, url: str) -> None:
    with pytest.raises(errors.ConnectError) as told:
        Hero(url)
    assert "secret" not in str(told.value) and "'h" in str(told.value) and "HERO_TOKEN" in str(told.value)


ADDRESSES = json.loads((Path(__file__).parents[2] / "addresses.json").read_text())


@pytest.mark.parametrize(("given", "meant"), ADDRESSES["read"].items())
def test_an_address_means_the_same_in_each_client(given: str, meant: str) -> None:
    assert address_of(given) == meant


@pytest.mark.parametrize("url", [*ADDRESSES["wrong"], "unix://"])
def test_what_is_no_address_is_told_when_the_client_is_made(Hero: Any, url: str) -> None:
    with pytest.raises(errors.ConnectError, match="ws://"):
        Hero(url)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"buffer": 0}, "buffer is 1 or more, not 0"),
        ({"buffer": -1}, "buffer is 1 or more"),
        ({"buffer": "x"}, "buffer is a whole number, not 'x'"),
        ({"max_size": 0}, "max_size is 1 or more"),
        ({"max_size": None}, "max_size is a whole number"),
        ({"reconnect": -1}, "reconnect is 0 or more, not -1; None is endless"),
        ({"reconnect": True}, "reconnect is a whole number"),
        ({"call_timeout": 0}, "call_timeout is more than 0 seconds, not 0; math.inf is no limit"),
        ({"call_timeout": math.nan}, "call_timeout is a number of seconds, not nan"),
        ({"call_timeout": "5"}, "call_timeout is a number of seconds or a datetime.timedelta, not '5'"),
        ({"connect_timeout": timedelta(0)}, "connect_timeout is more than 0 seconds"),
        ({"heartbeat": -1}, "heartbeat is 0 seconds or more, not -1; 0 never asks"),
    ],
    ids=str,
)
async def test_an_option_out_of_its_range_is_told_when_the_client_is_made(Hero: Any, option: dict[str, Any], says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(says)):
        Hero("ws://127.0.0.1:1", **option)


async def test_a_wait_of_no_number_is_told_before_anything_is_sent(Hero: Any) -> None:
    client = Hero(f"ws://127.0.0.1:{free_port()}")
    with pytest.raises(ValueError, match="wait_timeout is a number of seconds, not nan"):
        await client.run("1", wait_timeout=math.nan)


@pytest.mark.parametrize("where", ["tcp", "unix"])
@pytest.mark.parametrize("most", [math.inf, 1e10], ids=str)
async def test_no_limit_is_a_timeout_too(Hero: Any, where: str, most: float, tmp_path: Path) -> None:
    async def script(talk: Talk) -> None:
        await talk.answer(await talk.call(), "pong")
        await talk.socket.wait_closed()

    no_limit = {"call_timeout": math.inf, "connect_timeout": most, "heartbeat": math.inf}
    at = fake(script) if where == "tcp" else slow(str(tmp_path / "s"), 64 * 1024, 0)
    async with at as url, Hero(url, **no_limit) as hero:
        assert await hero.ping() == "pong"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"* OK IMAP4 ready\r\n",
    ],
)
async def test_a_server_of_another_kind_is_no_hero(Hero: Any, answer: bytes) -> None:
    async with raw(answer) as url:
        with pytest.raises(errors.NotHero, match="no hero server"):
            await Hero(url).ping()


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", r"speaks no HTTP; it sent b.SSH-2\.0-OpenSSH_9\.2"),
        (b"RFB 003.008\n", "speaks no HTTP"),
        (b"\xff\xfd\x01", "speaks no HTTP"),
        (b"HTTP/1.0 200 OK\r\n\r\n", "does not speak WebSocket"),
    ],
    ids=["line", "odd line", "no line", "old HTTP"],
)
async def test_a_server_that_speaks_no_http_and_stays_is_told_at_once(Hero: Any, said: bytes, says: str) -> None:
    over = asyncio.Event()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await over.wait()
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        # The server never ends the connection.
        with pytest.raises(errors.NotHero, match=says):
            await Hero(f"ws://127.0.0.1:{port}", connect_timeout=30.0).ping()
        over.set()


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "speaks no HTTP"),
        (b"HTTP/1.0 200 OK\r\n\r\n", "does not speak WebSocket"),
        (b"HTTP/1.1 302 Found\r\nlocation: ws://h\r\ncontent-length: 0\r\n\r\n", "sends to ws://h "),
    ],
    ids=["line", "old HTTP", "redirect"],
)
async def test_what_a_server_says_before_it_is_asked_is_told(monkeypatch: pytest.MonkeyPatch, said: bytes, says: str) -> None:
    ask = ClientConnection.handshake

    def late(connection: ClientConnection, *given: Any, **named: Any) -> None:
        # As on a busy machine: the other thread reads everything before this one writes.
        connection.recv_events_thread.join(30.0)
        ask(connection, *given, **named)

    monkeypatch.setattr(ClientConnection, "handshake", late)

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(errors.NotHero, match=says):
            await SyncHero(f"ws://127.0.0.1:{port}").ping()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed_and_its_target_is_told(Hero: Any, status: int) -> None:
    seen: list[str] = []

    async def other(talk: Talk) -> None:
        seen.append("other")
        await talk.answer(await talk.call(), "pong")

    def away(connection: Any, request: Any) -> Any:
        seen.append(request.path)
        response = connection.respond(status, "")
        response.headers["Location"] = target
        return response

    async with fake(other) as elsewhere, fake(other, process_request=away) as url:
        others = [elsewhere, "https://hero.example/", "http://["]
        shown = {"/hero": f"{url}/hero", **dict(zip(others, others, strict=True))}
        for target in shown:
            with pytest.raises(errors.NotHero) as told:
                await Hero(url, token="hero_x").ping()
            says = f"at {url} sends to {shown[target]} (HTTP {status}), which is not followed; name that address if it is yours"
            assert says in str(told.value), told.value
    assert seen == ["/"] * 4


async def test_a_websocket_server_that_speaks_something_else_is_no_hero(Hero: Any) -> None:
    async def chat(talk: Talk) -> None:
        await talk.socket.recv()
        await talk.socket.send("hello there")
        await talk.socket.wait_closed()

    async with fake(chat) as url, Hero(url, **FAST) as hero:
        with pytest.raises(errors.NotHero, match="hello there"):
            await hero.ping()


@pytest.mark.parametrize(
    "answer",
    [
        {"id": "1", "result": "pong"},
        {"id": None, "error": {"code": -32700, "message": "Parse error"}},
        {"id": True, "result": "pong"},
        {"id": 1},
    ],
    ids=["text", "null", "true", "no result"],
)
async def test_an_answer_to_none_of_the_calls_is_told_at_once(Hero: Any, answer: dict[str, Any]) -> None:
    async def script(talk: Talk) -> None:
        await talk.socket.recv()
        await talk.socket.send(json.dumps({"jsonrpc": "2.0", **answer}))
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, call_timeout=30.0, **FAST) as hero:
        with pytest.raises(errors.NotHero, match="answered none of the calls"):
            await hero.ping()


async def test_a_token_that_is_wrong_or_has_expired_is_told_and_not_tried_again(Hero: Any) -> None:
    async with raw(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 13\r\n\r\nno such token") as url:
        with pytest.raises(errors.NotAuthenticated, match="hero token create"):
            await Hero(url, token="hero_x").ping()


async def test_a_token_that_expires_ends_what_waits_with_the_reason(Hero: Any) -> None:
    async def expire(talk: Talk) -> None:
        await talk.call()
        await talk.socket.close(1008, "the token was revoked or has expired")

    def gate(connection: Any, request: Any) -> Any:
        nonlocal seen
        seen += 1
        return None if seen == 1 else connection.respond(401, "no such token")

    seen = 0
    async with fake(expire, process_request=gate) as url, Hero(url, token="hero_x", **FAST) as hero:
        with pytest.raises(errors.NotAuthenticated):
            await hero.get_job("d89ab59b-b3f5-4480-8b9e-72c165c1585c")


@pytest.mark.parametrize("refusal", ["at the door", "in an answer", "of a function"])
async def test_a_token_that_expires_during_a_run_leaves_its_outcome_unknown(Hero: Any, refusal: str) -> None:
    sent: list[dict[str, Any]] = []

    async def expire(talk: Talk) -> None:
        call = await talk.call()
        sent.append(call["params"])
        if talk.number == 0:
            return await talk.socket.close(1008, "the token was revoked or has expired")
        await talk.refuse(call, errors.Code.NOT_AUTHENTICATED, "not authenticated")
        await talk.socket.wait_closed()

    def gate(connection: Any, request: Any) -> Any:
        refuses = sent and refusal == "at the door"
        return connection.respond(401, "no such token") if refuses else None

    def token() -> str:
        if sent and refusal == "of a function":
            raise LookupError("no token is left")
        return "hero_x"

    async with fake(expire, process_request=gate) as url, Hero(url, token=token, **FAST) as hero:
        with pytest.raises(errors.OutcomeUnknown, match="had been sent before") as told:
            await hero.run("1")
    assert isinstance(told.value.__cause__, LookupError if refusal == "of a function" else errors.NotAuthenticated)
    assert told.value.method == "run_and_wait" and len(told.value.params["idempotency_key"]) == 32
    assert {**told.value.params, "wait_timeout": None} == {**sent[0], "wait_timeout": None}


async def test_a_run_whose_wait_cannot_go_on_names_its_job(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        await talk.make_job(await talk.call(), JOB)
        await talk.call()
        await talk.socket.close(1008, "the token was revoked or has expired")

    def gate(connection: Any, request: Any) -> Any:
        nonlocal seen
        seen += 1
        return connection.respond(401, "no such token") if seen % 2 == 0 else None

    async with fake(script, process_request=gate) as url:
        for options in {}, {"stop_on_cancel": True}:
            seen = 0
            async with Hero(url, token="hero_x", **FAST) as hero:
                with pytest.raises(errors.OutcomeUnknown, match=f"Job {JOB} was made") as told:
                    await hero.run("1", context_id=7, **options)
            assert (told.value.method, told.value.params) == ("wait_job", {"job_id": JOB, "context_id": 7})
            assert isinstance(told.value.__cause__, errors.NotAuthenticated)


async def test_a_run_whose_result_is_too_large_names_its_job(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        await talk.make_job(await talk.call(), JOB)
        await talk.answer(await talk.call(), {"job_id": JOB, "output": "x" * 60_000})
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, max_size=50_000, **FAST) as hero:
        with pytest.raises(errors.OutcomeUnknown, match=f"Job {JOB} was made") as told:
            await hero.run("1", stop_on_cancel=True)
    assert (told.value.method, told.value.params) == ("wait_job", {"job_id": JOB})
    assert isinstance(told.value.__cause__, errors.AnswerTooLarge)


async def test_a_server_that_closes_before_it_answers_is_told_by_its_reason(Hero: Any) -> None:
    async def expire(talk: Talk) -> None:
        await talk.socket.close(1008, "the token was revoked or has expired")

    async with fake(expire) as url, Hero(url, token="hero_x", reconnect=1, heartbeat=0) as hero:
        with pytest.raises(errors.ConnectError) as told:
            await hero.ping()
    assert "1008: the token was revoked or has expired" in str(told.value) and "hero server?" not in str(told.value)


async def test_a_function_gives_a_new_token_to_each_connection(Hero: Any) -> None:
    shown: list[str] = []

    async def script(talk: Talk) -> None:
        assert talk.socket.request is not None
        shown.append(talk.socket.request.headers["Authorization"])
        call = await talk.call()
        if talk.number == 0:
            return talk.cut()
        await talk.answer(call, "pong")
        await talk.socket.wait_closed()

    tokens = iter(["one", "two"])
    async with fake(script) as url, Hero(url, token=lambda: next(tokens), **FAST) as hero:
        assert await hero.ping() == "pong"
    assert shown == ["Bearer one", "Bearer two"]


async def test_an_older_server_is_told_by_its_version(Hero: Any) -> None:
    async def older(talk: Talk) -> None:
        while True:
            call = await talk.call()
            if call["method"] == "server_info":
                await talk.answer(call, {"version": "0.0.7"})
            else:
                await talk.refuse(call, errors.Code.METHOD_NOT_FOUND, "there is no such method")

    async with fake(older) as url, Hero(url, **FAST) as hero:
        with pytest.raises(errors.MethodNotFound, match=r"0\.0\.7.*no method list_queues.*newer server"):
            await hero.list_queues()


async def test_an_answer_of_another_version_is_told(Hero: Any) -> None:
    async def other(talk: Talk) -> None:
        await talk.answer(await talk.call(), {"jobs": "none"})
        await talk.socket.wait_closed()

    async with fake(other) as url, Hero(url, **FAST) as hero:
        with pytest.raises(errors.UnexpectedAnswer, match="versions differ"):
            await hero.list_jobs()


async def test_words_and_fields_that_a_newer_server_has_are_taken(Hero: Any) -> None:
    async def newer(talk: Talk) -> None:
        await talk.answer(await talk.call(), "hibernating")
        call = await talk.call()
        await talk.answer(call, {"job_id": call["params"]["job_id"], "status": "finished", "output": "1", "attempt": 1, "mood": "fine"})
        await talk.socket.wait_closed()

    async with fake(newer) as url, Hero(url, **FAST) as hero:
        assert str(await hero.get_status("d89ab59b-b3f5-4480-8b9e-72c165c1585c")) == "hibernating"
        result = await hero.get_result("d89ab59b-b3f5-4480-8b9e-72c165c1585c")
        assert result.model_extra == {"mood": "fine"}


async def test_reads_are_sent_again_after_a_break(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        call = await talk.call()
        if talk.number < 3:
            return talk.cut()
        await talk.answer(call, "finished")
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        assert await hero.get_status("d89ab59b-b3f5-4480-8b9e-72c165c1585c") == "finished"


async def test_a_change_is_not_sent_again_and_the_error_says_what_is_known(Hero: Any) -> None:
    calls: list[str] = []

    async def script(talk: Talk) -> None:
        while True:
            call = await talk.call()
            calls.append(call["method"])
            if call["method"] != "ping":
                return talk.cut()
            await talk.answer(call, "pong")

    async with fake(script) as url, Hero(url, **FAST) as hero:
        with pytest.raises(errors.OutcomeUnknown) as told:
            await hero.stop_job("d89ab59b-b3f5-4480-8b9e-72c165c1585c")
        assert told.value.method == "stop_job" and "not sent again" in str(told.value)
        assert await hero.ping() == "pong", "the connection came back"
    assert calls == ["stop_job", "ping"]


async def test_creates_are_sent_again_with_the_same_key(Hero: Any) -> None:
    sent: list[dict[str, Any]] = []

    async def script(talk: Talk) -> None:
        call = await talk.call()
        sent.append(call["params"])
        if talk.number in (0, 2):
            return talk.cut()
        await talk.answer(call, ["a", "b"] if call["method"] == "create_jobs" else "a")

    async with fake(script) as url, Hero(url, **FAST) as hero:
        assert await hero.create_job("1") == "a"
        assert await hero.create_jobs([{"script": "1"}, {"script": "2", "idempotency_key": "mine"}]) == ["a", "b"]
    assert sent[0] == sent[1] and len(sent[0]["idempotency_key"]) == 32
    keys = [job["idempotency_key"] for job in sent[2]["jobs"]]
    assert sent[2] == sent[3] and keys[1] == "mine" and len(keys[0]) == 32


async def test_jobs_that_may_name_each_other_get_no_keys_and_are_sent_once(Hero: Any) -> None:
    sent: list[dict[str, Any]] = []

    async def script(talk: Talk) -> None:
        call = await talk.call()
        sent.append(call["params"])
        if talk.number == 0:
            await talk.answer(call, [JOB, "b"])
            call = await talk.call()
            sent.append(call["params"])
        talk.cut()

    jobs = [models.JobSpecInput(script="1", job_id=JOB), {"script": "2", "prerequisites": [JOB]}]
    async with fake(script) as url, Hero(url, **FAST) as hero:
        assert await hero.create_jobs(jobs) == [JOB, "b"]
        with pytest.raises(errors.OutcomeUnknown, match="not sent again") as told:
            await hero.create_jobs(jobs)
    asked = {"jobs": [{"script": "1", "job_id": JOB}, {"script": "2", "prerequisites": [JOB]}]}
    assert sent == [asked, asked] and told.value.params == asked


async def test_a_job_with_an_id_and_a_key_leaves_keys_to_the_others(Hero: Any) -> None:
    sent: list[dict[str, Any]] = []

    async def script(talk: Talk) -> None:
        call = await talk.call()
        sent.append(call["params"])
        if talk.number == 0:
            return talk.cut()
        await talk.answer(call, [JOB, "b"])

    async with fake(script) as url, Hero(url, **FAST) as hero:
        made = await hero.create_jobs([{"script": "1", "job_id": JOB, "idempotency_key": "mine"}, {"script": "2", "job_id": None}])
    assert made == [JOB, "b"] and sent[0] == sent[1]
    assert [len(job["idempotency_key"]) for job in sent[0]["jobs"]] == [4, 32]


async def test_a_create_whose_server_does_not_come_back_says_that_it_may_be_done_and_by_which_key(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        await talk.call()
        gone.set()
        talk.cut()

    gone = asyncio.Event()
    async with fake(script) as url:
        hero = Hero(url, reconnect=2, heartbeat=0)
        creating = asyncio.create_task(hero.create_job("1"))
        await gone.wait()
    with pytest.raises(errors.OutcomeUnknown, match="made again") as told:
        await creating
    assert len(told.value.params["idempotency_key"]) == 32
    await hero.close()


@pytest.mark.parametrize("name", ["RATE_LIMITED", "QUEUE_FULL", "STORE_UNAVAILABLE", "UNKNOWN_SCRIPT_TYPE", "METHOD_NOT_FOUND"])
async def test_the_refusal_of_a_create_says_nothing_of_the_time_before(Hero: Any, name: str) -> None:
    code = errors.Code[name]
    sent: list[dict[str, Any]] = []

    async def script(talk: Talk) -> None:
        while True:
            call = await talk.call()
            sent.append(call["params"])
            if talk.number == 0:
                return talk.cut()
            await talk.refuse(call, code, "not now")

    async with fake(script) as url, Hero(url, **FAST) as hero:
        with pytest.raises(errors.OutcomeUnknown, match="had been sent before") as told:
            await hero.create_job("1")
        with pytest.raises(errors.CLASSES[code]):
            await hero.create_job("1")
    assert sent[0] == sent[1] == told.value.params and len(sent[0]["idempotency_key"]) == 32
    assert isinstance(told.value.__cause__, errors.CLASSES[code])


@pytest.mark.parametrize("code", [errors.Code.JOB_FAILED, errors.Code.JOB_STOPPED, errors.Code.IDEMPOTENCY_REUSED])
async def test_an_error_of_the_job_itself_is_that_of_a_run_that_was_sent_again(Hero: Any, code: errors.Code) -> None:
    async def script(talk: Talk) -> None:
        call = await talk.call()
        if talk.number == 0:
            return talk.cut()
        await talk.refuse(call, code, "it says so", {"job_id": JOB})
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        with pytest.raises(errors.CLASSES[code], match="it says so"):
            await hero.run("1")


async def test_a_wait_goes_on_for_what_is_left_of_it(Hero: Any) -> None:
    asked: list[float] = []

    async def script(talk: Talk) -> None:
        call = await talk.call()
        asked.append(call["params"]["wait_timeout"])
        if talk.number == 0:
            await asyncio.sleep(0.3)
            return talk.cut()
        await talk.answer(call, {"job_id": "x", "status": "finished", "output": "1", "value": 1, "attempt": 1})

    async with fake(script) as url, Hero(url, **FAST) as hero:
        assert await hero.run("1", wait_timeout=90) == 1
    assert asked[0] == 90 and 0 < asked[1] <= 89.7


FLOW: dict[str, Any] = {
    "flow_id": 1,
    "status": "finished",
    "context_id": 0,
    "caller_id": "",
    "on_failure": "stop",
    "stop_requested": False,
    "created_at": "2026-11-21T10:00:00Z",
    "updated_at": "2026-11-21T10:00:00Z",
    "jobs": [],
    "result": {},
    "truncated": False,
    "graph": "",
}


def wait_by(client: Any, way: str, given: float | None) -> Any:
    match way:
        case "run":
            return client.run("1", wait_timeout=given)
        case "run and stop":
            return client.run("1", wait_timeout=given, stop_on_cancel=True)
        case "job":
            return client.job(JOB).wait(wait_timeout=given)
    return client.flow(1).wait(wait_timeout=given)


@pytest.mark.parametrize("given", [None, 30, math.inf], ids=str)
async def test_a_wait_that_a_server_ends_early_goes_on_until_its_own_deadline(Hero: Any, given: float | None) -> None:
    asked: list[tuple[str, float | None]] = []

    async def ends(talk: Talk) -> None:
        for _ in range(2 if talk.number == 0 else 1):
            call = await talk.call()
            asked.append((call["method"], call["params"].get("wait_timeout")))
            if call["method"] == "create_job":
                await talk.answer(call, JOB)
            elif talk.number == 0:
                await talk.refuse(call, errors.Code.WAIT_TIMEOUT, "this server ends", {"job_id": JOB, "flow_id": 1})
        if talk.number == 0:
            return await talk.socket.close(1001)
        value = {"job_id": JOB, "status": "finished", "output": "1", "value": 1, "attempt": 1}
        await talk.answer(call, FLOW if call["method"] == "wait_flow" else value)
        await talk.socket.wait_closed()

    for way, first, then in [
        ("run", "run_and_wait", "wait_job"),
        ("run and stop", "create_job", "wait_job"),
        ("job", "wait_job", "wait_job"),
        ("flow", "wait_flow", "wait_flow"),
    ]:
        asked.clear()
        async with fake(ends) as url, Hero(url, **FAST) as hero:
            client: Any = hero.sync if isinstance(hero, SyncHero) else hero
            wait = partial(wait_by, client, way, given)
            await (in_thread(wait) if isinstance(hero, SyncHero) else wait())
        methods, waits = zip(*asked, strict=True)
        assert methods == (first, then, then), way
        longest = {None: 120.0, 30: 30.0, math.inf: 3600.0}[given]
        assert all(wait is None or 0.0 <= wait <= longest for wait in waits) and waits[-1] > longest - 25.0, (way, waits)


async def test_the_deadline_of_a_wait_is_that_of_the_caller_and_no_other(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        call = await talk.call()
        await asyncio.sleep(0.5)
        await talk.answer(call, {"job_id": "x", "status": "finished", "output": "1", "attempt": 1})
        await talk.call()
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, call_timeout=0.2, **FAST) as hero:
        assert (await hero.wait_job("d89ab59b-b3f5-4480-8b9e-72c165c1585c", wait_timeout=60)).output == "1"
        with pytest.raises(errors.CallTimeout, match="get_status was not answered"):
            await hero.get_status("d89ab59b-b3f5-4480-8b9e-72c165c1585c")


async def test_an_answer_that_is_too_large_is_an_error_and_not_asked_for_again(Hero: Any) -> None:
    calls = 0

    async def script(talk: Talk) -> None:
        nonlocal calls
        call = await talk.call()
        calls += 1
        await talk.answer(call, "x" * (100_000 if calls == 1 else 10))
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, max_size=50_000, **FAST) as hero:
        with pytest.raises(errors.AnswerTooLarge, match="max_size"):
            await hero.fetch_nonce("04")
        assert await hero.fetch_nonce("04") == "x" * 10


async def test_an_answer_that_is_too_large_is_that_of_one_call_and_the_others_go_on(Hero: Any) -> None:
    sent: list[str] = []

    async def script(talk: Talk) -> None:
        calls = [await talk.call() for _ in range(4 if talk.number == 0 else 2)]
        sent.extend(call["method"] for call in calls)
        for call in calls:
            if call["method"] == "fetch_nonce":
                await talk.answer(call, "x" * 100_000)
                return await talk.socket.wait_closed()
        for call in calls:
            if call["method"] == "get_status":
                await talk.answer(call, "finished")
            else:
                await talk.answer(call, {"job_id": JOB, "status": "finished", "output": "7", "value": 7, "attempt": 1})
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, max_size=50_000, **FAST) as hero:
        calls = hero.run("sleep(3); 7"), hero.get_status(JOB), hero.stop_job(JOB), hero.fetch_nonce("04")
        ran, status, stopped, nonce = await asyncio.gather(*calls, return_exceptions=True)
    assert (ran, status) == (7, "finished"), "they were sent again"
    assert isinstance(stopped, errors.OutcomeUnknown) and "larger than 50000 bytes" in str(stopped)
    assert isinstance(nonce, errors.AnswerTooLarge)
    assert sorted(sent) == sorted(["run_and_wait", "get_status", "stop_job", "fetch_nonce", "run_and_wait", "get_status"])


@pytest.mark.parametrize(
    ("answer", "cause"),
    [('{"jsonrpc":"2.0","result":1}', errors.NotHero), ("<html>", errors.NotHero), ("x" * 60_000, errors.AnswerTooLarge), ("", None)],
    ids=["of no call", "no JSON", "large", "large, of this call"],
)
async def test_an_answer_that_cannot_be_read_leaves_the_outcome_of_a_change_unknown(Hero: Any, answer: str, cause: Any) -> None:
    sent: list[dict[str, Any]] = []

    async def script(talk: Talk) -> None:
        await talk.answer(await talk.call(), "pong")
        call = await talk.call()
        sent.append(call["params"])
        await talk.socket.send(answer) if answer else await talk.answer(call, "x" * 60_000)
        await talk.socket.wait_closed()

    cause = cause or errors.AnswerTooLarge
    async with fake(script) as url, Hero(url, max_size=50_000, **FAST) as hero:
        calls = {"create_job": hero.create_job, "run_and_wait": hero.run, "delete_job": hero.delete_job}
        for method, call in calls.items():
            await hero.ping()
            with pytest.raises(errors.OutcomeUnknown, match="not known") as told:
                await call(JOB)
            assert isinstance(told.value.__cause__, cause) and str(told.value.__cause__) in str(told.value)
            assert (told.value.method, told.value.params) == (method, sent[-1])
            assert ("by the `idempotency_key`" in str(told.value)) == ("idempotency_key" in sent[-1]) == (method != "delete_job")
        await hero.ping()
        with pytest.raises(cause):
            await hero.get_status(JOB)


@pytest.mark.parametrize("size", [200, 70_000])
def test_whose_message_was_too_large_is_known_wherever_the_network_parts_it(size: int) -> None:
    text = b'{"jsonrpc":"2.0","id":17,"result":"' + b"x" * size + b'"}'
    small = Frame(Opcode.TEXT, b'{"jsonrpc":"2.0","id":16,"result":""}').serialize(mask=False)
    sent = small + Frame(Opcode.TEXT, text).serialize(mask=False)
    for at in range(1, 120):
        protocol = ClientProtocol(parse_uri("ws://x"), state=State.OPEN, max_size=100)
        beginning = Beginning(protocol)
        for part in sent[:at], sent[at : at + 3], sent[at + 3 :]:
            protocol.receive_data(part)
        assert beginning.whose() == 17, at


async def test_a_message_that_is_too_large_for_the_server_is_not_sent_again(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        await talk.socket.close(1009, "larger than 32 times max_request")

    async with fake(script, max_size=1000) as url, Hero(url, **FAST) as hero:
        with pytest.raises(errors.RequestTooLarge, match="too large"):
            await hero.create_job("x" * 5000)


async def test_a_message_that_is_too_large_for_the_server_is_that_of_one_call_and_the_others_go_on(Hero: Any) -> None:
    under_way = asyncio.Event()

    async def script(talk: Talk) -> None:
        call = await talk.call()
        if talk.number == 0:
            under_way.set()
            return await talk.socket.wait_closed()
        await talk.answer(call, "finished")
        await talk.socket.wait_closed()

    async with fake(script, max_size=1000) as url, Hero(url, **FAST) as hero:
        status = asyncio.ensure_future(hero.get_status(JOB))
        await under_way.wait()
        with pytest.raises(errors.RequestTooLarge, match="too large"):
            await hero.create_job("x" * 5000)
        assert await status == "finished", "it was sent again"


async def test_attempts_are_bounded_if_no_message_ever_comes(Hero: Any) -> None:
    """An open connection does not yet count as a working one."""
    opened = 0

    async def slam(talk: Talk) -> None:
        nonlocal opened
        opened += 1
        talk.cut()

    async with fake(slam) as url:
        hero = Hero(url, reconnect=3, heartbeat=0)
        with pytest.raises(errors.ConnectError):
            await hero.ping()
        await hero.close()
    assert opened == 4, "the first, and three more"


async def test_backoff_grows_until_a_message_arrives() -> None:
    from hero._core.call import Options
    from hero._core.session import pause

    options = Options(url="ws://x", backoff=1.0, longest_backoff=8.0)
    spread = [[pause(options, failures) for _ in range(300)] for failures in range(6)]
    for failures, pauses in enumerate(spread):
        bound = min(8.0, 2.0**failures)
        assert 0 <= min(pauses) < bound * 0.2 and bound * 0.8 < max(pauses) <= bound, "all of it is jitter"


async def test_a_server_that_is_silent_is_found_out_by_a_ping(Hero: Any) -> None:
    pinged = 0

    async def script(talk: Talk) -> None:
        nonlocal pinged
        call = await talk.call()
        if talk.number > 0:
            await talk.answer(call, "finished")
        while (await talk.call())["method"] == "ping":
            pinged += 1

    async with fake(script) as url, Hero(url, heartbeat=0.5, reconnect=None) as hero:
        assert await hero.get_status("d89ab59b-b3f5-4480-8b9e-72c165c1585c") == "finished"
    assert pinged >= 1


async def test_a_server_that_reads_nothing_holds_up_nobody_for_longer_than_an_answer_may_take(Hero: Any) -> None:
    """The buffers fill up, so the client can send nothing, not even the ping of the heartbeat, which is off here."""

    over = asyncio.Event()

    async def deaf(talk: Talk) -> None:
        talk.socket.transport.pause_reading()
        await over.wait()
        talk.cut()

    async with fake(deaf) as url:
        hero = Hero(url, call_timeout=1.0, reconnect=0, heartbeat=0)
        # The server may have read part of the call, so its outcome is unknown.
        with pytest.raises((errors.CallTimeout, errors.OutcomeUnknown)):
            await hero.set_object("notes", {"text": "x" * 20_000_000})
        over.set()
        await hero.close()


async def test_a_server_that_reads_on_only_once_it_is_read_gets_all(Hero: Any) -> None:
    """The client reads answers while a call waits to be sent, however large both are."""
    begun = asyncio.Event()
    text = "ü" * 10_000_000

    async def stubborn(talk: Talk) -> None:
        first = await talk.call()
        talk.socket.transport.pause_reading()
        begun.set()
        # The client is sending the other call, and no buffer has room for all of it.
        await asyncio.to_thread(select.select, [talk.socket.transport.get_extra_info("socket").fileno()], [], [])
        await talk.answer(first, "x" * 20_000_000)
        talk.socket.transport.resume_reading()
        second = await talk.call()
        await talk.answer(second, str(second["params"]["object"]["text"] == text))
        await talk.socket.wait_closed()

    async with fake(stubborn, max_size=None) as url, Hero(url, call_timeout=20.0, **FAST) as hero:
        large = asyncio.ensure_future(hero.ping())
        await begun.wait()
        assert await hero.set_object("notes", {"text": text}) == "True"
        assert len(await large) == 20_000_000


async def test_close_ends_a_large_call_that_is_being_sent(Hero: Any) -> None:
    over, begun = asyncio.Event(), asyncio.Event()

    async def deaf(talk: Talk) -> None:
        talk.socket.transport.pause_reading()
        await asyncio.to_thread(select.select, [talk.socket.transport.get_extra_info("socket").fileno()], [], [])
        begun.set()
        await over.wait()
        talk.cut()

    async with fake(deaf) as url:
        hero = Hero(url, **FAST)
        call = asyncio.ensure_future(hero.set_object("notes", {"text": "x" * 20_000_000}))
        await begun.wait()
        await asyncio.wait_for(hero.close(), 30.0)
        with pytest.raises(errors.Closed):
            await call
        over.set()


async def test_calls_of_all_sizes_arrive_whole_when_many_are_sent_at_once(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        while True:
            call = await talk.call()
            said = call["params"]["object"]
            await talk.answer(call, str(said["text"] == said["sign"] * said["length"]))

    # Sizes below and above the amount that is sent at once.
    lengths = [1, 8_000, *range(8_050, 8_200, 7), 16_384, 100_000, 1_000_000]
    async with fake(script, max_size=None) as url, Hero(url, **FAST) as hero:
        sent = [hero.set_object("notes", {"text": sign * length, "sign": sign, "length": length}) for length in lengths for sign in "aü€"]
        assert set(await asyncio.gather(*sent)) == {"True"}


async def test_a_large_call_that_a_slow_server_is_taking_is_not_cut_by_the_heartbeat(Hero: Any, tmp_path: Path) -> None:
    async with slow(str(tmp_path / "s"), 64 * 1024, 0.05) as url, Hero(url, heartbeat=1.0, reconnect=0) as hero:
        assert await hero.set_object("notes", {"text": "x" * 4_000_000}) == "pong"


async def test_a_wait_that_a_server_ends_at_once_is_not_asked_for_without_a_pause(Hero: Any) -> None:
    asked: list[float] = []

    async def hasty(talk: Talk) -> None:
        while True:
            call = await talk.call()
            asked.append(asyncio.get_running_loop().time())
            if len(asked) % 3 == 0:
                await talk.refuse(call, errors.Code.JOB_NOT_FOUND, "enough")
            else:
                await talk.refuse(call, errors.Code.WAIT_TIMEOUT, "it has not ended yet")

    async with fake(hasty) as url, Hero(url, **FAST) as hero:
        client: Any = hero.sync if isinstance(hero, SyncHero) else hero
        for handle in client.job("d89ab59b-b3f5-4480-8b9e-72c165c1585c"), client.flow(1):
            asked.clear()
            wait = partial(handle.wait, wait_timeout=3600)
            with pytest.raises(errors.JobNotFound, match="enough"):
                await (in_thread(wait) if isinstance(hero, SyncHero) else wait())
            # The test asserts that no pause is too short. It does not assert an upper limit, since machines may be
            # slow.
            assert len(asked) == 3 and all(later - sooner > 0.05 for sooner, later in pairwise(asked))


@pytest.mark.parametrize("data", [None, {}, {"flow_id": "x", "job_id": 1}, [1]], ids=str)
async def test_a_server_that_does_not_say_what_it_made_is_told(Hero: Any, data: Any) -> None:
    async def script(talk: Talk) -> None:
        while True:
            await talk.refuse(await talk.call(), errors.Code.WAIT_TIMEOUT, "it has not ended yet", data)

    async with fake(script) as url, Hero(url, **FAST) as hero:
        with pytest.raises(errors.UnexpectedAnswer, match="did not say which flow it made: it has not ended yet"):
            await hero.submit_flow({"a": {"script": "1"}})


@pytest.mark.parametrize(
    ("said", "seconds"),
    [(250, 0.25), (-5, 0.0), (10**400, 60.0), (math.nan, 1.0), (-math.inf, 1.0), ("soon", None)],
    ids=["said", "past", "huge", "nan", "infinite", "text"],
)
async def test_a_time_to_try_again_is_a_minute_at_most(Hero: Any, said: Any, seconds: float | None) -> None:
    async def script(talk: Talk) -> None:
        await talk.refuse(await talk.call(), errors.Code.RATE_LIMITED, "too many calls", {"retry_after_ms": said})
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        with pytest.raises(errors.RateLimited) as told:
            await hero.ping()
    assert told.value.retry_after == seconds


async def test_a_late_answer_leaves_the_connection_as_it_is_and_its_call_is_told(Hero: Any) -> None:
    numbers: list[int] = []

    async def slow(talk: Talk) -> None:
        numbers.append(talk.number)
        first, second = await talk.call(), await talk.call()
        await talk.answer(first, "late")
        while True:
            await talk.answer(second, "pong")
            second = await talk.call()

    async def ponged(hero: Any) -> bool:
        """Whether the machine was fast enough."""
        try:
            return bool(await hero.ping() == "pong")
        except errors.CallTimeout:
            return False

    async with fake(slow) as url, Hero(url, call_timeout=0.5, **FAST) as hero:
        with pytest.raises(errors.CallTimeout, match="create_job was not answered within") as late:
            await hero.create_job("1")
        assert late.value.method == "create_job" and len(late.value.params["idempotency_key"]) == 32
        while not await ponged(hero):
            pass
    assert numbers == [0], "it is the same connection"


async def test_status_is_told_and_close_ends_what_waits(Hero: Any) -> None:
    seen: list[str] = []
    called = asyncio.Event()

    async def script(talk: Talk) -> None:
        await talk.call()
        called.set()
        await talk.socket.wait_closed()

    async with fake(script) as url:
        hero = Hero(url, on_status=seen.append, **FAST)
        waiting = asyncio.create_task(hero.ping())
        await called.wait()
        await hero.close()
        with pytest.raises(errors.Closed):
            await waiting
        with pytest.raises(errors.Closed):
            await hero.ping()
    assert seen == ["connecting", "open", "closed"]


async def test_who_stops_waiting_does_not_stop_the_others() -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def script(talk: Talk) -> None:
        calls = await talk.call(), await talk.call()
        asked.set()
        await left.wait()
        for call in calls:
            await talk.answer(call, "error" if call["params"]["job_id"].endswith("d") else "finished")
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        one = asyncio.create_task(hero.get_status("d89ab59b-b3f5-4480-8b9e-72c165c1585c"))
        other = asyncio.create_task(hero.get_status("d89ab59b-b3f5-4480-8b9e-72c165c1585d"))
        await asked.wait()
        one.cancel()
        left.set()
        assert await other == "error"
        with pytest.raises(asyncio.CancelledError):
            await one


NESTED: list[Any] = []
NESTED.append(NESTED)


@pytest.mark.parametrize(
    ("value", "kind", "says"),
    [
        ("a\ud800b", ValueError, r"run_and_wait was not sent: a text in it is no Unicode.*a\\ud800b"),
        (b"x", TypeError, "run_and_wait was not sent: bytes cannot be sent as JSON: give text, as base64"),
        (bytearray(b"x"), TypeError, "bytearray cannot"),
        (math.inf, ValueError, "run_and_wait was not sent: Out of range"),
        (object(), TypeError, "run_and_wait was not sent: object cannot be sent as JSON"),
        (NESTED, ValueError, "run_and_wait was not sent: something in it has itself within"),
        ([{1: "a", "1": "b"}], TypeError, r"run_and_wait was not sent: args\.d\[0\] has the key 1, which is no text"),
        (models.JobSpecInput(script="1", args={None: 1}), TypeError, r"args\.d\.args has the key None"),
    ],
    ids=["surrogate", "bytes", "bytearray", "infinite", "object", "circle", "key", "key in a model"],
)
async def test_what_cannot_be_sent_is_told_with_its_call_and_leaves_the_connection(
    Hero: Any, value: Any, kind: type[Exception], says: str
) -> None:
    async def script(talk: Talk) -> None:
        call = await talk.call()
        assert call["method"] == "ping"
        await talk.answer(call, "pong")
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        with pytest.raises(kind, match=says):
            await hero.run("1", args={"d": value})
        assert await hero.ping() == "pong"


async def test_messages_control_no_terminal_and_data_are_as_they_are(Hero: Any) -> None:
    said = "two\n\tlines \x1b]0;pwned\x07\x9b\r\u202e"
    shown = r"two{}lines \x1b]0;pwned\x07\x9b\r\u202e".format("\n\t")

    async def script(talk: Talk) -> None:
        await talk.refuse(await talk.call(), errors.Code.JOB_FAILED, said, {"error": {"kind": "script", "message": said}})
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        with pytest.raises(errors.JobFailed) as failed:
            await hero.run("1")
        assert (str(failed.value), failed.value.message, failed.value.details["error"]["message"]) == (shown, shown, said)
    for status in (b"401 No", b"500 No"):
        async with raw(b"HTTP/1.1 " + status + b"\r\ncontent-length: 7\r\n\r\n\x1b]0;x\x07y") as url:
            with pytest.raises(errors.Error) as told:
                await Hero(url).ping()
            assert r"\x1b]0;x\x07y" in str(told.value)


async def test_errors_have_what_the_server_says_and_when_to_try_again(Hero: Any) -> None:
    async def full(talk: Talk) -> None:
        await talk.refuse(await talk.call(), errors.Code.QUEUE_FULL, "the queue is full", {"retry_after_ms": 250})
        await talk.refuse(await talk.call(), 4711, "something new", {"more": 1})
        await talk.socket.wait_closed()

    async with fake(full) as url, Hero(url, **FAST) as hero:
        with pytest.raises(errors.QueueFull) as told:
            await hero.create_job("1")
        assert (told.value.retry_after, told.value.retry_after_ms, told.value.method) == (0.25, 250, "create_job")
        with pytest.raises(errors.RpcError) as other:
            await hero.ping()
        assert (other.value.code, other.value.data, str(other.value)) == (4711, {"more": 1}, "something new (code 4711)")


async def test_a_login_signs_what_this_server_gave_in_a_thread_and_shows_the_token_from_then_on(Hero: Any) -> None:
    shown: list[str | None] = []
    host = ""

    async def script(talk: Talk) -> None:
        assert talk.socket.request is not None
        shown.append(talk.socket.request.headers.get("Authorization"))
        call = await talk.call()
        if talk.number == 0:
            await talk.answer(call, f"hero:{host}:random:1795255200")
            call = await talk.call()
            assert call["params"] == {"pubkey": "04", "signature": "signed", "nonce": f"hero:{host}:random:1795255200"}
            await talk.answer(call, {"identity_id": 1, "token": "hero_new", "expires_at": "2026-11-22T10:00:00Z"})
            await talk.call()
            return talk.cut()
        await talk.answer(call, "pong")
        call = await talk.call()
        await talk.answer(call, "hero:elsewhere.example:random:1795255200")
        await talk.answer(await talk.call(), f"hero:{host}:8700:random:1795255200")
        await talk.socket.wait_closed()

    threads: list[int] = []

    def sign(nonce: str) -> str:
        threads.append(threading.get_ident())
        return "signed"

    async with fake(script) as url:
        host = url.removeprefix("ws://")
        async with Hero(url, **FAST) as hero:
            assert (await hero.login("04", sign)).token == "hero_new"
            assert await hero.ping() == "pong"
            for _ in range(2):
                with pytest.raises(errors.NotHero, match="another server"):
                    await hero.login("04", sign)
    assert shown == [None, "Bearer hero_new"]
    assert len(threads) == 1 and threads[0] != threading.get_ident()


async def log_in(talk: Talk, token: str) -> None:
    """Answers a login as the server does."""
    assert talk.socket.request is not None
    nonce = f"hero:{talk.socket.request.headers['Host']}:random:1795255200"
    await talk.answer(await talk.call(), nonce)
    call = await talk.call()
    assert (call["method"], call["params"]) == ("authenticate", {"pubkey": "04", "signature": f"signed {nonce}", "nonce": nonce})
    await talk.answer(call, {"identity_id": 1, "token": token, "expires_at": "2026-11-22T10:00:00Z"})


async def test_a_login_that_is_over_is_made_again_by_the_same_signature(Hero: Any) -> None:
    valid = {None}
    shown: list[str | None] = []
    threads: set[int] = set()

    def gate(connection: Any, request: Any) -> Any:
        token = request.headers.get("Authorization")
        shown.append(token)
        return None if token in valid else connection.respond(401, "the token is unknown, has expired or was revoked")

    async def script(talk: Talk) -> None:
        assert talk.socket.request is not None
        if "Authorization" not in talk.socket.request.headers:
            await log_in(talk, f"hero_{talk.number}")
            valid.add(f"Bearer hero_{talk.number}")
        await talk.answer(await talk.call(), "pong")
        call = await talk.call()
        if talk.number == 2:
            await talk.answer(call, "pong")
            return await talk.socket.wait_closed()
        if talk.number == 0:
            valid.discard("Bearer hero_0")
            return await talk.socket.close(1008, "the token was revoked or has expired")
        talk.cut()

    def sign(nonce: str) -> str:
        threads.add(threading.get_ident())
        return f"signed {nonce}"

    async with fake(script, process_request=gate) as url, Hero(url, **FAST) as hero:
        assert (await hero.login("04", sign)).token == "hero_0"
        for _ in range(3):
            # The second one ends the first connection, and is repeated on the next.
            assert await hero.ping() == "pong"
    assert shown == [None, "Bearer hero_0", None, "Bearer hero_1"]
    assert threading.get_ident() not in threads


@pytest.mark.parametrize(
    ("way", "kind", "says"),
    [
        ("breaks", errors.ConnectError, "broke the connection during a login"),
        ("busy", errors.ConnectError, "takes no login now: too many"),
        ("unknown", errors.NotAuthenticated, "no identity"),
        ("other", errors.NotHero, "nonce of another server"),
        ("unsigned", LookupError, "no key"),
    ],
)
async def test_a_login_that_cannot_be_made_again_is_told(Hero: Any, way: str, kind: type[Exception], says: str) -> None:
    tried = 0

    def gate(connection: Any, request: Any) -> Any:
        return connection.respond(401, "no such token") if "Authorization" in request.headers else None

    async def script(talk: Talk) -> None:
        nonlocal tried
        if talk.number == 0:
            await log_in(talk, "hero_0")
            return talk.cut()
        tried += 1
        call = await talk.call()
        host = "elsewhere" if way == "other" else talk.socket.request.headers["Host"]  # type: ignore[union-attr]
        await talk.answer(call, f"hero:{host}:random:1795255200")
        call = await talk.call()
        if way == "breaks":
            return talk.cut()
        refusal = (errors.Code.RATE_LIMITED, "too many logins") if way == "busy" else (errors.Code.NOT_AUTHENTICATED, "no identity")
        await talk.refuse(call, *refusal)
        await talk.socket.wait_closed()

    def sign(nonce: str) -> str:
        if tried and way == "unsigned":
            raise LookupError("no key")
        return f"signed {nonce}"

    async with fake(script, process_request=gate) as url, Hero(url, reconnect=2, heartbeat=0) as hero:
        await hero.login("04", sign)
        with pytest.raises(kind, match=says):
            await hero.ping()
    assert tried == (3 if kind is errors.ConnectError else 1), "an answer to a login is no success"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("ws://127.0.0.1:80", "127.0.0.1"),
        ("ws://LOCALHOST", "localhost"),
        ("wss://h:443/x", "h"),
        ("wss://h:80", "h:80"),
        ("ws://[::1]:8700", "[::1]:8700"),
        ("unix:///run/hero.sock", "localhost"),
    ],
)
def test_a_server_is_known_by_the_host_that_requests_name(url: str, host: str) -> None:
    assert host_of(url) == host
