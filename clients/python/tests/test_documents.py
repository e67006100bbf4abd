"""What is printed is what there is: the README's programs run, and no call of the document is missing."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import hero
from hero import aio, errors
from hero.aio.methods import METHODS
from hero.testing import Server

HERE = Path(__file__).resolve().parent.parent
PROGRAMS = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.DOTALL)


def runs(program: str, server: Server) -> str:
    env = {**os.environ, "HERO_SERVER": server.url}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_program_has_ten_lines_at_most_and_runs_as_printed(hero_server: Server) -> None:
    assert len(PROGRAMS[0].strip().splitlines()) <= 10
    assert runs(PROGRAMS[0], hero_server) == "42\nline working\nended \n[1, 2, 3]\n"


def test_the_program_in_asyncio_runs_as_printed(hero_server: Server) -> None:
    assert runs(PROGRAMS[1], hero_server) == "[0, 1, 4, 9, 16]\n"


def test_the_worker_and_the_test_are_as_they_are_read(hero_server: Server) -> None:
    worker = PROGRAMS[2].replace('redis="redis://127.0.0.1:6379"', f"redis={str(hero_server.data)!r}")
    process = subprocess.Popen([sys.executable, "-c", worker])
    try:
        with hero.Hero(hero_server.url) as client:
            value = client.run("resize", script_type="images", args={"path": "a.png"}) if _known(client, "images") else None
        assert value == {"path": "a.png", "width": 100}
    finally:
        process.terminate()
        assert process.wait(60) == 0
    names: dict[str, object] = {}
    exec(PROGRAMS[3], names)
    with hero.Hero(hero_server.url) as client:
        names["test_my_script"](client)  # type: ignore[operator]


def _known(client: hero.Hero, script_type: str) -> bool:
    """Whether the server has seen an actor of a type, which it looks for now and then."""
    import time

    for _ in range(600):
        try:
            client.delete_job(client.create_job("resize", script_type=script_type))
            return True
        except errors.UnknownScriptType:
            time.sleep(0.1)
    return False


def test_every_call_and_subscription_of_the_document_is_a_method() -> None:
    document = json.loads((HERE.parent.parent / "openrpc.json").read_text())
    methods = {method["name"]: method for method in document["methods"]}
    ended_by = {method["x-subscription"]["unsubscribe"] for method in methods.values() if "x-subscription" in method}
    assert set(METHODS) == set(methods) - ended_by
    for face in (hero.Hero, aio.Hero):
        for name, own in METHODS.items():
            parameters = list(inspect.signature(getattr(face, own)).parameters)[1:]
            assert sorted(each.rstrip("_") for each in parameters) == sorted(each["name"] for each in methods[name]["params"]), name
    codes = {error["code"] for error in document["components"]["errors"].values()}
    assert set(errors.CLASSES) == codes


def test_errors_can_be_sent_between_processes() -> None:
    import pickle

    error = errors.JobFailed("no", 1101, {"error": {"kind": "script", "message": "x"}}, "run_and_wait")
    again = pickle.loads(pickle.dumps(error))
    assert (again.message, again.kind, again.code, str(again)) == ("x", "script", 1101, "no")


def test_one_line_in_asyncio_names_its_server(hero_server: Server) -> None:
    assert asyncio.run(aio.run("1 + 1", url=hero_server.url)) == 2
