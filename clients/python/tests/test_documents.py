"""The documents are right: the programs of the README run, and no call of the API document is missing."""

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
    """Whether the server has seen an actor of a type. The server checks this from time to time."""
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


def test_the_bench_runs(tmp_path: Path) -> None:
    """Runs with tiny numbers, so its results mean nothing."""
    command = [sys.executable, str(HERE / "bench" / "calls.py"), "--seconds", "0.05", "--rounds", "1", "--json", str(tmp_path / "figures")]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    figures = json.loads((tmp_path / "figures").read_text())["figures"]
    assert len(figures) == 10 and all(line["hero_cpu_us"] > 0 < line["bare_cpu_us"] for line in figures)


def test_a_client_that_nobody_closed_ends_quietly_with_its_program(hero_server: Server) -> None:
    program = "import hero, warnings; h = hero.Hero(); print(h.ping()); s = h.subscribe_events(); s.open(); print(h)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "HERO_SERVER": hero_server.url},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout.startswith("pong\n<Hero ws://")


def test_a_client_of_the_parent_says_so_in_a_child(hero_server: Server) -> None:
    program = """
import hero, os, sys
h = hero.Hero()
h.ping()
if os.fork() == 0:
    try:
        h.ping()
    except hero.errors.Closed as error:
        os._exit(0 if "fork" in str(error) else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
print(h.ping())
"""
    assert runs(program, hero_server) == "pong\n"
