"""The actor that Dramatiq's workers run. HERO_BENCH_PORT is the port of Redis."""
import os

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

URL = f"redis://127.0.0.1:{os.environ['HERO_BENCH_PORT']}/0?max_connections=1024"  # More than the 100 of the client's pool: one for each caller.
broker = RedisBroker(url=URL)
broker.add_middleware(Results(backend=RedisBackend(url=URL)))
dramatiq.set_broker(broker)


@dramatiq.actor(store_results=True)
def add(a, b):
    return a + b
