"""Subscriptions: no item is missing or repeated when a connection breaks. A gap is reported as a value."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from faces import SyncHero
from fake import Script, Talk, fake

from hero import errors, models
from hero._core.direct import DirectLink
from hero.aio import Hero

JOB = "d89ab59b-b3f5-4480-8b9e-72c165c1585c"
FAST: dict[str, Any] = {"reconnect": 10, "heartbeat": 0}


def line(number: int) -> dict[str, Any]:
    return {"type": "line", "cursor": f"{number}-0", "level": "info", "text": str(number)}


def event(number: int) -> dict[str, Any]:
    time = "2026-11-21T10:00:00.002Z"
    return {"type": "event", "cursor": f"{number}-0", "time": time, "job_id": JOB, "context_id": 0, "status": "created", "attempt": 0}


async def send_from(talk: Talk, call: dict[str, Any], last: int, most: int) -> None:
    """Sends the lines after the cursor of the call, at most `most` at a time, as hero does; then `ended`."""
    await talk.answer(call, f"s{talk.number}")
    after = int(call["params"].get("cursor", "0-0").split("-")[0])
    for number in range(after + 1, min(last, after + most) + 1):
        await talk.item("logs", f"s{talk.number}", line(number))
    if after + most >= last:
        await talk.item("logs", f"s{talk.number}", {"type": "ended"})


async def test_a_subscription_goes_on_behind_its_last_item_over_many_breaks(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        await send_from(talk, await talk.call(), 100, 9)
        # Items that were sent before the break may or may not arrive. A clean close lets them arrive.
        await talk.socket.close() if talk.number % 2 else talk.cut()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        seen = [item async for item in hero.subscribe_logs(JOB)]
    assert [item.text for item in seen[:-1] if item.type == "line"] == [str(number) for number in range(1, 101)]
    assert seen[-1].type == "ended"


async def test_items_that_come_before_the_answer_are_not_lost(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        call = await talk.call()
        await talk.item("logs", "s0", line(1))
        await talk.answer(call, "s0")
        await talk.item("logs", "s0", line(2))
        await talk.item("logs", "s0", {"type": "ended"})
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        texts = [item.text async for item in hero.subscribe_logs(JOB) if item.type == "line"]
    assert texts == ["1", "2"]


async def test_a_slow_reader_loses_nothing_and_holds_little() -> None:
    """If the buffer is full, the client stops the subscription, and continues from the cursor when there is room."""
    subscribed: list[str | None] = []
    unsubscribed = 0

    async def script(talk: Talk) -> None:
        nonlocal unsubscribed
        while True:
            call = await talk.call()
            if call["method"] == "unsubscribe_logs":
                unsubscribed += 1
                await talk.answer(call, True)
                continue
            subscribed.append(call["params"].get("cursor"))
            name = f"s{len(subscribed)}"
            await talk.answer(call, name)
            after = int(call["params"].get("cursor", "0-0").split("-")[0])
            for number in range(after + 1, 51):
                await talk.item("logs", name, line(number))
            await talk.item("logs", name, {"type": "ended"})

    async with fake(script) as url, Hero(url, buffer=8, **FAST) as hero:
        texts: list[str] = []
        async for item in hero.subscribe_logs(JOB):
            if item.type == "line":
                texts.append(item.text)
            await hero._session._link.request("unsubscribe_logs", {"subscription": "none"}, 5)  # a round trip: all that was sent is there
    assert texts == [str(number) for number in range(1, 51)]
    assert len(subscribed) > 3 and unsubscribed > 3


async def test_what_the_server_lost_is_a_value_and_the_cursor_goes_on_from_there(Hero: Any) -> None:
    asked: list[str | None] = []

    async def script(talk: Talk) -> None:
        while len(asked) < 3:
            call = await talk.call()
            if call["method"] == "unsubscribe_logs":
                await talk.answer(call, True)
                continue
            asked.append(call["params"].get("cursor"))
            name = f"s{len(asked)}"
            await talk.answer(call, name)
            if len(asked) == 1:
                await talk.item("logs", name, line(1))
            if len(asked) <= 2:
                await talk.item("logs", name, {"type": "lagged", "cursor": "70-0"})
            if len(asked) == 2:
                return await talk.socket.close()
        await talk.item("logs", name, line(71))
        await talk.item("logs", name, {"type": "ended"})
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        items = [item async for item in hero.subscribe_logs(JOB)]
    assert [item.type for item in items] == ["line", "lagged", "line", "ended"]
    assert isinstance(items[1], models.LaggedNotice) and items[1].cursor == "70-0"
    assert asked == [None, "1-0", "70-0"]


@pytest.mark.parametrize("early", [False, True], ids=["late", "early"])
async def test_items_that_the_server_still_has_are_not_lost(Hero: Any, early: bool) -> None:
    """A server that could not keep up says `lagged`, although it has the items."""
    calls: list[tuple[str, str | None]] = []

    async def script(talk: Talk) -> None:
        while True:
            call = await talk.call()
            calls.append((call["method"], call["params"].get("cursor")))
            if call["method"] == "unsubscribe_events":
                await talk.answer(call, True)
                continue
            name = f"s{len(calls)}"
            if not early:
                await talk.answer(call, name)
            if len(calls) == 1:
                await talk.item("events", name, event(1))
                await talk.item("events", name, {"type": "lagged", "cursor": "4-0"})
                await talk.item("events", name, event(5))
            else:
                for number in range(2, 6):
                    await talk.item("events", name, event(number))
                await talk.item("events", name, {"type": "ended"})
            if early:
                await talk.answer(call, name)

    async with fake(script) as url, Hero(url, **FAST) as hero:
        items = [(item.type, getattr(item, "cursor", None)) async for item in hero.subscribe_events()]
    assert items == [*(("event", f"{number}-0") for number in range(1, 6)), ("ended", None)]
    assert sorted(calls, key=str) == [("subscribe_events", "1-0"), ("subscribe_events", None), ("unsubscribe_events", None)]


async def test_a_break_before_the_first_event_is_said_where_there_was_no_cursor(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        call = await talk.call()
        await talk.answer(call, "s")
        if talk.number == 0:
            return await talk.socket.close()
        await talk.item("events", "s", event(5))
        await talk.item("events", "s", {"type": "ended"})
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        kinds = [item.type async for item in hero.subscribe_events()]
    assert kinds == ["lagged", "event", "ended"]


async def test_a_subscription_that_was_too_slow_for_the_server_goes_on(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        call = await talk.call()
        await talk.answer(call, "s0")
        await talk.item("logs", "s0", line(1))
        await talk.failed_item("logs", "s0", errors.Code.RATE_LIMITED, "the subscriber reads too slowly")
        call = await talk.call()
        assert call["params"]["cursor"] == "1-0"
        await talk.answer(call, "s1")
        await talk.item("logs", "s1", line(2))
        await talk.item("logs", "s1", {"type": "ended"})
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        assert [item.text async for item in hero.subscribe_logs(JOB) if item.type == "line"] == ["1", "2"]


async def test_an_item_that_is_too_large_ends_its_subscription_and_no_other(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        for _ in range(2 if talk.number == 0 else 1):
            call = await talk.call()
            name = "large" if call["method"] == "subscribe_logs" else f"small{talk.number}"
            await talk.answer(call, name)
        if talk.number == 0:
            both.set()
            await talk.item("events", "small0", event(1))
            await talk.item("logs", "large", {**line(1), "text": "x" * 100_000})
            return await talk.socket.wait_closed()
        assert call["params"]["cursor"] == "1-0"
        await talk.item("events", name, event(2))
        await talk.item("events", name, {"type": "ended"})
        await talk.socket.wait_closed()

    both = asyncio.Event()
    async with fake(script) as url, Hero(url, max_size=50_000, **FAST) as hero:

        async def large() -> None:
            async for _ in hero.subscribe_logs(JOB):
                pass

        async with hero.subscribe_events() as events:
            too_large = asyncio.ensure_future(large())
            await both.wait()
            assert [item.type async for item in events] == ["event", "event", "ended"]
        with pytest.raises(errors.AnswerTooLarge):
            await too_large


async def test_a_right_that_goes_ends_a_subscription_with_its_error_after_what_came(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        await talk.answer(await talk.call(), "s0")
        await talk.item("logs", "s0", line(1))
        await talk.failed_item("logs", "s0", errors.Code.PERMISSION_DENIED, "you need the role reader")
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        logs = hero.subscribe_logs(JOB)
        first = await logs.__anext__()
        assert first.type == "line" and logs.cursor == "1-0"
        with pytest.raises(errors.PermissionDenied, match="role reader"):
            await logs.__anext__()


async def test_a_subscription_that_is_refused_says_so(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        await talk.refuse(await talk.call(), errors.Code.JOB_NOT_FOUND, "there is no such job")
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        with pytest.raises(errors.JobNotFound):
            async with hero.subscribe_job(JOB):
                pass


async def test_whoever_leaves_unsubscribes_also_when_the_loop_was_only_left() -> None:
    ended: asyncio.Queue[str] = asyncio.Queue()
    asked, left = asyncio.Event(), asyncio.Event()

    async def script(talk: Talk) -> None:
        number = 0
        while True:
            call = await talk.call()
            if call["method"] == "subscribe_logs":
                number += 1
                if number == 3:
                    asked.set()
                    await left.wait()
                await talk.answer(call, f"s{number}")
                await talk.item("logs", f"s{number}", line(1))
            else:
                await ended.put(call["params"]["subscription"])
                await talk.answer(call, True)

    async with fake(script) as url, Hero(url, **FAST) as hero:
        async with hero.subscribe_logs(JOB) as logs:
            await logs.__anext__()
        assert await ended.get() == "s1"
        async for _ in hero.subscribe_logs(JOB):
            break
        assert await ended.get() == "s2"
        # A caller that is cancelled while the server answers also leaves nothing behind.
        waiting = asyncio.create_task(hero.subscribe_logs(JOB).open())
        await asked.wait()
        waiting.cancel()
        left.set()
        assert await ended.get() == "s3"


async def test_whoever_leaves_while_a_subscription_is_resumed_leaves_nothing_behind(Hero: Any) -> None:
    opened, asked, left = asyncio.Event(), asyncio.Event(), asyncio.Event()
    ended: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def script(talk: Talk) -> None:
        call = await talk.call()
        if talk.number == 0:
            await talk.answer(call, "s0")
            await opened.wait()
            return talk.cut()
        asked.set()
        await left.wait()
        await talk.answer(call, "s1")
        call = await talk.call()
        await ended.put(call)
        await talk.answer(call, True)
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        async with hero.subscribe_events():
            opened.set()
            await asked.wait()
        left.set()
        call = await ended.get()
    assert (call["method"], call["params"]) == ("unsubscribe_events", {"subscription": "s1"})


async def test_the_server_is_gone_for_good_and_the_subscription_says_so(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        await talk.answer(await talk.call(), "s0")
        await talk.item("logs", "s0", line(1))
        await talk.socket.close()

    async with fake(script) as url:
        hero = Hero(url, reconnect=2, heartbeat=0)
        logs = hero.subscribe_logs(JOB)
        assert (await logs.__anext__()).type == "line"
    with pytest.raises(errors.ConnectError, match="no server at"):
        await logs.__anext__()
    await hero.close()


async def test_an_item_that_comes_again_after_a_break_is_given_once(Hero: Any) -> None:
    async def script(talk: Talk) -> None:
        await talk.answer(await talk.call(), "s")
        await talk.item("logs", "s", line(1))
        if talk.number == 0:
            return await talk.socket.close()
        await talk.item("logs", "s", line(2))
        await talk.item("logs", "s", {"type": "ended"})
        await talk.socket.wait_closed()

    async with fake(script) as url, Hero(url, **FAST) as hero:
        assert [item.text async for item in hero.subscribe_logs(JOB) if item.type == "line"] == ["1", "2"]


async def test_items_that_nobody_takes_wait_at_the_server_when_they_are_large(Hero: Any) -> None:
    stopped = asyncio.Event()
    seen: list[str] = []

    async def script(talk: Talk) -> None:
        while True:
            call = await talk.call()
            seen.append(call["method"])
            if call["method"] == "unsubscribe_logs":
                await talk.answer(call, True)
                stopped.set()
                continue
            name = f"s{len(seen)}"
            await talk.answer(call, name)
            for number in range(int(call["params"].get("cursor", "0-0").partition("-")[0]) + 1, 41):
                await talk.item("logs", name, {**line(number), "text": f"{number}" + " " * 1_000_000})
            await talk.item("logs", name, {"type": "ended"})

    async with fake(script) as url, Hero(url, **FAST) as hero, hero.subscribe_logs(JOB) as logs:
        await asyncio.wait_for(stopped.wait(), 30.0)
        assert [int(item.text) async for item in logs if item.type == "line"] == list(range(1, 41))
    assert seen == ["subscribe_logs", "unsubscribe_logs", "subscribe_logs"]


def sends_much(connections: list[int]) -> Script:
    """The first connection sends more items of unknown subscriptions than a client keeps, and its answer after them."""

    async def script(talk: Talk) -> None:
        connections.append(talk.number)
        call = await talk.call()
        for number in range(40 if talk.number == 0 else 0):
            await talk.item("logs", f"{number % 4}", {**line(number), "text": " " * 1_000_000})
        await talk.answer(call, "s")
        await talk.item("logs", "s", {"type": "ended"})
        await talk.socket.wait_closed()

    return script


async def test_what_a_server_sent_behind_too_much_counts_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    # As on a busy machine: the client reads everything before it looks at the first item.
    read = threading.Event()
    take, look = DirectLink._take_item, DirectLink._item

    def taken(link: DirectLink, name: str, *given: Any) -> None:
        take(link, name, *given)
        if name == "s":
            read.set()

    def looked(link: DirectLink, *given: Any) -> None:
        read.wait(30.0)
        look(link, *given)

    monkeypatch.setattr(DirectLink, "_take_item", taken)
    monkeypatch.setattr(DirectLink, "_item", looked)
    connections: list[int] = []
    async with fake(sends_much(connections)) as url, SyncHero(url, **FAST) as hero:
        assert [item.type async for item in hero.subscribe_logs(JOB)] == ["ended"]
    assert connections == [0, 1]


async def test_a_server_that_sends_much_before_it_answers_a_subscription_is_left(Hero: Any) -> None:
    connections: list[int] = []
    async with fake(sends_much(connections)) as url, Hero(url, **FAST) as hero:
        assert [item.type async for item in hero.subscribe_logs(JOB)] == ["ended"]
    assert connections == [0, 1]
