"""aiorpcX calls, is refused, follows a log, and notifies while a call waits. The address of the server is the one argument."""

import asyncio
import logging
import sys
import uuid

import aiorpcx


class Session(aiorpcx.RPCSession):
    """Collects what the server sends on its own."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.items = asyncio.Queue()

    async def handle_request(self, request):
        assert isinstance(request, aiorpcx.Notification), request
        await self.items.put((request.method, request.args))


class Complaints(logging.Handler):
    """What the library says of messages that it cannot place."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


async def refused(session, method, params, code):
    try:
        answer = await session.send_request(method, params)
    except aiorpcx.RPCError as error:
        assert error.code == code, error
    else:
        raise AssertionError(f"{method} {params} gave {answer}")


async def scenario(url):
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    async with aiorpcx.connect_ws(url, session_factory=Session) as session:
        assert (await session.send_request("run_and_wait", ["40 + 2"]))["value"] == 42
        call = {"script": "args.a + args.b", "args": {"a": 40, "b": 2}, "timeout": 30}
        assert (await session.send_request("run_and_wait", call))["value"] == 42

        await refused(session, "get_job", [str(uuid.uuid4())], 1001)
        await refused(session, "get_jobs", [], -32601)
        await refused(session, "run_and_wait", {"scrpt": "1"}, -32602)

        job = str(uuid.uuid4())
        assert await session.send_request("create_job", {"script": 'print("hello"); 40 + 2', "job_id": job}) == job
        subscription = await session.send_request("subscribe_logs", [job])
        waiting = asyncio.create_task(session.send_request("wait_job", [job]))
        await asyncio.sleep(0)
        await session.send_notification("start_job", [job])
        assert (await waiting)["value"] == 42, "the notification started the job"
        while True:
            method, params = await session.items.get()
            assert (method, params["subscription"]) == ("logs", subscription), (method, params)
            if params["result"].get("text") == "hello":
                break
        await session.send_request("unsubscribe_logs", {"subscription": subscription})

        # A notification that is refused is told to nobody.
        await session.send_notification("start_job", [str(uuid.uuid4())])
        await session.send_notification("no_such_method", [])
        async with session.send_batch() as batch:
            batch.add_request("ping")
            batch.add_notification("ping")
            batch.add_request("get_status", [job])
        assert batch.results == ("pong", "finished"), batch.results
        assert await session.send_request("ping") == "pong"
    assert not complaints.texts, complaints.texts


asyncio.run(asyncio.wait_for(scenario(sys.argv[1]), 60))
print("well")
