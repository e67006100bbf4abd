"""Dramatiq under the same load: dramatiq_client.py submit JOBS | wait JOBS CALLERS"""
import json
import os
import sys
import threading
import time

from dramatiq_app import add


def submit(jobs):
    begun = time.perf_counter()
    for _ in range(jobs):
        add.send(40, 2)
    return {"per_s": jobs / (time.perf_counter() - begun)}


def one():
    called = time.perf_counter()
    value = add.send(40, 2).get_result(block=True, timeout=60_000)
    if value != 42:
        raise ValueError(f"40 + 2 is {value}")
    return (time.perf_counter() - called) * 1000


def wait(jobs, callers):
    times, failures, lock = [], [], threading.Lock()

    def caller(share):
        try:
            mine = [one() for _ in range(share)]
            with lock:
                times.extend(mine)
        except Exception as error:  # Told below, once, instead of by every thread.
            failures.append(error)

    for _ in range(20):  # Warm up.
        one()
    threads = [threading.Thread(target=caller, args=(max(1, jobs // callers),)) for _ in range(callers)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall = time.perf_counter() - begun
    if failures:
        raise failures[0]
    times.sort()
    at = lambda part: times[min(len(times) - 1, int(len(times) * part))]
    return {"per_s": len(times) / wall, "p50_ms": at(0.5), "p95_ms": at(0.95), "p99_ms": at(0.99)}


if __name__ == "__main__":
    mode, *numbers = sys.argv[1:]
    print(json.dumps({"submit": submit, "wait": wait}[mode](*map(int, numbers))), flush=True)
    os._exit(0)  # The broker's threads would linger.
