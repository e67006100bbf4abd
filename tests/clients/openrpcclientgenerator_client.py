"""The client that openrpcclientgenerator makes of a server's document imports, calls and is refused. Arguments: where it lies, the address."""

import asyncio
import sys

from jsonrpcobjects.errors import JSONRPCError

sys.path.insert(0, sys.argv[1])

from hero_http_client.client import HeroClient  # noqa: E402


async def refused(call, code):
    try:
        answer = await call
    except JSONRPCError as error:
        assert error.rpc_error.code == code, error
    else:
        raise AssertionError(f"expected {code}, got {answer}")


async def main():
    # A call of httpx ends after 5 s unless it is told otherwise.
    hero = HeroClient(headers={}, client_url=sys.argv[2], timeout=300)
    result = await hero.run_and_wait("40 + 2")
    assert (result.value, result.status) == (42, "finished"), result
    assert (await hero.run_and_wait("args.a + args.b", args={"a": 40, "b": 2})).value == 42
    await refused(hero.run_and_wait('throw "no"'), 1101)
    await refused(hero.get_job("00000000-0000-4000-8000-000000000000"), 1001)

    job = await hero.create_job("40 + 2")
    await hero.start_job(job)
    assert (await hero.wait_job(job)).value == 42
    status = await hero.get_status(job)
    assert status.value == "finished", status
    assert await hero.ping() == "pong"


asyncio.run(main())
print("well")
