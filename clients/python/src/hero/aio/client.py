"""The client: a connection with all calls, and helpers built on them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from inspect import formatannotation
from types import TracebackType
from typing import Any, TypeVar, overload

from pydantic import ValidationError
from typing_extensions import Unpack

from .. import errors, models
from .._base import read
from .._core.call import Options, Status, new_key
from .._core.link import address_of
from .._core.login import Login, checked
from .._core.loop import CANCELLED, Session, ended, in_thread
from .._core.wire import given, seconds
from .handle import FlowHandle, JobHandle, Until, wait_for
from .methods import CreateFlowOptions, CreateJobOptions, Methods

__all__ = ["Hero", "run"]

T = TypeVar("T")

DEFAULT_URL = "ws://127.0.0.1:8700"
STOPPING = 5.0
"""Seconds that an interrupted caller waits for the job to be stopped."""


class Hero(Methods):
    """A client of a hero server: every call of the server as a method, and the helpers `run`, `submit`, `job` and
    `flow`.

    This is the asyncio face; the other face is `hero`, with the same names. `with` or the first call connects. A broken
    connection is restored: reads, waits and creates (which have a key) are repeated, and subscriptions continue after
    their last item. Any other change that may or may not have been carried out raises `OutcomeUnknown`, and so
    does a create whose connection does not come back, or whose answer cannot be read.

    Args:
        url: The address of the server: `ws://`, `wss://`, `http://`, `https://` or `unix:///path/hero.sock`. By default
            `HERO_SERVER`, otherwise this machine.
        token: The token, or a function that returns one for each connection (it runs in a thread). By default
            `HERO_TOKEN`.
        ca: A file (PEM) with the authorities of a `wss://` server, instead of those of this machine. By default
            `HERO_CA`.
        reconnect: Maximum number of failed attempts in a row before calls fail; None for no limit. The first connection
            gets one attempt.
        call_timeout: Timeout for an answer in seconds, in addition to the wait that a call asks for; `math.inf` for
            none.
        connect_timeout: Timeout for a connection in seconds; `math.inf` for none.
        heartbeat: Seconds of silence after which a ping checks whether the server is there; 0 for never.
        max_size: Maximum size of one answer in bytes.
        buffer: Maximum number of items of one subscription that are held here. The server keeps further items until
            there is room.
        on_status: Called with each new status: "connecting", "open", "waiting", "closed". It runs in the event loop, so
            it must not block.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | Callable[[], str] | None = None,
        ca: str | os.PathLike[str] | None = None,
        reconnect: int | None = 10,
        call_timeout: float | timedelta = 60.0,
        connect_timeout: float | timedelta = 10.0,
        heartbeat: float | timedelta = 20.0,
        max_size: int = 32 * 1024 * 1024,
        buffer: int = 1000,
        on_status: Callable[[Status], object] | None = None,
    ) -> None:
        authority = ca or os.environ.get("HERO_CA")
        options = Options(
            url=address_of(os.environ.get("HERO_SERVER") or DEFAULT_URL if url is None else url),
            token=token or os.environ.get("HERO_TOKEN") or None,
            ca=os.fspath(authority) if authority else None,
            reconnect=reconnect,
            call_timeout=seconds(call_timeout, "call_timeout"),
            connect_timeout=seconds(connect_timeout, "connect_timeout"),
            heartbeat=seconds(heartbeat, "heartbeat"),
            max_size=max_size,
            buffer=buffer,
            on_status=on_status,
        )
        self._session = Session(options)

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._session.options.url

    @property
    def status(self) -> Status:
        """The status of the connection: "new", "connecting", "open", "waiting" (between two attempts) or "closed"."""
        return self._session.status

    def __repr__(self) -> str:
        return f"<Hero {self.url} {self.status}>"

    async def connect(self) -> None:
        """Connects now instead of with the first call."""
        await self._session.connected()

    async def close(self) -> None:
        """Ends the connection. Pending calls raise `Closed`; jobs go on."""
        await self._session.close()

    async def __aenter__(self) -> Hero:
        try:
            await self.connect()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    # ---- Jobs -------------------------------------------------------------------------------------------------------------------------

    @overload
    async def run(
        self,
        script: str,
        *,
        result_type: type[T],
        wait_timeout: float | timedelta | None = None,
        stop_on_cancel: bool = False,
        **options: Unpack[CreateJobOptions],
    ) -> T: ...

    @overload
    async def run(
        self,
        script: str,
        *,
        wait_timeout: float | timedelta | None = None,
        stop_on_cancel: bool = False,
        **options: Unpack[CreateJobOptions],
    ) -> Any: ...

    async def run(
        self,
        script: str,
        *,
        result_type: Any = Any,
        wait_timeout: float | timedelta | None = None,
        stop_on_cancel: bool = False,
        **options: Unpack[CreateJobOptions],
    ) -> Any:
        """Runs a script and returns its value, or its output as text if its engine returns no values.

        Args:
            script: The script.
            result_type: The type of the value, as pydantic accepts types. By default the value is plain JSON.
            wait_timeout: Timeout for the wait, in seconds or as a `timedelta`; `math.inf` for none. By default the
                server's default. The wait outlasts a restart of the server.
            stop_on_cancel: Whether the job is stopped if this call is interrupted (by cancellation, or Ctrl-C).
            options: Further parameters of `create_job`.

        Raises:
            JobFailed: The job ended in error: see `kind`, `message`, `line`, `column`, `stack` and `data`.
            WaitTimeout: The wait timed out and the job goes on: `hero.job(error.job_id).wait()` continues to wait.
            OutcomeUnknown: The connection broke and did not come back, or not for this caller, or what came in place of
                the answer cannot be read, such as one above `max_size`. The job may run, or have run: by `method` and
                `params` (with the key) it can be waited for.
            UnexpectedAnswer: The value is no `result_type`.
        """
        until = Until("run_and_wait", wait_timeout)
        if stop_on_cancel:
            # The same key means the same job, whether or not the interrupted call was carried out.
            if options.get("idempotency_key") is None:
                options["idempotency_key"] = new_key()
            try:
                job = await self.submit(script, **options)
                result = await self._waited(job.id, until, job.context_id)
            except CANCELLED:
                with contextlib.suppress(errors.Error):
                    await ended(self._stop(script, options), STOPPING)
                raise
        else:
            try:
                result = await self.run_and_wait(script, wait_timeout=until.asked, **options)
            except errors.WaitTimeout as late:
                if late.job_id is None or not await until.again():
                    raise
                result = await self._waited(late.job_id, until, options.get("context_id"))
        return value_of(result, result_type)

    async def _waited(self, job_id: str, until: Until, context_id: int | None) -> models.JobResult:
        """Waits for the end of a job whose id the caller does not know. So an error of the connection names it."""
        try:
            return await wait_for(self, job_id, until, context_id)
        except (errors.ConnectError, errors.NotAuthenticated, errors.AnswerTooLarge) as gone:
            what = f"{gone}. Job {job_id} was made, and its end is not known: by the parameters in `params` it can be waited for"
            raise errors.OutcomeUnknown(what, "wait_job", given({"job_id": job_id, "context_id": context_id})) from gone

    async def _stop(self, script: str, options: CreateJobOptions) -> models.JobStatus:
        job = await self.submit(script, **options)
        return await job.stop()

    async def submit(self, script: str, **options: Unpack[CreateJobOptions]) -> JobHandle:
        """Creates and starts a job without waiting for it, in one call that can be repeated.

        `create_job` stores a job without starting it.
        """
        job_id = await self.create_job(script, start=True, **options)
        return self.job(job_id, context_id=options.get("context_id"))

    def job(self, job_id: str, *, context_id: int | None = None) -> JobHandle:
        """Returns a job by its id, without asking the server."""
        return JobHandle(self, job_id, context_id)

    # ---- Flows ------------------------------------------------------------------------------------------------------------------------

    async def submit_flow(
        self,
        jobs: Mapping[str, models.FlowJobSpec | Mapping[str, Any]],
        **options: Unpack[CreateFlowOptions],
    ) -> FlowHandle:
        """Creates and starts a flow without waiting for it, in one call that can be repeated.

        `create_flow` stores a flow without starting it.
        """
        try:
            flow_id = (await self.run_flow_and_wait(jobs, wait_timeout=0, **options)).flow_id
        except (errors.WaitTimeout, errors.JobFailed, errors.JobStopped) as known:
            if known.flow_id is None:
                raise errors.UnexpectedAnswer(f"run_flow_and_wait of {self.url} did not say which flow it made: {known}") from known
            flow_id = known.flow_id
        return self.flow(flow_id, context_id=options.get("context_id"))

    def flow(self, flow_id: int, *, context_id: int | None = None) -> FlowHandle:
        """Returns a flow by its number, without asking the server."""
        return FlowHandle(self, flow_id, context_id)

    # ---- Login ------------------------------------------------------------------------------------------------------------------------

    async def login(self, pubkey: str, sign: Callable[[str], str]) -> models.LoggedIn:
        """Logs in with a signature. `sign` signs a text as an Ethereum personal message; it runs in a thread.

        From then on, this connection and all later ones belong to that identity. Once the login is over and the server
        refuses its token, a new connection logs in by `sign` again.
        """
        nonce = checked(await self.fetch_nonce(pubkey), self.url)
        signature = await in_thread(sign, nonce)
        logged_in = await self.authenticate(pubkey, signature, nonce)
        self._session.stay_logged_in(Login(pubkey, sign), logged_in.token)
        return logged_in


def value_of(result: models.JobResult, result_type: Any) -> Any:
    """Returns the value of a result as a type."""
    value = result.value if "value" in result.model_fields_set else result.output
    try:
        return read(result_type, value)
    except ValidationError as wrong:
        said = "; ".join(".".join(map(str, each["loc"])) + ": " * bool(each["loc"]) + each["msg"] for each in wrong.errors()[:3])
        what = f"the value of job {result.job_id} is no {formatannotation(result_type)} but of type {type(value).__name__}, {value!r:.200}"
        raise errors.UnexpectedAnswer(f"{what}: {said}") from wrong


async def run(
    script: str,
    *,
    url: str | None = None,
    token: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    wait_timeout: float | timedelta | None = None,
    **options: Unpack[CreateJobOptions],
) -> Any:
    """Runs a script on a server and returns its value, over a connection of its own."""
    async with Hero(url, token=token, ca=ca) as hero:
        return await hero.run(script, wait_timeout=wait_timeout, stop_on_cancel=True, **options)
