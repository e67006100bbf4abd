"""Measures hero beside other systems: one session, one redis-server, alternating rounds, medians.

run.py --hero PATH [--only hero,bullmq] [--rounds 3] [--jobs 20000] [--json FILE]
"""
import argparse
import contextlib
import dataclasses
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import typing
from pathlib import Path

import install
from install import HERE

# The same settings as for the private redis-server of hero.
REDIS = ["--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction",
         "--hash-max-listpack-value", "4096", "--bind", "127.0.0.1"]
START = 60
TRIES = 3  # of a round of a rival
DRAINED = 300


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Redis:
    """A redis-server for this run, and a client for the two types of the protocol that this program needs."""

    def __init__(self, directory):
        program = shutil.which("redis-server") or shutil.which("valkey-server") or sys.exit("redis-server is missing: make setup")
        self.port = free_port()
        self.process = subprocess.Popen([program, "--port", str(self.port), "--dir", directory, *REDIS], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + START
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=START)
                break
            except OSError:
                if time.monotonic() > deadline:
                    sys.exit("redis-server does not start")
                time.sleep(0.05)
        self.lines = self.socket.makefile("rb")

    def ask(self, *words):
        self.socket.sendall((" ".join(words) + "\r\n").encode())
        reply = self.lines.readline().decode().strip()
        if reply.startswith("-"):
            raise RuntimeError(reply)
        return int(reply[1:]) if reply.startswith(":") else reply[1:]

    def cpu_with(self, workers):
        """The processor time of Redis and of these processes so far, in seconds."""
        return sum(map(cpu_seconds, [self.process.pid, *workers]))

    def stop(self):
        self.process.terminate()
        self.process.wait(START)


def answer(command, **environment):
    inherited = {name: value for name, value in os.environ.items() if name != "HERO_SERVER"}
    done = subprocess.run(command, cwd=HERE, env={**inherited, **environment}, stdout=subprocess.PIPE, text=True, check=True, timeout=1800)
    return json.loads(done.stdout.strip().splitlines()[-1])


def round_of(contender, redis, jobs):
    """Runs one round. If a rival loses an answer (the wait of BullMQ sometimes misses a notification), it tries again and reports that."""
    for tries_left in reversed(range(1 if isinstance(contender, Hero) else TRIES)):
        try:
            return contender.run(jobs)
        except subprocess.CalledProcessError as error:
            if not tries_left:
                raise
            print(f"{contender.name} failed, and tries again: {error}", file=sys.stderr, flush=True)
            redis.ask("FLUSHALL")


def cpu_seconds(process):
    """The processor time of a process and its descendants so far."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        children = [int(child) for task in Path(f"/proc/{process}/task").iterdir() for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(cpu_seconds, children))


@contextlib.contextmanager
def running(commands, **environment):
    log = subprocess.DEVNULL
    workers = [subprocess.Popen(command, cwd=HERE, env={**os.environ, **environment}, stdout=log, stderr=log, start_new_session=True) for command in commands]
    try:
        yield [worker.pid for worker in workers]
    finally:
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


def drained(depth, jobs, cpu):
    """The rate and the processor time from the first drop of a full queue until it is empty."""
    deadline, begun = time.monotonic() + DRAINED, None
    while time.monotonic() < deadline:
        left = depth()
        if begun is None and left < jobs:
            begun, first, cpu_begun = time.monotonic(), left, cpu()
        if left == 0:
            wall = time.monotonic() - begun
            # A queue that was empty at the first look says nothing.
            return {"drain_per_s": first / wall, "drain_cpu": (cpu() - cpu_begun) * 1000 / first} if first else {}
        time.sleep(0.01)
    raise RuntimeError(f"{left} jobs are left after {DRAINED} s")


class Hero:
    def __init__(self, program, redis, private):
        self.program, self.redis, self.private = program, redis, private
        self.name = "hero, private Redis" if private else "hero"

    def run(self, jobs):
        there = [] if self.private else ["--redis", f"redis://127.0.0.1:{self.redis.port}"]
        parts = ["--only", "waiting,drain,groups", "--jobs", str(jobs), "--related", str(10 * links(jobs))]
        report = answer([self.program, "bench", "--json", *parts, *there])
        groups = {group["shape"]: group for group in report["groups"]}
        row = {"submit_per_s": report["drain"]["submit_per_s"], "drain_per_s": report["drain"]["drain_per_s"],
               "bulk_per_s": groups["bulk"]["create_per_s"], "chain_per_s": groups["chain"]["run_per_s"]}
        # What the server counts as its own includes its private Redis only.
        if self.private and (cpu := report["drain"]["cpu_s_per_1000"]["server"]) is not None:
            row["drain_cpu"] = cpu
        for waiting in report["waiting"]:
            row.update(waits(waiting["callers"], waiting))
            if waiting["callers"] == 64 and self.private:
                row["cpu_64"] = waiting["cpu_s_per_1000"]["server"]
        return row


@dataclasses.dataclass
class Peer:
    """Another system. A client prints one line of JSON with what it measured: `client MODE NUMBER…`."""
    name: str
    redis: Redis
    client: list
    workers: list
    depth: typing.Callable  # how many jobs are left
    modes: tuple
    environment: dict = dataclasses.field(default_factory=dict)
    warm_up: int = 200  # jobs that the client runs before it measures
    divisor: int = 1  # of the number of jobs that are waited for
    most: int = sys.maxsize  # jobs in a queue

    def ask(self, *words):
        return answer([*self.client, *map(str, words)], **self.environment)

    def run(self, jobs):
        row = {}
        if "wait" in self.modes:
            with running(self.workers, **self.environment) as workers:
                for callers, count in [(1, jobs // 10), (64, jobs), (256, jobs)]:
                    count = max(count // self.divisor, 1)
                    begun = self.redis.cpu_with(workers)
                    row.update(waits(callers, self.ask("wait", count, callers)))
                    if callers == 64:
                        row["cpu_64"] = (self.redis.cpu_with(workers) - begun) * 1000 / (count + min(count, self.warm_up))
                if "chain" in self.modes:
                    row["chain_per_s"] = self.ask("chain", links(jobs))["per_s"]
        jobs = min(jobs, self.most)
        if "bulk" in self.modes:
            self.redis.ask("FLUSHALL")
            row["bulk_per_s"] = self.ask("bulk", jobs)["per_s"]
        self.redis.ask("FLUSHALL")
        row["submit_per_s"] = self.ask("submit", jobs)["per_s"]
        with running(self.workers, **self.environment) as workers:
            return {**row, **drained(lambda: self.depth(jobs), jobs, lambda: self.redis.cpu_with(workers))}


def links(jobs):
    """The length of the chain."""
    return max(jobs // 20, 2)


def waits(callers, measured):
    return {f"wait_{callers}_{figure}": measured[figure] for figure in ("per_s", "p50_ms", "p99_ms")}


COLUMNS = {"wait_1_per_s": "1 caller /s", "wait_1_p50_ms": "p50 ms", "wait_1_p99_ms": "p99 ms", "wait_64_per_s": "64 callers /s",
           "wait_64_p99_ms": "p99 ms", "wait_256_per_s": "256 callers /s", "submit_per_s": "submit /s", "bulk_per_s": "bulk /s",
           "drain_per_s": "drain /s", "chain_per_s": "chain /s", "cpu_64": "CPU ms a job", "drain_cpu": "draining"}
KEYS = ("hero", *install.PEERS)
LESS_IS_BETTER = ("_ms", "cpu_64", "drain_cpu")


def table(rows):
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def contenders(key, hero, redis):
    """What one word of --only stands for."""
    address, port = f"redis://127.0.0.1:{redis.port}", str(redis.port)
    lengths = lambda *lists: lambda _: sum(redis.ask("LLEN", name) for name in lists)
    every = ("wait", "chain", "bulk", "submit")
    if key == "hero":
        return [Hero(hero, redis, False), Hero(hero, redis, True)]
    if key == "bullmq":
        client, depth = ["node", "bullmq.js", port], lengths("bull:bench:wait", "bull:bench:active")
        return [Peer(f"BullMQ, {count} × {at_once}", redis, client, [[*client, "worker", str(at_once)]] * count, depth, every)
                for count, at_once in [(1, 100), (2, 50)]]
    if key == "dramatiq":
        # Its pipelines are driven by the messages of its workers, so it has no chain.
        bin, environment = HERE / "venv" / "bin", {"HERO_BENCH_PORT": port, "dramatiq_queue_prefetch": "64"}
        return [Peer("Dramatiq, 2 × 8", redis, [str(bin / "python"), "dramatiq_client.py"],
                     [[str(bin / "dramatiq"), "dramatiq_app", "-p", "2", "-t", "8"]],
                     lambda _: redis.ask("HLEN", "dramatiq:default.msgs"), ("wait", "submit"), environment, warm_up=20, divisor=2)]
    if key == "sidekiq":
        return [Peer("Sidekiq, 2 × 5", redis, ["ruby", "sidekiq.rb"], [["sidekiq", "-r", "./sidekiq.rb", "-c", "5"]] * 2,
                     lengths("queue:default"), ("bulk", "submit"), {"REDIS_URL": address})]
    if key == "asynq":
        # It has no way to wait for a result but to ask for it again and again, and none to add a group.
        client = [install.built("asynq"), port]
        return [Peer("asynq, 64", redis, client, [[*client, "worker", "64"]],
                     lengths("asynq:{default}:pending", "asynq:{default}:active"), ("submit",))]
    if key == "bullmq-rust":
        client = [install.built("bullmq"), port]
        return [Peer("BullMQ in Rust, 100", redis, client, [[*client, "worker", "100"]], lengths("bull:bench:wait", "bull:bench:active"), every)]
    client = [install.built("apalis"), port]
    # More than some 8,000 jobs at once end its worker: it passes all that are due to one call of `unpack` in Lua.
    return [Peer("apalis", redis, client, [[*client, "worker"]], lambda jobs: jobs - redis.ask("SCARD", "bench:done"),
                 ("wait", "bulk", "submit"), most=7_000)]


def measure(given, selected, redis):
    """The rows of each contender."""
    rounds = {}
    them = [contender for key in selected for contender in contenders(key, given.hero, redis)]
    for number in range(given.rounds):
        for contender in them[number % len(them):] + them[:number % len(them)]:
            redis.ask("FLUSHALL")
            print(f"round {number + 1} of {given.rounds}: {contender.name}", file=sys.stderr, flush=True)
            rounds.setdefault(contender.name, []).append(round_of(contender, redis, given.jobs))
    return rounds


def compare(medians):
    """How many times better hero is. Its processor time is known only with the private Redis."""
    hero = {**medians.get("hero, private Redis", {}), **medians.get("hero", {})}
    ratio = lambda key, row: row[key] / hero[key] if key.endswith(LESS_IS_BETTER) else hero[key] / row[key]
    return {name: {key: ratio(key, row) for key in COLUMNS if row.get(key) and hero.get(key)}
            for name, row in medians.items() if hero and not name.startswith("hero")}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--hero", required=True)
    arguments.add_argument("--only", default=",".join(KEYS), help="which of these, with commas: %(default)s")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--jobs", type=int, default=20_000)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    selected = given.only.split(",")
    if unknown := set(selected) - set(KEYS):
        arguments.error(f"--only does not know {', '.join(sorted(unknown))}")
    left_out = {key: reason for key in selected if key != "hero" and (reason := install.reason_against(key))}
    for key, reason in left_out.items():
        print(f"{key} is left out: {reason}", file=sys.stderr, flush=True)
    selected = [key for key in selected if key not in left_out] or sys.exit("nothing is left to measure")
    with tempfile.TemporaryDirectory(prefix="hero-peers-") as directory:
        redis = Redis(directory)
        try:
            rounds = measure(given, selected, redis)
        finally:
            redis.stop()
    medians = {name: {key: statistics.median(row[key] for row in rows) for key in rows[0] if all(key in row for row in rows)}
               for name, rows in rounds.items()}
    show = lambda figure: "–" if figure is None else f"{figure:.0f}" if figure >= 100 else f"{figure:.2f}" if figure >= 0.1 else f"{figure:.3f}"
    table([["median of " + str(given.rounds), *COLUMNS.values()], *([name, *(show(row.get(key)) for key in COLUMNS)] for name, row in medians.items())])
    if ratios := compare(medians):
        print()
        times = lambda figure: "–" if figure is None else f"{figure:.2f}×"
        table([["hero is better by", *COLUMNS.values()], *([name, *(times(row.get(key)) for key in COLUMNS)] for name, row in ratios.items())])
    for key, reason in left_out.items():
        print(f"\n{key} was left out: {reason}")
    document = {"jobs": given.jobs, "redis": REDIS, "versions": {key: install.version(key) for key in selected if key != "hero"},
                "left_out": left_out, "rounds": rounds, "medians": medians, "ratios": ratios}
    if given.json:
        given.json.write_text(json.dumps(document, indent=2) + "\n")
    else:
        print("\n" + json.dumps(document))


if __name__ == "__main__":
    main()
