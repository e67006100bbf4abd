# Made of openrpc.json by `make clients`. Change clients/generate/python.py instead.
"""One class per error: the server's errors by code, then connection errors."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from . import models
from ._base import AnswerTooLarge, CallTimeout, Closed, ConnectError, Error, NotHero, OutcomeUnknown, RpcError, UnexpectedAnswer, harmless

__all__ = [
    "AnswerTooLarge",
    "BatchAnswerTooLarge",
    "BatchTooLong",
    "CLASSES",
    "CallTimeout",
    "Closed",
    "Code",
    "ConnectError",
    "Error",
    "IdempotencyReused",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "JobFailed",
    "JobNotFound",
    "JobStopped",
    "MethodNotFound",
    "NotAuthenticated",
    "NotFound",
    "NotHero",
    "OutcomeUnknown",
    "ParseError",
    "PermissionDenied",
    "QueueFull",
    "RateLimited",
    "RequestTooLarge",
    "RpcError",
    "StoreUnavailable",
    "TooLarge",
    "TooManySubscriptions",
    "UnexpectedAnswer",
    "UnknownScriptType",
    "WaitTimeout",
    "WrongState",
]


class Code(IntEnum):
    """The codes of the server's errors."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    TOO_MANY_SUBSCRIPTIONS = -32006
    REQUEST_TOO_LARGE = -32007
    BATCH_TOO_LONG = -32010
    BATCH_ANSWER_TOO_LARGE = -32011
    JOB_NOT_FOUND = 1001
    WRONG_STATE = 1002
    UNKNOWN_SCRIPT_TYPE = 1003
    PERMISSION_DENIED = 1004
    NOT_AUTHENTICATED = 1005
    RATE_LIMITED = 1006
    QUEUE_FULL = 1007
    TOO_LARGE = 1008
    STORE_UNAVAILABLE = 1009
    IDEMPOTENCY_REUSED = 1010
    NOT_FOUND = 1011
    JOB_FAILED = 1101
    WAIT_TIMEOUT = 1102
    JOB_STOPPED = 1103


class ParseError(RpcError):
    """Not JSON. Its code is -32700."""

    code = -32700


class InvalidRequest(RpcError):
    """Not a request that can be answered here. Its code is -32600."""

    code = -32600


class MethodNotFound(RpcError):
    """There is no such method. Its code is -32601."""

    code = -32601


class InvalidParams(RpcError):
    """A parameter is missing, unknown or wrong. Its code is -32602."""

    code = -32602

    @property
    def error(self) -> models.JobError | None:
        return self._field("error", models.JobError)

    @property
    def index(self) -> int | None:
        """The index of the job among those of `create_jobs`, from 0."""
        return self._field("index", int)

    @property
    def job(self) -> str | None:
        """The name of the job in its flow."""
        return self._field("job", str)

    @property
    def kind(self) -> models.ErrorKind | None:
        return None if self.error is None else self.error.kind

    @property
    def message(self) -> str:
        """The error message."""
        return super().message if self.error is None else harmless(self.error.message)

    @property
    def line(self) -> int | None:
        """The line of the script, from 1."""
        return None if self.error is None else self.error.line

    @property
    def column(self) -> int | None:
        """The column of the script, from 1."""
        return None if self.error is None else self.error.column

    @property
    def stack(self) -> list[str] | None:
        """The script functions that were running, innermost first."""
        return None if self.error is None else self.error.stack

    @property
    def limit(self) -> models.ScriptLimit | None:
        return None if self.error is None else self.error.limit

    @property
    def data(self) -> Any:
        """The value that the script threw, unless that was a string, nothing, or more than 64 KB of JSON. If it is a map with a string
        `message`, that is the message."""
        return None if self.error is None else self.error.data


class InternalError(RpcError):
    """Internal error. Its code is -32603."""

    code = -32603


class TooManySubscriptions(RpcError):
    """Too many subscriptions on one connection. Its code is -32006."""

    code = -32006


class RequestTooLarge(RpcError):
    """The request is too large. Its code is -32007."""

    code = -32007


class BatchTooLong(RpcError):
    """The batch has too many calls. Its code is -32010."""

    code = -32010


class BatchAnswerTooLarge(RpcError):
    """The answers of the batch are too large together. Its code is -32011."""

    code = -32011


class JobNotFound(RpcError):
    """The job does not exist. Its code is 1001."""

    code = 1001

    @property
    def job_id(self) -> str | None:
        """The job."""
        return self._field("job_id", str)

    @property
    def index(self) -> int | None:
        """The index of the job among those of `create_jobs`, from 0."""
        return self._field("index", int)

    @property
    def job(self) -> str | None:
        """The name of the job in its flow."""
        return self._field("job", str)


class WrongState(RpcError):
    """The status of the job does not allow this, or the id is taken. Its code is 1002."""

    code = 1002

    @property
    def job_id(self) -> str | None:
        """The job."""
        return self._field("job_id", str)

    @property
    def flow_id(self) -> int | None:
        """The flow."""
        return self._field("flow_id", int)

    @property
    def schedule_id(self) -> str | None:
        """The schedule."""
        return self._field("schedule_id", str)

    @property
    def status(self) -> models.JobStatus | None:
        return self._field("status", models.JobStatus)

    @property
    def prerequisite(self) -> str | None:
        """The job that it waits for, which failed."""
        return self._field("prerequisite", str)

    @property
    def running(self) -> int | None:
        """How many jobs of the context run."""
        return self._field("running", int)

    @property
    def queued(self) -> int | None:
        """How many jobs of the context wait in queues."""
        return self._field("queued", int)

    @property
    def scheduled(self) -> int | None:
        """How many jobs of the context wait for their time, or for somebody to start them."""
        return self._field("scheduled", int)

    @property
    def messages(self) -> int | None:
        """How many messages of the context wait."""
        return self._field("messages", int)

    @property
    def index(self) -> int | None:
        """The index of the job among those of `create_jobs`, from 0."""
        return self._field("index", int)

    @property
    def job(self) -> str | None:
        """The name of the job in its flow."""
        return self._field("job", str)


class UnknownScriptType(RpcError):
    """The script type is not built in, not configured and has no live actor. Its code is 1003."""

    code = 1003


class PermissionDenied(RpcError):
    """Permission denied. Its code is 1004."""

    code = 1004


class NotAuthenticated(RpcError):
    """Not authenticated. Its code is 1005."""

    code = 1005


class RateLimited(RpcError):
    """Too many calls. Its code is 1006."""

    code = 1006

    @property
    def retry_after_ms(self) -> int | None:
        """The milliseconds after which to try again."""
        return self._field("retry_after_ms", int)

    @property
    def retry_after(self) -> float | None:
        """The same in seconds."""
        given = self.retry_after_ms
        return None if given is None else given / 1000

    @property
    def flow_id(self) -> int | None:
        """The flow that another call is creating."""
        return self._field("flow_id", int)

    @property
    def index(self) -> int | None:
        """The index of the job among those of `create_jobs`, from 0."""
        return self._field("index", int)

    @property
    def job(self) -> str | None:
        """The name of the job in its flow."""
        return self._field("job", str)


class QueueFull(RpcError):
    """The queue or the store is full. Its code is 1007."""

    code = 1007

    @property
    def retry_after_ms(self) -> int | None:
        """The milliseconds after which to try again."""
        return self._field("retry_after_ms", int)

    @property
    def retry_after(self) -> float | None:
        """The same in seconds."""
        given = self.retry_after_ms
        return None if given is None else given / 1000

    @property
    def index(self) -> int | None:
        """The index of the job among those of `create_jobs`, from 0."""
        return self._field("index", int)

    @property
    def job(self) -> str | None:
        """The name of the job in its flow."""
        return self._field("job", str)


class TooLarge(RpcError):
    """Something is larger than allowed. Its code is 1008."""

    code = 1008

    @property
    def limit(self) -> int | None:
        """The limit, in the unit that the message names."""
        return self._field("limit", int)

    @property
    def index(self) -> int | None:
        """The index of the job among those of `create_jobs`, from 0."""
        return self._field("index", int)

    @property
    def job(self) -> str | None:
        """The name of the job in its flow."""
        return self._field("job", str)


class StoreUnavailable(RpcError):
    """The store is unavailable. Its code is 1009."""

    code = 1009

    @property
    def outcome(self) -> models.Outcome | None:
        return self._field("outcome", models.Outcome)

    @property
    def job_id(self) -> str | None:
        """The job that may have been stored."""
        return self._field("job_id", str)

    @property
    def key(self) -> str | None:
        """The key of Redis that another program has spoilt, if that is the cause."""
        return self._field("key", str)

    @property
    def index(self) -> int | None:
        """The index of the job among those of `create_jobs`, from 0."""
        return self._field("index", int)

    @property
    def job(self) -> str | None:
        """The name of the job in its flow."""
        return self._field("job", str)


class IdempotencyReused(RpcError):
    """The idempotency key was used with other parameters. Its code is 1010."""

    code = 1010

    @property
    def job_id(self) -> str | None:
        """The job."""
        return self._field("job_id", str)

    @property
    def flow_id(self) -> int | None:
        """The flow."""
        return self._field("flow_id", int)

    @property
    def schedule_id(self) -> str | None:
        """The schedule."""
        return self._field("schedule_id", str)

    @property
    def index(self) -> int | None:
        """The index of the job among those of `create_jobs`, from 0."""
        return self._field("index", int)

    @property
    def job(self) -> str | None:
        """The name of the job in its flow."""
        return self._field("job", str)


class NotFound(RpcError):
    """There is no such context, schedule, flow, object, identity, token, runner or message. Its code is 1011."""

    code = 1011

    @property
    def flow_id(self) -> int | None:
        """The flow."""
        return self._field("flow_id", int)

    @property
    def schedule_id(self) -> str | None:
        """The schedule."""
        return self._field("schedule_id", str)

    @property
    def collection(self) -> str | None:
        """The collection of the object."""
        return self._field("collection", str)

    @property
    def id(self) -> str | None:
        """The id of the object."""
        return self._field("id", str)

    @property
    def index(self) -> int | None:
        """The index of the job among those of `create_jobs`, from 0."""
        return self._field("index", int)

    @property
    def job(self) -> str | None:
        """The name of the job in its flow."""
        return self._field("job", str)


class JobFailed(RpcError):
    """The job failed. Its code is 1101."""

    code = 1101

    @property
    def job_id(self) -> str | None:
        """The job."""
        return self._field("job_id", str)

    @property
    def status(self) -> models.JobStatus | None:
        return self._field("status", models.JobStatus)

    @property
    def attempt(self) -> int | None:
        """The attempt that failed."""
        return self._field("attempt", int)

    @property
    def error(self) -> models.JobError | None:
        return self._field("error", models.JobError)

    @property
    def flow_id(self) -> int | None:
        """The flow."""
        return self._field("flow_id", int)

    @property
    def failed(self) -> list[models.FailedJob] | None:
        """The jobs of the flow that failed."""
        return self._field("failed", list[models.FailedJob])

    @property
    def index(self) -> int | None:
        """The index of the job among those of `create_jobs`, from 0."""
        return self._field("index", int)

    @property
    def job(self) -> str | None:
        """The name of the job in its flow."""
        return self._field("job", str)

    @property
    def kind(self) -> models.ErrorKind | None:
        return None if self.error is None else self.error.kind

    @property
    def message(self) -> str:
        """The error message."""
        return super().message if self.error is None else harmless(self.error.message)

    @property
    def line(self) -> int | None:
        """The line of the script, from 1."""
        return None if self.error is None else self.error.line

    @property
    def column(self) -> int | None:
        """The column of the script, from 1."""
        return None if self.error is None else self.error.column

    @property
    def stack(self) -> list[str] | None:
        """The script functions that were running, innermost first."""
        return None if self.error is None else self.error.stack

    @property
    def limit(self) -> models.ScriptLimit | None:
        return None if self.error is None else self.error.limit

    @property
    def data(self) -> Any:
        """The value that the script threw, unless that was a string, nothing, or more than 64 KB of JSON. If it is a map with a string
        `message`, that is the message."""
        return None if self.error is None else self.error.data


class WaitTimeout(RpcError):
    """The wait ran out, the job goes on. Its code is 1102."""

    code = 1102

    @property
    def job_id(self) -> str | None:
        """The job, which continues."""
        return self._field("job_id", str)

    @property
    def flow_id(self) -> int | None:
        """The flow, which continues."""
        return self._field("flow_id", int)

    @property
    def status(self) -> models.JobStatus | None:
        return self._field("status", models.JobStatus)

    @property
    def explanation(self) -> str | None:
        """Why it is not running, as a sentence."""
        return self._field("explanation", str)

    @property
    def reason(self) -> models.Reason | None:
        return self._field("reason", models.Reason)

    @property
    def open(self) -> int | None:
        """How many jobs of the flow have not ended."""
        return self._field("open", int)

    @property
    def index(self) -> int | None:
        """The index of the job among those of `create_jobs`, from 0."""
        return self._field("index", int)

    @property
    def job(self) -> str | None:
        """The name of the job in its flow."""
        return self._field("job", str)


class JobStopped(RpcError):
    """The job was stopped. Its code is 1103."""

    code = 1103

    @property
    def job_id(self) -> str | None:
        """The job."""
        return self._field("job_id", str)

    @property
    def status(self) -> models.JobStatus | None:
        return self._field("status", models.JobStatus)

    @property
    def attempt(self) -> int | None:
        """The attempt that failed."""
        return self._field("attempt", int)

    @property
    def error(self) -> models.JobError | None:
        return self._field("error", models.JobError)

    @property
    def flow_id(self) -> int | None:
        """The flow."""
        return self._field("flow_id", int)

    @property
    def failed(self) -> list[models.FailedJob] | None:
        """The jobs of the flow that failed."""
        return self._field("failed", list[models.FailedJob])

    @property
    def index(self) -> int | None:
        """The index of the job among those of `create_jobs`, from 0."""
        return self._field("index", int)

    @property
    def job(self) -> str | None:
        """The name of the job in its flow."""
        return self._field("job", str)

    @property
    def kind(self) -> models.ErrorKind | None:
        return None if self.error is None else self.error.kind

    @property
    def message(self) -> str:
        """The error message."""
        return super().message if self.error is None else harmless(self.error.message)

    @property
    def line(self) -> int | None:
        """The line of the script, from 1."""
        return None if self.error is None else self.error.line

    @property
    def column(self) -> int | None:
        """The column of the script, from 1."""
        return None if self.error is None else self.error.column

    @property
    def stack(self) -> list[str] | None:
        """The script functions that were running, innermost first."""
        return None if self.error is None else self.error.stack

    @property
    def limit(self) -> models.ScriptLimit | None:
        return None if self.error is None else self.error.limit

    @property
    def data(self) -> Any:
        """The value that the script threw, unless that was a string, nothing, or more than 64 KB of JSON. If it is a map with a string
        `message`, that is the message."""
        return None if self.error is None else self.error.data


CLASSES: dict[int, type[RpcError]] = {
    -32700: ParseError,
    -32600: InvalidRequest,
    -32601: MethodNotFound,
    -32602: InvalidParams,
    -32603: InternalError,
    -32006: TooManySubscriptions,
    -32007: RequestTooLarge,
    -32010: BatchTooLong,
    -32011: BatchAnswerTooLarge,
    1001: JobNotFound,
    1002: WrongState,
    1003: UnknownScriptType,
    1004: PermissionDenied,
    1005: NotAuthenticated,
    1006: RateLimited,
    1007: QueueFull,
    1008: TooLarge,
    1009: StoreUnavailable,
    1010: IdempotencyReused,
    1011: NotFound,
    1101: JobFailed,
    1102: WaitTimeout,
    1103: JobStopped,
}
"""The class of each code. Any other code raises `RpcError`."""
