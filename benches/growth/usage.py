"""What processes take, from /proc: processor time and memory of servers, their engines and their Redis."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
REDIS = ("redis-server", "valkey-server")
COMPONENTS = ("redis", "server", "engines")


@dataclass(frozen=True)
class Process:
    """One line of /proc/PID/stat."""

    pid: int
    parent: int
    name: str
    own: float  # seconds of processor time
    reaped: float  # those of its children that have ended
    pages: int  # in memory

    @property
    def is_redis(self) -> bool:
        return self.name.startswith(REDIS)


def read_process(pid: int) -> Process | None:
    """Reads one process, unless it has ended."""
    try:
        head, _, tail = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = tail.split()
    times = [int(field) * TICK for field in fields[11:15]]
    name = head.partition("(")[2]
    return Process(pid, int(fields[1]), name, times[0] + times[1], times[2] + times[3], int(fields[21]))


def seconds(process: Process) -> float:
    """Its processor time. Its threads tell it in nanoseconds, without those that have ended; the process in ticks."""
    total = 0
    try:
        for task in Path(f"/proc/{process.pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
    except (OSError, IndexError):
        pass  # The process has just ended, or the system does not tell.
    return max(total / 1e9, process.own)


class Tree:
    """Servers with all that they started, by component. A child of Redis, which rewrites its file, is none of them."""

    def __init__(self, roots: Iterable[int]) -> None:
        self.components: dict[str, list[Process]] = {component: [] for component in COMPONENTS}
        children: dict[int, list[Process]] = {}
        for name in os.listdir("/proc"):
            if name.isdigit() and (process := read_process(int(name))):
                children.setdefault(process.parent, []).append(process)
        for root in roots:
            if server := read_process(root):
                self.components["server"].append(server)
                self.add(children, root)

    def add(self, children: dict[int, list[Process]], parent: int) -> None:
        for process in children.get(parent, []):
            if process.is_redis:
                self.components["redis"].append(process)
            else:
                self.components["engines"].append(process)
                self.add(children, process.pid)

    def seconds(self) -> dict[str, float]:
        """Processor time so far. An engine that has ended is in what its parent reaped."""
        reapers = self.components["server"] + self.components["engines"]
        return {
            "redis": sum(seconds(process) for process in self.components["redis"]),
            "server": sum(seconds(process) for process in self.components["server"]),
            "engines": sum(seconds(process) for process in self.components["engines"])
            + sum(process.reaped for process in reapers),
        }

    def resident(self) -> dict[str, int]:
        """Bytes in memory. Pages that processes share count for each."""
        return {component: PAGE * sum(each.pages for each in found) for component, found in self.components.items()}

    def proportional(self) -> dict[str, int]:
        """Bytes in memory. Pages that processes share count once (proportional set size)."""
        memory = {component: [proportional(each.pid) for each in found] for component, found in self.components.items()}
        return {component: sum(each) for component, each in memory.items()}


def proportional(pid: int) -> int:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0
