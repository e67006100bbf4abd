# Made of openrpc.json by `make clients`. Change clients/generate/python.py instead.
"""Parameters and results as pydantic models. An absent optional field is None."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Union

from pydantic import Field

from ._base import Input, Model, Word

__all__ = [
    "Actor",
    "Attempt",
    "BeganNotice",
    "Capability",
    "Collection",
    "Context",
    "ContextLimits",
    "ContextPage",
    "ContextStatus",
    "Draining",
    "EndedNotice",
    "ErrorKind",
    "EventNotice",
    "EventsItem",
    "Explanation",
    "FailedJob",
    "Flow",
    "FlowItem",
    "FlowJob",
    "FlowJobSpec",
    "FlowNotice",
    "FlowOnFailure",
    "FlowOnFailureWord",
    "FlowPage",
    "FlowStatus",
    "FlowSummary",
    "FunctionParameter",
    "IdempotencyReusedData",
    "Identity",
    "IdentityPage",
    "Index",
    "InvalidParamsData",
    "Job",
    "JobError",
    "JobFailedData",
    "JobFilter",
    "JobItem",
    "JobNotFoundData",
    "JobPage",
    "JobResult",
    "JobSpec",
    "JobSpecInput",
    "JobStatus",
    "JobStatusWord",
    "JobStoppedData",
    "LaggedNotice",
    "Limits",
    "LineNotice",
    "LogLevel",
    "LogLine",
    "LogPage",
    "LoggedIn",
    "LogsItem",
    "Message",
    "MessageFormat",
    "MessageFormatWord",
    "MessageList",
    "MessageListWord",
    "MessageLog",
    "MessagePage",
    "MessageStatus",
    "MessageStatusWord",
    "MessageType",
    "MessageTypeWord",
    "Missed",
    "MissedWord",
    "NewToken",
    "NotFoundData",
    "ObjectPage",
    "Outcome",
    "Overlap",
    "OverlapWord",
    "Pong",
    "PongAnswer",
    "PoolDetails",
    "Presented",
    "Progress",
    "QueueFullData",
    "QueueInfo",
    "RateLimitedData",
    "Reason",
    "Role",
    "RoleWord",
    "Runner",
    "RunnerPage",
    "Schedule",
    "SchedulePage",
    "ScriptCheck",
    "ScriptFunction",
    "ScriptLimit",
    "ServerDetails",
    "StateData",
    "StoreInfo",
    "StoreUnavailableData",
    "Token",
    "TooLargeData",
    "Usage",
    "WaitRanOutData",
    "WaitsFor",
    "Who",
]


class JobStatus(Word):
    """The status of a job."""

    CREATED = "created"
    """Stored, and waits for `start_job`."""

    SCHEDULED = "scheduled"
    """Waits for its time: `run_at`, or the next attempt."""

    WAITING_FOR_PREREQUISITES = "waiting_for_prerequisites"
    """Waits for other jobs to finish."""

    DISPATCHED = "dispatched"
    """In a work queue."""

    STARTED = "started"
    """An actor runs it."""

    FINISHED = "finished"
    """Ended well; it has an output."""

    ERROR = "error"
    """Ended badly, was stopped, or ran out of time."""


JobStatusWord = Literal["created", "scheduled", "waiting_for_prerequisites", "dispatched", "started", "finished", "error"]


class JobResult(Model):
    """The result of a finished job."""

    job_id: str
    """The job."""

    status: Literal["finished"] = "finished"
    """Always `finished`: a job that ended in error is a JSON-RPC error."""

    output: str
    """The output, exactly as stored in Redis."""

    value: Any = None
    """The output as JSON, if the engine returned a structured value (always for Rhai)."""

    attempt: int
    """The number of the attempt that finished, from 1."""

    started_at: datetime | None = None
    """When that attempt began."""

    finished_at: datetime | None = None
    """When the job ended."""

    usage: Usage | None = None


class Usage(Model):
    """The resources that an attempt used."""

    operations: int
    """Script operations."""

    peak_memory: int
    """The peak memory of the script, or of one process of a command that it ran, in bytes."""

    run_ms: int
    """How long the script ran, in milliseconds."""

    cpu_us: int
    """The processor time of the script and its commands, in microseconds; 0 if it is not known, for example because the engine was
    killed."""


class Job(Model):
    """Everything that is known about a job. Fields that were never set are left out."""

    job_id: str
    """The job's id."""

    status: JobStatus

    name: str | None = None
    """The name its creator gave it."""

    labels: dict[str, str] | None = None
    """Labels its creator gave it."""

    context_id: int
    """The context it belongs to."""

    caller_id: str | None = None
    """The caller that created it."""

    script_type: str | None = None
    """The script type, whose actors run it."""

    script: str
    """The script."""

    args: Any = None
    """The value of `args` in the script."""

    group: str | None = None
    """Only actors of this group run it."""

    instance: int | None = None
    """Only this actor of the group runs it."""

    worker_id: str | None = None
    """The worker a client of the dispatcher protocol named."""

    priority: int
    """0 urgent, 1 normal, 2 low."""

    timeout: float | None = None
    """The time limit of one attempt in seconds."""

    retries: int
    """Extra attempts after an error or a timeout."""

    concurrent: bool
    """Whether the job may run at the same time as others of its actor."""

    env_vars: dict[str, str] | None = None
    """Its environment variables; the values are shown as `***`, except those that `HERO_PLAIN` names."""

    prerequisites: list[str] | None = None
    """Jobs that must finish first."""

    dependents: list[str] | None = None
    """Jobs that were named as waiting for this one when it was created."""

    parent_id: str | None = None
    """The parent job."""

    predecessor_id: str | None = None
    """The job that must end first, together with all its descendants."""

    run_at: datetime | None = None
    """The job does not run before this time."""

    log_path: str | None = None
    """The path of its log file, relative to the log directory."""

    client_rpc_id: str | None = None
    """An identifier chosen by the client."""

    attempt: int
    """How many attempts have begun."""

    crashes: int
    """How often its engine or actor died while it ran."""

    actor: str | None = None
    """The actor that runs it or ran it last."""

    created_at: datetime | None = None
    """When it was created."""

    updated_at: datetime | None = None
    """When it last changed."""

    queued_at: datetime | None = None
    """When it was last put into a queue."""

    started_at: datetime | None = None
    """When its last attempt began."""

    finished_at: datetime | None = None
    """When it ended."""

    stop_requested_at: datetime | None = None
    """When somebody asked to stop it."""

    progress: Progress | None = None

    output: str | None = None
    """The output of a finished job, exactly as stored."""

    error: JobError | None = None

    usage: Usage | None = None

    attempts: list[Attempt] | None = None
    """Its attempts, the newest 17 at most: only `get_job` has them."""

    truncated: list[str] | None = None
    """In a list: the fields that are cut or left out because they are long. `get_job` returns them in full."""


class Progress(Model):
    """The progress that a running script reports."""

    value: float
    """A number of the script's choice, usually percent."""

    text: str
    """The current step, in words."""


class JobError(Model):
    """The error of a job, and its place in the script."""

    kind: ErrorKind

    message: str
    """The error message."""

    line: int | None = None
    """The line of the script, from 1."""

    column: int | None = None
    """The column of the script, from 1."""

    stack: list[str] | None = None
    """The script functions that were running, innermost first."""

    limit: ScriptLimit | None = None

    data: Any = None
    """The value that the script threw, unless that was a string, nothing, or more than 64 KB of JSON. If it is a map with a string
    `message`, that is the message."""


class ErrorKind(Word):
    """The kind of the error of a job."""

    SCRIPT = "script"
    """The script is wrong or threw an error."""

    TIMEOUT = "timeout"
    """An attempt ran longer than `timeout`."""

    STOPPED = "stopped"
    """A client stopped it."""

    LIMIT = "limit"
    """The script hit a limit of its engine."""

    CRASHED = "crashed"
    """Its engine or its actor died, three times."""

    PREREQUISITE = "prerequisite"
    """A job that it waited for ended in error."""

    UNAVAILABLE = "unavailable"
    """It cannot run here: it has a bad field, or its engine does not start."""


class ScriptLimit(Word):
    """The limit that a script of kind `limit` hit."""

    OPERATIONS = "operations"
    """Too many operations."""

    CPU_TIME = "cpu_time"
    """Too much processor time."""

    MEMORY = "memory"
    """Too much memory, or one value too large."""

    LOG = "log"
    """Too much log."""

    RESULT = "result"
    """The result is too large or too deep."""

    SOURCE = "source"
    """The script itself is too large."""


class Attempt(Model):
    """One run of a job."""

    attempt: int
    """Its number, from 1."""

    actor: str | None = None
    """The actor that ran it."""

    started_at: datetime | None = None
    """When it began."""

    ended_at: datetime | None = None
    """When it ended."""

    error: JobError | None = None

    usage: Usage | None = None


class LogPage(Model):
    """Lines that a job logged, oldest first."""

    lines: list[LogLine]
    """The lines."""

    next_cursor: str | None = None
    """The cursor for the lines that follow, now or later."""

    ended: bool
    """Whether the job has ended and no lines follow."""


class LogLine(Model):
    """One line that a job logged."""

    cursor: str
    """The cursor for the lines after this one."""

    time: datetime | None = None
    """When it was logged; absent in lines of foreign log files."""

    level: LogLevel

    text: str
    """The text of the line."""


class LogLevel(Word):
    """The level of a log line."""

    DEBUG = "debug"
    """`debug(…)` of a script."""

    INFO = "info"
    """`print(…)` and `log_info(…)`."""

    WARN = "warn"
    """`log_warn(…)`."""

    ERROR = "error"
    """`log_error(…)`."""


class JobPage(Model):
    """A page of jobs, newest first."""

    jobs: list[Job]
    """The jobs."""

    next_cursor: str | None = None
    """The cursor of the next page; absent on the last. A page may have fewer jobs than `limit` although more follow."""


class Explanation(Model):
    """Why a job has not ended, or how it ended, with the known facts. They are read one after another, so they are not of one moment."""

    job_id: str
    """The job."""

    status: JobStatus

    reason: Reason

    message: str
    """The reason as a sentence."""

    waiting_for: list[WaitsFor] | None = None
    """The jobs it waits for."""

    due_at: datetime | None = None
    """When it is due."""

    queue: str | None = None
    """The Redis key of its queue."""

    depth: int | None = None
    """How many jobs wait in that queue."""

    position: int | None = None
    """Its position in that queue; 1 is taken next. Absent far back, and where callers take turns."""

    actors: int | None = None
    """How many live actors take from that queue, without those whose server drains."""

    running: int | None = None
    """How many jobs run in its context, without those of runners elsewhere."""

    max_running: int | None = None
    """How many jobs may run in its context."""

    progress: Progress | None = None

    attempts: list[Attempt] | None = None
    """Its attempts, including the one that runs or ran last."""


class Reason(Word):
    """Why a job is not running, as a word."""

    NOT_STARTED = "not_started"
    """Nobody has started it."""

    DUE_LATER = "due_later"
    """It is to run later."""

    WAITING_FOR_RETRY = "waiting_for_retry"
    """An attempt failed, and the next one is due later."""

    WAITING_FOR_PREREQUISITES = "waiting_for_prerequisites"
    """Other jobs must finish first."""

    WAITING_FOR_PARENT = "waiting_for_parent"
    """The script of its parent must return first."""

    WAITING_FOR_PREDECESSOR = "waiting_for_predecessor"
    """Its predecessor and all its descendants must end first."""

    PAUSED = "paused"
    """Its queue is paused."""

    WAITING_FOR_TURN = "waiting_for_turn"
    """Its context, or its runner, waits for its turn to have actors."""

    NO_LIVE_ACTOR = "no_live_actor"
    """No live actor takes from its queue."""

    DRAINING = "draining"
    """The actors that take from its queue take no more jobs, because they or their servers are ending."""

    AT_CONCURRENCY_CAP = "at_concurrency_cap"
    """Its context runs its maximum number of jobs."""

    ALL_ACTORS_BUSY = "all_actors_busy"
    """The actors that take from its queue have other jobs."""

    WAITING_FOR_ACTOR = "waiting_for_actor"
    """Its queue has actors, but nothing runs in its context: an actor is about to take the job, or all have just ended."""

    IN_NO_QUEUE = "in_no_queue"
    """It is in no queue: an actor may just have taken it."""

    RUNNING = "running"
    """It runs."""

    ENDED = "ended"
    """It has ended."""


class WaitsFor(Model):
    """A job that another one waits for."""

    job_id: str
    """That job."""

    status: JobStatus


class FlowOnFailure(Word):
    """How a flow treats its other jobs when one ends in error."""

    STOP = "stop"
    """They are stopped."""

    CONTINUE = "continue"
    """Those that do not wait for it continue."""


FlowOnFailureWord = Literal["stop", "continue"]


class Flow(Model):
    """Everything that is known about a flow."""

    flow_id: int
    """Its number."""

    status: FlowStatus

    name: str | None = None
    """The name its creator gave it."""

    context_id: int
    """The context it belongs to."""

    caller_id: str
    """The caller that created it."""

    on_failure: FlowOnFailure
    """How a flow treats its other jobs when one ends in error. `stop`: They are stopped. `continue`: Those that do not wait for it
    continue."""

    env_vars: dict[str, str] | None = None
    """The environment variables of all its jobs; the values are shown as `***`, except those that `HERO_PLAIN` names."""

    stop_requested: bool
    """Whether somebody asked to stop it."""

    created_at: datetime
    """When it was created, to the second."""

    updated_at: datetime
    """When it last changed, to the second."""

    started_at: datetime | None = None
    """When its first job began."""

    finished_at: datetime | None = None
    """When its last job ended."""

    jobs: list[FlowJob]
    """Its jobs, each after those that it waits for."""

    result: dict[str, str]
    """The results of its jobs by name, once it has ended: the outputs of the finished jobs, exactly as stored."""

    truncated: bool
    """Whether outputs are missing from `result`: those of more than 64 KB, and all after the first megabyte. `get_result` returns each."""

    graph: str
    """Its jobs as a graph, in the language of Mermaid."""


class FlowStatus(Word):
    """The status of a flow, in the words of the coordinator's specification."""

    DISPATCHED = "dispatched"
    """It is created or started, and none of its jobs has begun."""

    WAITING_FOR_PREREQUISITES = "waiting_for_prerequisites"
    """It is started, and waits for jobs outside the flow."""

    STARTED = "started"
    """One of its jobs has begun."""

    ERROR = "error"
    """All of its jobs have ended, and one of them in error."""

    FINISHED = "finished"
    """All of its jobs have finished."""


class FlowJob(Model):
    """One job of a flow, as it is now."""

    name: str
    """Its name in the flow."""

    job_id: str
    """The id of the job, as methods of jobs take it."""

    number: int
    """Its number: `n` of `job:{caller}:{n}`."""

    status: JobStatus | None = None

    depends_on: list[str] | None = None
    """The names of the jobs of the flow that it waits for."""

    script_type: str
    """The script type, whose actors run it."""

    runner: int | None = None
    """The number of the runner that runs it."""

    attempt: int
    """How many attempts have begun."""

    started_at: datetime | None = None
    """When its last attempt began."""

    finished_at: datetime | None = None
    """When it ended."""

    error: JobError | None = None


class FlowPage(Model):
    """Flows, newest first."""

    flows: list[FlowSummary]
    """The flows."""

    next_cursor: str | None = None
    """The cursor of the next page, if there are more."""


class FlowSummary(Model):
    """A flow in a list."""

    flow_id: int
    """Its number."""

    status: FlowStatus

    name: str | None = None
    """The name its creator gave it."""

    caller_id: str
    """The caller that created it."""

    jobs: int
    """How many jobs it has."""

    open: int
    """How many of them have not ended."""

    failed: int
    """How many of them ended in error."""

    stop_requested: bool
    """Whether somebody asked to stop it."""

    created_at: datetime
    """When it was created, to the second."""

    started_at: datetime | None = None
    """When its first job began."""

    finished_at: datetime | None = None
    """When its last job ended."""


class Schedule(Model):
    """A schedule and its progress."""

    schedule_id: str
    """Its id. Its jobs have it in the label `schedule`, and the time at which they were due in the label `slot`."""

    name: str | None = None
    """A display name."""

    cron: str | None = None
    """When it runs, as a cron pattern."""

    every: float | None = None
    """Seconds from one run to the next."""

    time_zone: str
    """The time zone of `cron` and of the times shown."""

    overlap: Overlap

    missed: Missed

    missed_limit: int
    """The maximum number of jobs that `missed: all` creates at a time."""

    start_at: datetime | None = None
    """The earliest time of a run."""

    end_at: datetime | None = None
    """The latest time of a run."""

    created_at: datetime
    """When it was created."""

    next_runs: list[datetime]
    """The next runs, at most five. A schedule without next runs has ended, and is deleted in a while."""

    suspended: str | None = None
    """Why its runs are skipped for now: its creator may no longer create jobs in the context. Absent if they are not."""

    last_run: datetime | None = None
    """When its last job was due."""

    last_job: str | None = None
    """Its last job."""

    runs: int
    """How many jobs it created."""

    skipped_runs: int
    """How many runs were skipped because the previous one had not ended."""

    missed_runs: int
    """How many runs were skipped because no server ran, or because its creator was not allowed to create jobs. At most 1000 are counted
    at a time."""

    job: JobSpec


class Overlap(Word):
    """How a run behaves if the previous one has not ended."""

    SKIP = "skip"
    """It is skipped and counted."""

    QUEUE = "queue"
    """Its job waits for the end of the previous one and of all its descendants. At most 100 wait; further runs are skipped."""

    ALLOW = "allow"
    """Its job runs at the same time."""


OverlapWord = Literal["skip", "queue", "allow"]


class Missed(Word):
    """How runs are treated that were due while no server ran: those that no server fired within 30 seconds, or with `skip` within 5."""

    SKIP = "skip"
    """They are skipped and counted."""

    ONCE = "once"
    """One job makes up for all of them."""

    ALL = "all"
    """Each gets its job, as far as `overlap` allows. Of more than `missed_limit`, only the newest do."""


MissedWord = Literal["skip", "once", "all"]


class JobSpec(Model):
    """A job to create. Only `script` is required. The order of the fields is the order of positional parameters, most used first."""

    script: str
    """The script to run."""

    script_type: str
    """The script type, whose actors run it: `osis`, `sal`, or a configured type."""

    args: Any = None
    """The value of `args` in the script: any JSON, nested at most 100 deep."""

    timeout: float | None = None
    """The time limit of one attempt in seconds. 60 by default."""

    retries: int
    """Extra attempts after an error or a timeout."""

    retry_backoff: float | None = None
    """Seconds before the second attempt, doubling for each further one up to 300. 1 by default."""

    priority: int
    """0 urgent, 1 normal, 2 low."""

    name: str | None = None
    """A display name."""

    labels: dict[str, str] | None = None
    """Labels for finding the job."""

    env_vars: dict[str, str] | None = None
    """Environment variables: the value of `env` in the script. Their values are secrets, masked in logs and in `get_job`. The variable
    `HERO_PLAIN` names those whose values are not: `"HERO_PLAIN": "MODE,CUSTOMER"`."""

    run_at: datetime | None = None
    """The job does not run before this time (RFC 3339)."""

    idempotency_key: str | None = None
    """A key for this request. For 24 hours, the same key with the same parameters returns the same job."""

    retention: float | None = None
    """Seconds to keep the job after its end."""

    prerequisites: list[str] | None = None
    """Jobs that must finish first."""

    parent_id: str | None = None
    """The parent job."""

    predecessor_id: str | None = None
    """The job that must end first, together with all its descendants."""

    group: str | None = None
    """Only actors of this group may run it."""

    instance: int | None = None
    """Only the actor with this number may run it, in the group `default` if no group is given."""

    concurrent: bool
    """Whether the job may run at the same time as others of its actor (`sal`)."""

    log_path: str | None = None
    """The path of its log file, relative to the log directory; at most 8 parts between slashes."""

    context_id: int
    """The context it belongs to."""

    caller_id: str | None = None
    """The caller that creates it: by default the identity of the session, else `anonymous`."""

    worker_id: str | None = None
    """The worker of the dispatcher protocol; a number is the instance."""

    dependents: list[str] | None = None
    """Jobs that wait for this job."""

    client_rpc_id: str | None = None
    """An identifier chosen by the client, stored unchanged."""

    job_id: str | None = None
    """The id of the job; a new one by default."""


class SchedulePage(Model):
    """A page of schedules, in the order of their next runs."""

    schedules: list[Schedule]
    """The schedules."""

    next_cursor: str | None = None
    """The cursor of the next page; absent on the last."""


class ObjectPage(Model):
    """Some objects of a collection."""

    objects: list[Any]
    """The objects, in order."""

    next_cursor: str | None = None
    """The `cursor` of the next page; absent on the last."""

    compared: list[str] | None = None
    """The fields of the filter that no index was used for. Objects were read one after another and compared, at most 10,000 for one
    page, so the page may be short although more follow."""

    looked_at: int
    """How many objects were read."""


class Collection(Model):
    """A collection of objects."""

    name: str
    """Its name."""

    objects: int
    """How many objects it has."""

    indexes: list[Index]
    """Its indexes, by the names of their fields."""

    typed: bool
    """Whether this server has a schema for its objects."""


class Index(Model):
    """An index of a collection."""

    field: str
    """The field. `address.city` names a nested field; a backslash escapes a dot in a name."""

    ready: bool
    """Whether it has all objects. An index that is being built is not used yet."""


class Identity(Model):
    """A caller that can be granted rights."""

    identity_id: int
    """Its number."""

    pubkey: str | None = None
    """Its public key, if it has one."""

    address: list[str]
    """The addresses at which it can be reached."""

    created_at: datetime
    """When it was created, to the second."""

    updated_at: datetime
    """When it was last changed, to the second."""


class IdentityPage(Model):
    """Identities by number."""

    identities: list[Identity]
    """The identities."""

    next_cursor: str | None = None
    """The cursor of the next page, if there are more. A page may have fewer identities than `limit` although more follow."""


class Who(Model):
    """The caller and its rights."""

    identity_id: int | None = None
    """Its identity, if it has logged in with one."""

    operator: bool
    """Whether the caller is the operator, who may do everything."""

    caller_id: str
    """The `caller_id` of jobs that it creates without naming one."""

    roles: dict[str, list[Role]]
    """Its roles in contexts."""


class Role(Word):
    """A role of an identity in a context."""

    ADMIN = "admin"
    """May do everything in the context, and grant rights in it."""

    CALLER = "caller"
    """May create, start, stop and read its own jobs, and use the objects."""

    READER = "reader"
    """May read everything."""

    EXECUTOR = "executor"
    """May run the jobs and flows of others: read, start, stop and retry them."""


RoleWord = Literal["admin", "caller", "reader", "executor"]


class LoggedIn(Model):
    """A login."""

    identity_id: int
    """Its identity."""

    token: str
    """The bearer token. Shown only once."""

    expires_at: datetime
    """When the token expires."""


class NewToken(Model):
    """A newly created token."""

    token_id: str
    """Its public name."""

    identity_id: int
    """Its identity."""

    name: str | None = None
    """Its purpose, in the words of its creator."""

    created_at: datetime
    """When it was created."""

    expires_at: datetime | None = None
    """When it expires; absent if it never does."""

    secret: str
    """The bearer token. Shown only once."""


class Presented(Model):
    """The identity of a token."""

    identity_id: int
    """Its identity."""

    expires_at: datetime | None = None
    """When the token expires, if it does."""


class Token(Model):
    """A token without its secret, which is shown only once, to its creator."""

    token_id: str
    """Its public name."""

    identity_id: int
    """Its identity."""

    name: str | None = None
    """Its purpose, in the words of its creator."""

    created_at: datetime
    """When it was created."""

    expires_at: datetime | None = None
    """When it expires; absent if it never does."""


class Context(Model):
    """A context with its roles and limits."""

    context_id: int
    """Its number."""

    admins: list[int]
    """The identities that may do everything in it."""

    callers: list[int]
    """The identities that may create jobs."""

    readers: list[int]
    """The identities that may read everything."""

    executors: list[int]
    """The identities that may run jobs."""

    created_at: datetime | None = None
    """When it was created, or rights were first granted in it, to the second."""

    updated_at: datetime | None = None
    """When it was last changed, to the second."""

    name: str | None = None
    """Its purpose, in the words of its creator."""

    limits: ContextLimits

    status: ContextStatus


class ContextLimits(Model):
    """The limits of a context. An absent value sets no limit. If the settings of a server have a limit, too, the lower one applies."""

    jobs_per_second: int | None = None
    """How many jobs may be created in a second."""

    queue_length: int | None = None
    """How many jobs a queue may have."""

    max_running: int | None = None
    """How many jobs may run at once, on all servers together. Jobs of runners elsewhere count there."""

    script_operations: int | None = None
    """The maximum number of operations of a script."""

    cpu_time: float | None = None
    """The maximum processor time of a job, in seconds."""

    objects_quota: int | None = None
    """How many bytes all objects may have together."""

    files_quota: int | None = None
    """How many bytes the files written by scripts may have."""


class ContextStatus(Word):
    """The status of a context."""

    ACTIVE = "active"
    """It accepts calls."""

    DELETING = "deleting"
    """It is being deleted, and accepts no calls."""


class ContextPage(Model):
    """Contexts by number."""

    contexts: list[Context]
    """The contexts."""

    next_cursor: str | None = None
    """The cursor of the next page, if there are more."""


class Runner(Model):
    """A runner, which runs the jobs of its script type in its group, `runner{runner_id}`."""

    runner_id: int
    """Its number."""

    script_type: str
    """The script type of its jobs."""

    local: bool
    """Whether it is a pool of this context; otherwise its jobs are sent to `address`."""

    topic: str
    """Its topic there and here; `runner{runner_id}` by default."""

    address: str | None = None
    """Its address, if it is not local."""

    pubkey: str | None = None
    """The key that signs the results of its jobs."""

    target_context: int
    """The context at the other side in which its jobs run."""

    name: str | None = None
    """Its purpose, in the words of its creator."""

    created_at: datetime
    """When it was created, to the second."""

    updated_at: datetime
    """When it was last changed, to the second."""


class RunnerPage(Model):
    """Runners by number."""

    runners: list[Runner]
    """The runners."""

    next_cursor: str | None = None
    """The cursor of the next page, if there are more."""


class Message(Model):
    """A message as it is stored."""

    caller_id: int
    """The sender; 0 is nobody."""

    message_id: int
    """Its number."""

    context_id: int
    """The context that has it."""

    message: str
    """The text."""

    message_type: MessageType

    message_format_type: MessageFormat

    timeout: int
    """The total seconds that it may take."""

    timeout_ack: int
    """The seconds within which the other side must store it."""

    timeout_result: int
    """The seconds after that within which its result must arrive, if it has jobs."""

    job: list[Any]
    """Its jobs, in the form of the coordinator's specification; the values of `env_vars` are shown as `***`."""

    logs: list[MessageLog]
    """Its log."""

    created_at: datetime
    """When it was created, to the second."""

    updated_at: datetime
    """When it was last changed, to the second."""

    status: MessageStatus

    target_context: int
    """The context that receives it."""

    topic: str | None = None
    """The topic at the other side, normally that of a runner."""

    address: str | None = None
    """Its destination."""

    public_key: str | None = None
    """The key that signed it, if that is known."""

    answers: int | None = None
    """The number of the message that it answers."""

    error: str | None = None
    """Why it is in error."""


class MessageType(Word):
    """The type of a message."""

    JOB = "job"
    """Jobs to run at the other side."""

    CHAT = "chat"
    """A line to somebody."""

    MAIL = "mail"
    """A letter to somebody."""

    RESULT = "result"
    """The end of a job that arrived in a message."""


MessageTypeWord = Literal["job", "chat", "mail", "result"]


class MessageFormat(Word):
    """The format of a message."""

    HTML = "html"
    """HTML."""

    TEXT = "text"
    """Plain text."""

    MD = "md"
    """Markdown."""


MessageFormatWord = Literal["html", "text", "md"]


class MessageLog(Model):
    """A line of the log of a message."""

    time: int
    """When it was logged, in seconds since 1970."""

    text: str
    """The text of the line."""


class MessageStatus(Word):
    """The status of a message."""

    DISPATCHED = "dispatched"
    """It is to be sent, or was received and not fetched."""

    ACKNOWLEDGED = "acknowledged"
    """The other side has stored it, or its owner has it."""

    ERROR = "error"
    """It did not arrive, or no result came in time."""

    PROCESSED = "processed"
    """Its result has arrived."""


MessageStatusWord = Literal["dispatched", "acknowledged", "error", "processed"]


class Pong(Model):
    """The result of a ping."""

    route: str
    """The route that it took."""

    answer: PongAnswer | None = None

    error: str | None = None
    """Why no answer came."""


class PongAnswer(Model):
    """The answer of another node to a ping."""

    key: str
    """Its key."""

    name: str | None = None
    """Its name in the setting `nodes` of the server that asks, if it has one there."""

    expected: str | None = None
    """The key that this setting has for the address, if a node with another key answers. Messages to it are not accepted there."""

    is_trusted: bool
    """Whether the server that asks accepts messages signed by that node."""

    trusts: bool
    """Whether that node accepts messages signed by the server that asks."""

    time: datetime
    """The time of its clock."""

    clock_ahead: float
    """The seconds by which its clock is ahead; below 0 it is behind."""

    round_trip: float
    """How long the answer took."""


class MessagePage(Model):
    """Messages of one list."""

    messages: list[Message]
    """The messages, in the order in which they are taken."""

    next_cursor: str | None = None
    """The cursor of the next page, if there are more."""


class Actor(Model):
    """A live actor."""

    script_type: str
    """The script type it runs."""

    group: str
    """Its group."""

    instance: int
    """Its number within the group."""

    foreign: bool | None = None
    """Whether it is another program, which takes jobs by the protocol in Redis."""

    unavailable: str | None = None
    """Why the server has no actors of this type, although it should. Such an entry is not a live actor."""

    pid: int | None = None
    """The process that runs it."""

    hostname: str | None = None
    """The machine of that process."""

    started_at: datetime | None = None
    """When it started."""

    version: str | None = None
    """The version of its program."""

    capabilities: list[str] | None = None
    """The capabilities of its scripts."""

    last_heartbeat: datetime | None = None
    """When it sent its last heartbeat."""

    incarnation: str | None = None
    """Identifies this start of the process, so that a restart under the same name is noticed."""

    in_flight: int | None = None
    """How many jobs it runs now."""

    draining: bool | None = None
    """Whether it takes no more jobs and ends when the running ones have ended, for example because its server drains."""

    confinement: str | None = None
    """The confinement of its engine: `weak: no …` with the missing steps, then a semicolon and the steps in force."""

    process: str | None = None
    """The machine and the process that run it, so that other processes there can check whether it still runs."""


class ScriptFunction(Model):
    """A function that scripts may call."""

    name: str
    """The name by which it is called, with its namespace if it has one: `osis::get`. In HeroScript that is `!!osis.get`."""

    group: str
    """The subject it belongs to."""

    parameters: list[FunctionParameter]
    """Its parameters, in order. The first one may also stand before the name: `array.join(", ")`."""

    returns: str
    """The type of its result, or several types with `|` between them; `nothing` is `()`."""

    description: str
    """Its description."""

    capability: Capability | None = None

    errors: str | None = None
    """When it fails. Scripts may catch the error."""

    example: str
    """A script that uses it."""

    example_result: Any = None
    """The result of the example, unless it has none or a different one each time."""


class FunctionParameter(Model):
    """A parameter of a function."""

    name: str
    """Its name. Scripts in Rhai give parameters by position, those in HeroScript also by name."""

    type: str
    """The type, or several types with `|` between them."""

    optional: bool
    """Whether it is optional."""


class Capability(Word):
    """A kind of calls that scripts may make to their actor. The script type implies it, or an operator grants it."""

    OBJECTS = "objects"
    """The objects of the context. Scripts of type `osis` have it."""

    JOBS = "jobs"
    """Reporting progress, creating other jobs, and reading the results of others. All scripts have it."""

    FS = "fs"
    """Files in the directory of the context. Pools of type `sal` are granted it by default."""

    PROCESS = "process"
    """Running commands, confined to the directory of the context."""

    NET = "net"
    """Connecting to the hosts that the operator named."""

    REDIS = "redis"
    """The Redis that the operator named."""


class ScriptCheck(Model):
    """The error of a script."""

    error: JobError | None = None


class QueueInfo(Model):
    """One work queue as `list_queues` shows it."""

    name: str
    """The Redis key of the queue."""

    script_type: str
    """The script type of its jobs."""

    group: str | None = None
    """Only actors of this group take from it."""

    instance: int | None = None
    """Only this actor of the group takes from it."""

    priority: int
    """0 urgent, 1 normal, 2 low."""

    depth: int
    """How many jobs wait in it."""

    actors: int
    """How many live actors take from it."""

    paused: bool
    """Whether it is paused: actors take nothing from it until it is resumed."""


class ServerDetails(Model):
    """The server that answers."""

    name: str
    """Always `hero`."""

    version: str
    """Its version."""

    server_id: str
    """The name of this run of the server, as in leases."""

    started_at: datetime
    """When it started."""

    uptime: float
    """How long it has been running."""

    listen: list[str]
    """The addresses it listens on."""

    contexts: list[int]
    """The contexts it serves."""

    pools: list[PoolDetails]
    """The pools of actors that it runs."""

    node_key: str | None = None
    """The key by which other nodes know this one."""

    store: StoreInfo | None = None

    limits: Limits


class PoolDetails(Model):
    """A pool of actors in this process."""

    script_type: str
    """The script type its actors run."""

    group: str
    """Their group."""

    context_id: int
    """The context whose jobs they run."""

    actors: int
    """Their number."""


class StoreInfo(Model):
    """The state of a Redis."""

    version: str
    """Its version."""

    used_memory: int
    """Bytes in use that count against the maximum. Buffers for replicas and for the append-only file do not count."""

    max_memory: int
    """Bytes it may use; 0 is no limit."""

    evicted_keys: int
    """Keys that it evicted for lack of memory. Each may have been a job."""

    warnings: list[str] | None = None
    """Problems of its configuration, and of its operation."""


class Limits(Model):
    """The limits of one connection, of one address, and of the whole server."""

    calls_per_second: int
    """Calls a second of one address; 0 does not limit them. Loopback without login is not limited."""

    calls_per_connection: int
    """Calls of one connection that are being answered at the same time."""

    calls_per_address: int
    """Calls of one address that are being answered at the same time."""

    batch: int
    """Calls in one batch. Each counts as one call."""

    request_bytes: int
    """Bytes of one request: a body, or a WebSocket message."""

    response_bytes: int
    """Bytes of one response."""

    subscriptions_per_connection: int
    """Subscriptions of one connection."""

    subscriptions_per_address: int
    """Subscriptions of one address."""

    held_per_connection: int
    """Bytes held for one connection: its requests until they are answered, and its answers until they are read. More make requests and
    calls wait."""

    held_per_address: int
    """Bytes held for one address."""

    held: int
    """Bytes held for all."""

    connections: int
    """Open connections of the server."""

    connections_per_address: int
    """Open connections of one address."""

    send_buffer: int
    """Messages of one connection that wait to be sent. More make calls and subscriptions wait."""

    send_timeout: float
    """How long a subscription waits for its slow reader before it ends with an error."""

    write_timeout: float
    """How long a client may leave ready data unread before its connection is closed."""

    handler_timeout: float
    """The maximum seconds of a call, besides the wait that it asks for."""

    idle_timeout: float
    """Seconds after which an HTTP connection without requests is closed."""

    ping_interval: float
    """Seconds between the WebSocket pings of the server; three without an answer close the connection."""


class EventNotice(Model):
    """One change of one job."""

    type: Literal["event"] = "event"

    cursor: str
    """The cursor for the events after this one."""

    time: datetime
    """When it happened."""

    job_id: str
    """The job that changed."""

    context_id: int
    """The context of that job."""

    status: JobStatus

    attempt: int
    """How many attempts have begun."""

    kind: ErrorKind | None = None

    progress: Progress | None = None


class BeganNotice(Model):
    """The subscription begins at this cursor. Nothing after it is missing."""

    type: Literal["began"] = "began"

    cursor: str
    """The cursor to resume from until another item arrives."""


class LaggedNotice(Model):
    """Items were lost, because the subscriber reads too slowly or its cursor is too old."""

    type: Literal["lagged"] = "lagged"

    cursor: str
    """The cursor to resume from."""


class EndedNotice(Model):
    """The subscription ended by itself. Nothing follows."""

    type: Literal["ended"] = "ended"


class FlowNotice(Model):
    """A change of a flow, or of one of its jobs."""

    type: Literal["flow"] = "flow"

    flow_id: int
    """The flow."""

    status: FlowStatus

    open: int
    """How many of its jobs have not ended."""

    cursor: str | None = None
    """The cursor for the items after this one. Absent if the flow's jobs are gone."""

    job: str | None = None
    """The name of the job that changed. Absent if the item is the current state of the flow, and no job changed."""

    job_id: str | None = None
    """The id of that job."""

    job_status: JobStatus | None = None

    kind: ErrorKind | None = None

    attempt: int | None = None
    """How many of its attempts have begun."""


class LineNotice(Model):
    """One line that a job logged."""

    type: Literal["line"] = "line"

    cursor: str
    """The cursor for the lines after this one."""

    time: datetime | None = None
    """When it was logged; absent in lines of foreign log files."""

    level: LogLevel

    text: str
    """The text of the line."""


class Draining(Model):
    """A server that drains."""

    running: int
    """How many jobs run there."""


class JobSpecInput(Input):
    """A job to create. Only `script` is required. The order of the fields is the order of positional parameters, most used first."""

    script: str
    """The script to run."""

    script_type: str | None = None
    """The script type, whose actors run it: `osis`, `sal`, or a configured type."""

    args: Any = None
    """The value of `args` in the script: any JSON, nested at most 100 deep."""

    timeout: float | None = None
    """The time limit of one attempt in seconds. 60 by default."""

    retries: int | None = None
    """Extra attempts after an error or a timeout."""

    retry_backoff: float | None = None
    """Seconds before the second attempt, doubling for each further one up to 300. 1 by default."""

    priority: int | None = None
    """0 urgent, 1 normal, 2 low."""

    name: str | None = None
    """A display name."""

    labels: dict[str, str] | None = None
    """Labels for finding the job."""

    env_vars: dict[str, str] | None = None
    """Environment variables: the value of `env` in the script. Their values are secrets, masked in logs and in `get_job`. The variable
    `HERO_PLAIN` names those whose values are not: `"HERO_PLAIN": "MODE,CUSTOMER"`."""

    run_at: datetime | None = None
    """The job does not run before this time (RFC 3339)."""

    idempotency_key: str | None = None
    """A key for this request. For 24 hours, the same key with the same parameters returns the same job."""

    retention: float | None = None
    """Seconds to keep the job after its end."""

    prerequisites: list[str] | None = None
    """Jobs that must finish first."""

    parent_id: str | None = None
    """The parent job."""

    predecessor_id: str | None = None
    """The job that must end first, together with all its descendants."""

    group: str | None = None
    """Only actors of this group may run it."""

    instance: int | None = None
    """Only the actor with this number may run it, in the group `default` if no group is given."""

    concurrent: bool | None = None
    """Whether the job may run at the same time as others of its actor (`sal`)."""

    log_path: str | None = None
    """The path of its log file, relative to the log directory; at most 8 parts between slashes."""

    context_id: int | None = None
    """The context it belongs to."""

    caller_id: str | None = None
    """The caller that creates it: by default the identity of the session, else `anonymous`."""

    worker_id: str | None = None
    """The worker of the dispatcher protocol; a number is the instance."""

    dependents: list[str] | None = None
    """Jobs that wait for this job."""

    client_rpc_id: str | None = None
    """An identifier chosen by the client, stored unchanged."""

    job_id: str | None = None
    """The id of the job; a new one by default."""


class JobFilter(Input):
    """The jobs to list or follow. Absent fields do not restrict them."""

    status: JobStatus | JobStatusWord | None = None

    script_type: str | None = None
    """Only jobs of this script type."""

    caller_id: str | None = None
    """Only jobs that this caller created."""

    group: str | None = None
    """Only jobs for this group."""

    name: str | None = None
    """Only jobs of this name."""

    parent_id: str | None = None
    """Only children of this job."""

    labels: dict[str, str] | None = None
    """Only jobs that have all these labels; 16 at most."""

    created_after: datetime | None = None
    """Only jobs created at this time or later."""

    created_before: datetime | None = None
    """Only jobs created before this time."""


class FlowJobSpec(Input):
    """One job of a flow to create. Only `script` is required."""

    script: str
    """The script to run."""

    script_type: str | None = None
    """The script type, whose actors run it: `osis`, `sal`, or a configured type; by default that of its runner, or `osis`."""

    args: Any = None
    """The value of `args` in the script: any JSON."""

    depends_on: list[str] | None = None
    """The names of the jobs of the flow that must finish first. Its script reads their results as `inputs.NAME`."""

    runner: int | None = None
    """The number of the runner that runs it."""

    group: str | None = None
    """Only actors of this group may run it."""

    priority: int | None = None
    """0 urgent, 1 normal, 2 low."""

    timeout: float | None = None
    """The time limit of one attempt in seconds. 60 by default."""

    retries: int | None = None
    """Extra attempts after an error or a timeout."""

    retry_backoff: float | None = None
    """Seconds before the second attempt, doubling for each further one up to 300. 1 by default."""

    env_vars: dict[str, str] | None = None
    """Environment variables besides those of the flow. A variable here replaces that of the same name there."""

    labels: dict[str, str] | None = None
    """Labels for finding the job."""


class MessageList(Word):
    """The lists in which messages wait."""

    IN = "in"
    """Received messages that were not fetched."""

    OUT = "out"
    """Messages to be sent."""


MessageListWord = Literal["in", "out"]


class StateData(Model):
    """The data of error 1002: the state that prevents the call."""

    job_id: str | None = None
    """The job."""

    flow_id: int | None = None
    """The flow."""

    schedule_id: str | None = None
    """The schedule."""

    status: JobStatus | JobStatusWord | None = None

    prerequisite: str | None = None
    """The job that it waits for, which failed."""

    running: int | None = None
    """How many jobs of the context run."""

    queued: int | None = None
    """How many jobs of the context wait in queues."""

    scheduled: int | None = None
    """How many jobs of the context wait for their time, or for somebody to start them."""

    messages: int | None = None
    """How many messages of the context wait."""

    index: int | None = None
    """The index of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class InvalidParamsData(Model):
    """The data of error -32602: the error of a script that does not compile, if that is the cause."""

    error: JobError | None = None

    index: int | None = None
    """The index of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class JobNotFoundData(Model):
    """The data of error 1001: the job that does not exist."""

    job_id: str | None = None
    """The job."""

    index: int | None = None
    """The index of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class RateLimitedData(Model):
    """The data of error 1006: when to try again."""

    retry_after_ms: int | None = None
    """The milliseconds after which to try again."""

    flow_id: int | None = None
    """The flow that another call is creating."""

    index: int | None = None
    """The index of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class QueueFullData(Model):
    """The data of error 1007: when to try again."""

    retry_after_ms: int | None = None
    """The milliseconds after which to try again."""

    index: int | None = None
    """The index of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class TooLargeData(Model):
    """The data of error 1008: the limit."""

    limit: int | None = None
    """The limit, in the unit that the message names."""

    index: int | None = None
    """The index of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class StoreUnavailableData(Model):
    """The data of error 1009: the outcome of the call."""

    outcome: Outcome | None = None

    job_id: str | None = None
    """The job that may have been stored."""

    key: str | None = None
    """The key of Redis that another program has spoilt, if that is the cause."""

    index: int | None = None
    """The index of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class Outcome(Word):
    """The outcome of a call that the store did not answer."""

    NOT_DONE = "not_done"
    """Nothing was done."""

    UNKNOWN = "unknown"
    """Whether it was done is unknown."""


class IdempotencyReusedData(Model):
    """The data of error 1010: the job, flow or schedule that the key stands for."""

    job_id: str | None = None
    """The job."""

    flow_id: int | None = None
    """The flow."""

    schedule_id: str | None = None
    """The schedule."""

    index: int | None = None
    """The index of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class NotFoundData(Model):
    """The data of error 1011: the flow, schedule or object that does not exist."""

    flow_id: int | None = None
    """The flow."""

    schedule_id: str | None = None
    """The schedule."""

    collection: str | None = None
    """The collection of the object."""

    id: str | None = None
    """The id of the object."""

    index: int | None = None
    """The index of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class JobFailedData(Model):
    """The data of error 1101: how a job or a flow failed."""

    job_id: str | None = None
    """The job."""

    status: JobStatus | JobStatusWord | None = None

    attempt: int | None = None
    """The attempt that failed."""

    error: JobError | None = None

    flow_id: int | None = None
    """The flow."""

    failed: list[FailedJob] | None = None
    """The jobs of the flow that failed."""

    index: int | None = None
    """The index of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class FailedJob(Model):
    """A job of a flow that failed."""

    job: str
    """Its name in the flow."""

    job_id: str
    """Its id."""

    error: JobError


class WaitRanOutData(Model):
    """The data of error 1102: the job or the flow that is waited for."""

    job_id: str | None = None
    """The job, which continues."""

    flow_id: int | None = None
    """The flow, which continues."""

    status: JobStatus | JobStatusWord | None = None

    explanation: str | None = None
    """Why it is not running, as a sentence."""

    reason: Reason | None = None

    open: int | None = None
    """How many jobs of the flow have not ended."""

    index: int | None = None
    """The index of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class JobStoppedData(Model):
    """The data of error 1103: the job or the flow that was stopped."""

    job_id: str | None = None
    """The job."""

    status: JobStatus | JobStatusWord | None = None

    attempt: int | None = None
    """The attempt that failed."""

    error: JobError | None = None

    flow_id: int | None = None
    """The flow."""

    failed: list[FailedJob] | None = None
    """The jobs of the flow that failed."""

    index: int | None = None
    """The index of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


JobItem = Annotated[Union[EventNotice, BeganNotice, LaggedNotice, EndedNotice], Field(discriminator="type")]
"""An item of `subscribe_job`. Its `type` names the variant."""


FlowItem = Annotated[Union[FlowNotice, EndedNotice], Field(discriminator="type")]
"""An item of `subscribe_flow`. Its `type` names the variant."""


EventsItem = Annotated[Union[EventNotice, BeganNotice, LaggedNotice, EndedNotice], Field(discriminator="type")]
"""An item of `subscribe_events`. Its `type` names the variant."""


LogsItem = Annotated[Union[LineNotice, LaggedNotice, EndedNotice], Field(discriminator="type")]
"""An item of `subscribe_logs`. Its `type` names the variant."""
