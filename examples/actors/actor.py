#!/usr/bin/env python3
"""An actor in Python: fetches jobs of the script type `words`, counts the words of their scripts, and returns the number.

    hero serve --script-types words --redis redis://127.0.0.1:6379
    python3 examples/actors/actor.py 127.0.0.1:6379   (or the path of a unix socket; a password in HERO_REDIS_PASSWORD)
    hero run --type words -e 'how many words are these'
It needs nothing but Python. What is killed loses the lease of its job, which runs again elsewhere. docs/protocol.md has the functions.
"""
import json, os, socket, sys, threading, time

SCRIPT_TYPE, GROUP, INSTANCE, LEASE_MS, CONTEXT = "words", "default", int(os.environ.get("INSTANCE", "1")), 3000, 0
ACTOR = f"{SCRIPT_TYPE}:{GROUP}:{INSTANCE}"
OWNER = f"{socket.gethostname()}:{os.getpid()}:{time.time_ns():x}"  # Another one with each start: a lease is not inherited.
PLACES = ["", f":group:{GROUP}", f":group:{GROUP}:inst:{INSTANCE}"]
QUEUES = [f"hero:q:work:type:{SCRIPT_TYPE}{place}{prio}" for prio in (":prio:0", "", ":prio:2") for place in reversed(PLACES)]


class Redis:
    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.socket = socket.socket(socket.AF_INET if host else socket.AF_UNIX)
        self.socket.connect((host, int(port)) if host else address)
        self.file, self.lock = self.socket.makefile("rb"), threading.Lock()
        _ = (password := os.environ.get("HERO_REDIS_PASSWORD")) and self.call("AUTH", password)

    def call(self, *words):
        words = [str(word).encode() for word in words]
        with self.lock:
            self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
            return self.answer()

    def answer(self):
        kind, rest = (line := self.file.readline())[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode(errors="replace")
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest.decode()


def present(redis):
    """Registers this actor for 15 s, so that hero lists it and knows which actor serves its script type."""
    said = json.dumps({"pid": os.getpid(), "hostname": socket.gethostname()})
    redis.call("FCALL", "hero_present", 1, f"hero:meta:actor:inst:{ACTOR}", OWNER, CONTEXT, said)


def keep(redis, job, over, state):
    """Renews the lease until the job is over; notes a stop, a timeout, or the loss of the lease."""
    while not over.wait(LEASE_MS / 3000):
        state["lease"] = redis.call("FCALL", "hero_renew", 1, f"hero:job:{job['id']}", OWNER, CONTEXT, job["claim"], LEASE_MS)
        present(redis)


def work(redis, job):
    of_job = [1, f"hero:job:{job['id']}", OWNER, CONTEXT, job["claim"]]
    over, state = threading.Event(), {"lease": "renewed"}
    threading.Thread(target=keep, args=(redis, job, over, state), daemon=True).start()
    try:
        redis.call("FCALL", "hero_log", *of_job, "info", f"attempt {job['attempt']} of {ACTOR}")
        until = time.monotonic() + float(json.loads(job.get("args") or "null") or 0)
        while time.monotonic() < until and state["lease"] == "renewed":
            time.sleep(0.02)
        end = ["hero_finish", len(job.get("script", "").split()), "json"]
    except Exception as error:  # A job may hold anything, and shall not take the actor along.
        end = ["hero_fail", repr(error)[:1000], "script"]
    over.set()
    end = {"stop": ["hero_fail", "stopped_by_request", "stopped"], "timeout": ["hero_fail", "timeout", "timeout"]}.get(state["lease"], end)
    return redis.call("FCALL", end[0], *of_job, *end[1:])  # 'lost' if somebody else has it.


if __name__ == "__main__":
    redis = Redis(sys.argv[1])
    while True:
        present(redis)
        if taken := redis.call("FCALL", "hero_claim", len(QUEUES), *QUEUES, OWNER, CONTEXT, ACTOR, LEASE_MS):
            print(work(redis, dict(zip(taken[::2], taken[1::2]))), flush=True)
        else:
            time.sleep(0.1)
