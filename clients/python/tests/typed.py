"""The public types, for type checkers: this file is only checked, never run."""

from __future__ import annotations

from typing_extensions import assert_type

from hero import Hero, JobHandle, aio, errors, models


def sync(hero: Hero) -> None:
    assert_type(hero.run("[1]", result_type=list[int]), list[int])
    assert_type(hero.create_job("1", priority=0, labels={"a": "b"}), str)
    assert_type(hero.get_job("x"), models.Job)
    assert_type(hero.list_actors(), list[models.Actor])
    assert_type(hero.submit("1", args=[1], timeout=5), JobHandle)
    assert_type(hero.drop_collection("x"), int | None)
    for event in hero.job("x").events():
        if event.type == "event":
            assert_type(event, models.EventNotice)
    try:
        hero.run("1")
    except errors.JobFailed as error:
        assert_type(error.kind, models.ErrorKind | None)
        assert_type(error.line, int | None)
    except errors.QueueFull as error:
        assert_type(error.retry_after, float | None)


async def in_asyncio(hero: aio.Hero) -> None:
    assert_type(await hero.run("[1]", result_type=list[int]), list[int])
    async for item in hero.job("x").logs():
        if item.type == "line":
            assert_type(item.text, str)
