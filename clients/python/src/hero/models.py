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
    """Where a job is in its life."""

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
    """Always `finished`: a job that ended badly is a JSON-RPC error."""

    output: str
    """The output, exactly as stored in Redis."""

    value: Any = None
    """The output as JSON, where the engine gave a structured value (always for Rhai)."""

    attempt: int
    """The number of the attempt that finished, from 1."""

    started_at: datetime | None = None
    """When that attempt began."""

    finished_at: datetime | None = None
    """When the job ended."""

    usage: Usage | None = None


class Usage(Model):
    """What an attempt used."""

    operations: int
    """Script operations."""

    peak_memory: int
    """The most memory the script held at once, or one process of a command that it ran, in bytes."""

    run_ms: int
    """How long the script ran, in milliseconds."""

    cpu_us: int
    """How much processor time it took, with its commands, in microseconds; 0 where that is not known, as of a script whose engine was
    killed."""


class Job(Model):
    """Everything that is known of a job. What was never set is left out."""

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
    """Who created it."""

    script_type: str | None = None
    """Which kind of actor runs it."""

    script: str
    """The script."""

    args: Any = None
    """What the script sees as `args`."""

    group: str | None = None
    """Only actors of this group run it."""

    instance: int | None = None
    """Only this actor of the group runs it."""

    worker_id: str | None = None
    """The worker a client of the dispatcher protocol named."""

    priority: int
    """0 urgent, 1 normal, 2 low."""

    timeout: float | None = None
    """The most seconds one attempt may take."""

    retries: int
    """Extra attempts after an error or a timeout."""

    concurrent: bool
    """Whether it may run beside other jobs of its actor."""

    env_vars: dict[str, str] | None = None
    """Its environment variables; the values are shown as `***`, but for those that `HERO_PLAIN` names."""

    prerequisites: list[str] | None = None
    """Jobs that must finish first."""

    dependents: list[str] | None = None
    """Jobs that were named as waiting for this one when it was created."""

    parent_id: str | None = None
    """The job whose child it is."""

    predecessor_id: str | None = None
    """The job that must end first, with all its descendants."""

    run_at: datetime | None = None
    """Not before this time."""

    log_path: str | None = None
    """Where its log file is, below the log directory."""

    client_rpc_id: str | None = None
    """An identifier of the client's own."""

    attempt: int
    """How many attempts have begun."""

    crashes: int
    """How often an engine or actor died under it."""

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
    """In a list: what is cut or left out here because it is long. `get_job` gives all of it."""


class Progress(Model):
    """How far a running script says it is."""

    value: float
    """A number of the script's choice, usually percent."""

    text: str
    """What it is doing."""


class JobError(Model):
    """How and where a job went wrong."""

    kind: ErrorKind

    message: str
    """What happened, in words."""

    line: int | None = None
    """The line of the script, from 1."""

    column: int | None = None
    """The column of the script, from 1."""

    stack: list[str] | None = None
    """The script functions that were running, innermost first."""

    limit: ScriptLimit | None = None

    data: Any = None
    """What the script threw, unless that was a text, nothing, or more than 64 KB of JSON. If it is a map with a text `message`, that is
    the message."""


class ErrorKind(Word):
    """Why a job ended badly."""

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
    """A job it waited for ended badly."""

    UNAVAILABLE = "unavailable"
    """It can't be run here as it stands: a bad field, or an engine that does not start."""


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
    """Where to go on reading, now or later."""

    ended: bool
    """Whether the job has ended and nothing follows."""


class LogLine(Model):
    """One line that a job logged."""

    cursor: str
    """Where to go on reading after this line."""

    time: datetime | None = None
    """When it was logged; absent in lines of foreign log files."""

    level: LogLevel

    text: str
    """What was logged."""


class LogLevel(Word):
    """How serious a log line is."""

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
    """Where the next page begins; absent on the last. A page may hold fewer jobs than asked for and still have a next."""


class Explanation(Model):
    """Why a job has not ended, or how it did, with what is known of it. It is gathered from several places, not of one moment."""

    job_id: str
    """The job."""

    status: JobStatus

    reason: Reason

    message: str
    """The same for people."""

    waiting_for: list[WaitsFor] | None = None
    """The jobs it waits for."""

    due_at: datetime | None = None
    """When it is due."""

    queue: str | None = None
    """The Redis key of its queue."""

    depth: int | None = None
    """How many jobs wait in that queue."""

    position: int | None = None
    """Its place there; 1 is taken next. Absent far back, and where callers take turns."""

    actors: int | None = None
    """How many live actors take from that queue, without those whose server drains."""

    running: int | None = None
    """How many jobs run in its context, without those of runners elsewhere."""

    max_running: int | None = None
    """How many may."""

    progress: Progress | None = None

    attempts: list[Attempt] | None = None
    """Its attempts, with the one that runs or ran last."""


class Reason(Word):
    """Why a job does not run now, in a word."""

    NOT_STARTED = "not_started"
    """Nobody has started it."""

    DUE_LATER = "due_later"
    """It is to run later."""

    WAITING_FOR_RETRY = "waiting_for_retry"
    """An attempt failed, and the next one has its time."""

    WAITING_FOR_PREREQUISITES = "waiting_for_prerequisites"
    """Other jobs must finish first."""

    WAITING_FOR_PARENT = "waiting_for_parent"
    """The script of its parent must return first."""

    WAITING_FOR_PREDECESSOR = "waiting_for_predecessor"
    """Its predecessor and all descendants of that must end first."""

    PAUSED = "paused"
    """Its queue is paused."""

    WAITING_FOR_TURN = "waiting_for_turn"
    """Its context, or its runner, waits for its turn to have actors."""

    NO_LIVE_ACTOR = "no_live_actor"
    """No live actor takes from its queue."""

    DRAINING = "draining"
    """All actors that take from its queue take no more jobs, because they end, or their server does."""

    AT_CONCURRENCY_CAP = "at_concurrency_cap"
    """As many jobs run in its context as may."""

    ALL_ACTORS_BUSY = "all_actors_busy"
    """The actors that take from its queue have other jobs."""

    WAITING_FOR_ACTOR = "waiting_for_actor"
    """Actors take from its queue, but nothing runs in its context: one takes it now, or all have ended just now."""

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
    """What becomes of the other jobs when one ends in error."""

    STOP = "stop"
    """They are stopped."""

    CONTINUE = "continue"
    """Those that do not wait for it go on."""


FlowOnFailureWord = Literal["stop", "continue"]


class Flow(Model):
    """Everything that is known of a flow."""

    flow_id: int
    """Its number."""

    status: FlowStatus

    name: str | None = None
    """The name its creator gave it."""

    context_id: int
    """The context it belongs to."""

    caller_id: str
    """Who created it."""

    on_failure: FlowOnFailure
    """What becomes of the other jobs when one ends in error. `stop`: They are stopped. `continue`: Those that do not wait for it go on."""

    env_vars: dict[str, str] | None = None
    """What its jobs share as `env`; the values are shown as `***`, but for those that `HERO_PLAIN` names."""

    stop_requested: bool
    """Whether somebody asked to stop it."""

    created_at: datetime
    """When it was made, to the second."""

    updated_at: datetime
    """When it last changed, to the second."""

    started_at: datetime | None = None
    """When its first job began."""

    finished_at: datetime | None = None
    """When its last job ended."""

    jobs: list[FlowJob]
    """Its jobs. Each stands behind those that it waits for."""

    result: dict[str, str]
    """What its jobs gave, by their names, once it has ended: the outputs of those that finished, exactly as stored."""

    truncated: bool
    """Whether outputs are missing from `result`: those of more than 64 KB, and all behind the first megabyte. `get_result` gives each."""

    graph: str
    """Its jobs as a graph, in the language of Mermaid."""


class FlowStatus(Word):
    """Where a flow is in its life: the words of the coordinator's specification."""

    DISPATCHED = "dispatched"
    """It is made, or started, and none of its jobs has begun."""

    WAITING_FOR_PREREQUISITES = "waiting_for_prerequisites"
    """It is started, and waits for jobs that are none of its own."""

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
    """Its id, by which it is a job like any other."""

    number: int
    """Its number: `n` of `job:{caller}:{n}`."""

    status: JobStatus | None = None

    depends_on: list[str] | None = None
    """The names of the jobs of the flow that it waits for."""

    script_type: str
    """Which kind of actor runs it."""

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
    """Flows, the newest first."""

    flows: list[FlowSummary]
    """The flows."""

    next_cursor: str | None = None
    """Where the next page begins, if there are more."""


class FlowSummary(Model):
    """A flow in a list."""

    flow_id: int
    """Its number."""

    status: FlowStatus

    name: str | None = None
    """The name its creator gave it."""

    caller_id: str
    """Who created it."""

    jobs: int
    """How many jobs it has."""

    open: int
    """How many of them have not ended."""

    failed: int
    """How many of them ended in error."""

    stop_requested: bool
    """Whether somebody asked to stop it."""

    created_at: datetime
    """When it was made, to the second."""

    started_at: datetime | None = None
    """When its first job began."""

    finished_at: datetime | None = None
    """When its last job ended."""


class Schedule(Model):
    """A schedule: what was asked for, and how far it has come."""

    schedule_id: str
    """Its id. Its jobs carry it as the label `schedule`, and the time they were due at as the label `slot`."""

    name: str | None = None
    """A name for people."""

    cron: str | None = None
    """When it runs, as a cron pattern."""

    every: float | None = None
    """Seconds from one run to the next."""

    time_zone: str
    """Where `cron` is read and times are shown."""

    overlap: Overlap

    missed: Missed

    missed_limit: int
    """The most jobs that `missed: all` makes up for at a time."""

    start_at: datetime | None = None
    """No run is before this time."""

    end_at: datetime | None = None
    """No run is after this time."""

    created_at: datetime
    """When it was created."""

    next_runs: list[datetime]
    """The next runs, five at most. None: it has come to its end, and is deleted in a while."""

    suspended: str | None = None
    """Why its runs are left out until that has changed, if they are: its creator may not create jobs in the context any more."""

    last_run: datetime | None = None
    """When its last job was due."""

    last_job: str | None = None
    """Its last job."""

    runs: int
    """How many jobs it made."""

    skipped_runs: int
    """How many runs were left out because the one before had not ended."""

    missed_runs: int
    """How many runs were left out because no server ran, or because its creator might not create jobs then. At most 1000 are counted at
    a time."""

    job: JobSpec


class Overlap(Word):
    """What a run does when the one before has not ended."""

    SKIP = "skip"
    """It is left out and counted."""

    QUEUE = "queue"
    """Its job waits for the end of the one before, and of all that one's descendants. At most 100 wait; more are left out."""

    ALLOW = "allow"
    """Its job runs beside it."""


OverlapWord = Literal["skip", "queue", "allow"]


class Missed(Word):
    """What becomes of runs that were due while no server ran: of those that none has fired within 30 seconds, and with `skip` within 5."""

    SKIP = "skip"
    """They are left out and counted."""

    ONCE = "once"
    """One job makes up for all of them."""

    ALL = "all"
    """Each gets its job, as far as `overlap` allows; of more than `missed_limit`, the newest."""


MissedWord = Literal["skip", "once", "all"]


class JobSpec(Model):
    """What a job is to be. Only `script` is needed. The order of the fields is the order of positional parameters: what is used most
    comes first."""

    script: str
    """The script to run."""

    script_type: str
    """Which kind of actor runs it: `osis`, `sal`, or a configured type."""

    args: Any = None
    """What the script sees as `args`: any JSON, with at most 100 arrays and objects in each other."""

    timeout: float | None = None
    """The most seconds one attempt may take. 60 by default."""

    retries: int
    """Extra attempts after an error or a timeout."""

    retry_backoff: float | None = None
    """Seconds before the second attempt, doubling for each further one up to 300. 1 by default."""

    priority: int
    """0 urgent, 1 normal, 2 low."""

    name: str | None = None
    """A name for people."""

    labels: dict[str, str] | None = None
    """Labels to find it by."""

    env_vars: dict[str, str] | None = None
    """What the script sees as `env`. The values are secrets, masked in logs and in `get_job`, but for those of the variables that
    `HERO_PLAIN` among them names: `"HERO_PLAIN": "MODE,CUSTOMER"`."""

    run_at: datetime | None = None
    """Not before this time (RFC 3339)."""

    idempotency_key: str | None = None
    """The same key with the same parameters gives the same job again, for 24 hours."""

    retention: float | None = None
    """Seconds to keep the job after its end."""

    prerequisites: list[str] | None = None
    """Jobs that must finish first."""

    parent_id: str | None = None
    """The job whose child it is."""

    predecessor_id: str | None = None
    """The job that must end first, with all its descendants."""

    group: str | None = None
    """Only actors of this group may run it."""

    instance: int | None = None
    """Only this actor may run it; without a group that of the group `default`."""

    concurrent: bool
    """Whether it may run beside other jobs of its actor (`sal`)."""

    log_path: str | None = None
    """Where to write its log file, below the log directory; at most 8 parts between slashes."""

    context_id: int
    """The context it belongs to."""

    caller_id: str | None = None
    """Who creates it; the session's identity by default, else `anonymous`."""

    worker_id: str | None = None
    """The worker of the dispatcher protocol; a number is the instance."""

    dependents: list[str] | None = None
    """Jobs that wait for this one."""

    client_rpc_id: str | None = None
    """An identifier of the client's own, kept as it is."""

    job_id: str | None = None
    """The id the job shall have; a new one by default."""


class SchedulePage(Model):
    """A page of schedules, in the order of their next runs."""

    schedules: list[Schedule]
    """The schedules."""

    next_cursor: str | None = None
    """Where the next page begins; absent on the last."""


class ObjectPage(Model):
    """Some objects of a collection."""

    objects: list[Any]
    """The objects, in order."""

    next_cursor: str | None = None
    """Where to go on, as `cursor`; absent at the end."""

    compared: list[str] | None = None
    """The fields that were asked for and not looked up in an index: objects were read one after another and compared, at most 10,000
    for one page, which therefore may be short although more follow."""

    looked_at: int
    """How many objects were looked at."""


class Collection(Model):
    """A collection of objects."""

    name: str
    """Its name."""

    objects: int
    """How many objects it has."""

    indexes: list[Index]
    """Its indexes, by the names of their fields."""

    typed: bool
    """Whether its objects have to fit a schema on this server."""


class Index(Model):
    """An index of a collection."""

    field: str
    """The field; `address.city` is a field of a field, and a dot in a name has a backslash before it."""

    ready: bool
    """Whether it has all objects. One that is being made is not used yet."""


class Identity(Model):
    """Who may call and be granted rights."""

    identity_id: int
    """Its number."""

    pubkey: str | None = None
    """Its public key, if it has one."""

    address: list[str]
    """Where it can be reached."""

    created_at: datetime
    """When it was made, to the second."""

    updated_at: datetime
    """When it was last changed, to the second."""


class IdentityPage(Model):
    """Identities in the order of their numbers."""

    identities: list[Identity]
    """The identities."""

    next_cursor: str | None = None
    """Where the next page begins, if there are more. A page may hold fewer identities than asked for and still have a next."""


class Who(Model):
    """Who makes a call."""

    identity_id: int | None = None
    """Its identity, if it has logged in with one."""

    operator: bool
    """Whether it is whoever runs the server, who may do everything."""

    caller_id: str
    """The `caller_id` of jobs that it creates without naming one."""

    roles: dict[str, list[Role]]
    """Its roles in contexts."""


class Role(Word):
    """What an identity may do in a context."""

    ADMIN = "admin"
    """Everything in the context, and to grant rights in it."""

    CALLER = "caller"
    """To create, start, stop and read its own jobs, and to use the objects."""

    READER = "reader"
    """To read everything."""

    EXECUTOR = "executor"
    """To run what others have made: to read jobs and flows, and to start, stop and retry them."""


RoleWord = Literal["admin", "caller", "reader", "executor"]


class LoggedIn(Model):
    """Who has logged in."""

    identity_id: int
    """Its identity."""

    token: str
    """What it shows from now on. It is told only now."""

    expires_at: datetime
    """When the token ends."""


class NewToken(Model):
    """A token that was just made."""

    token_id: str
    """Its public name."""

    identity_id: int
    """Whom it stands for."""

    name: str | None = None
    """What it is for, in the words of whoever made it."""

    created_at: datetime
    """When it was made."""

    expires_at: datetime | None = None
    """When it ends; never, if this is absent."""

    secret: str
    """What whoever has it shows."""


class Presented(Model):
    """Whom a token stands for."""

    identity_id: int
    """Its identity."""

    expires_at: datetime | None = None
    """When the token ends, if it does."""


class Token(Model):
    """What is known of a token. Its secret is not: whoever made it was shown it once."""

    token_id: str
    """Its public name."""

    identity_id: int
    """Whom it stands for."""

    name: str | None = None
    """What it is for, in the words of whoever made it."""

    created_at: datetime
    """When it was made."""

    expires_at: datetime | None = None
    """When it ends; never, if this is absent."""


class Context(Model):
    """A context: who may do what in it, and what may be used there."""

    context_id: int
    """Its number."""

    admins: list[int]
    """Who may do everything in it."""

    callers: list[int]
    """Who may create jobs."""

    readers: list[int]
    """Who may read everything."""

    executors: list[int]
    """Who may run jobs."""

    created_at: datetime | None = None
    """When it was made, or rights were first granted in it, to the second."""

    updated_at: datetime | None = None
    """When it was last changed, to the second."""

    name: str | None = None
    """What it is for, in the words of whoever made it."""

    limits: ContextLimits

    status: ContextStatus


class ContextLimits(Model):
    """What may be used in a context. What is absent is not limited there; where the settings of a server have a limit, too, the lower
    one holds."""

    jobs_per_second: int | None = None
    """How many jobs may be created in a second."""

    queue_length: int | None = None
    """How many jobs a queue may have."""

    max_running: int | None = None
    """How many jobs run at once, on all servers together; those of runners elsewhere count there."""

    script_operations: int | None = None
    """The most operations of a script."""

    cpu_time: float | None = None
    """The longest that a job may use a processor, in seconds."""

    objects_quota: int | None = None
    """How many bytes all objects may have together."""

    files_quota: int | None = None
    """How many bytes the files may have that scripts write."""


class ContextStatus(Word):
    """Where a context is in its life."""

    ACTIVE = "active"
    """It takes calls."""

    DELETING = "deleting"
    """It is being deleted: it takes none any more."""


class ContextPage(Model):
    """Contexts in the order of their numbers."""

    contexts: list[Context]
    """The contexts."""

    next_cursor: str | None = None
    """Where the next page begins, if there are more."""


class Runner(Model):
    """Runs the jobs of its script type that are for its group, `runner{runner_id}`."""

    runner_id: int
    """Its number."""

    script_type: str
    """The script type of its jobs."""

    local: bool
    """Whether it is a pool of this context; otherwise its jobs are sent to `address`."""

    topic: str
    """What it is called there and here, `runner{runner_id}` unless it was given."""

    address: str | None = None
    """Where it is, if it is not local."""

    pubkey: str | None = None
    """The key with which results of its jobs are signed."""

    target_context: int
    """The context at the other side in which its jobs run."""

    name: str | None = None
    """What it is for, in the words of whoever made it."""

    created_at: datetime
    """When it was made, to the second."""

    updated_at: datetime
    """When it was last changed, to the second."""


class RunnerPage(Model):
    """Runners in the order of their numbers."""

    runners: list[Runner]
    """The runners."""

    next_cursor: str | None = None
    """Where the next page begins, if there are more."""


class Message(Model):
    """A message as it is stored."""

    caller_id: int
    """Who sent it; 0 is nobody."""

    message_id: int
    """Its number."""

    context_id: int
    """The context that has it."""

    message: str
    """What it says."""

    message_type: MessageType

    message_format_type: MessageFormat

    timeout: int
    """The seconds that it may take in all."""

    timeout_ack: int
    """The seconds within which the other side has to have stored it."""

    timeout_result: int
    """The seconds after that within which its result has to come, if it has jobs."""

    job: list[Any]
    """Its jobs, as the coordinator writes them; the values of `env_vars` are shown as `***`."""

    logs: list[MessageLog]
    """What happened to it."""

    created_at: datetime
    """When it was made, to the second."""

    updated_at: datetime
    """When it was last changed, to the second."""

    status: MessageStatus

    target_context: int
    """The context it is for."""

    topic: str | None = None
    """What it is about at the other side: normally the topic of a runner."""

    address: str | None = None
    """Where it goes."""

    public_key: str | None = None
    """Who signed it, if that is known."""

    answers: int | None = None
    """The number of the message that it answers."""

    error: str | None = None
    """Why it is in error."""


class MessageType(Word):
    """What a message is."""

    JOB = "job"
    """Jobs that are to run at the other side."""

    CHAT = "chat"
    """A line to somebody."""

    MAIL = "mail"
    """A letter to somebody."""

    RESULT = "result"
    """How a job ended that came by a message."""


MessageTypeWord = Literal["job", "chat", "mail", "result"]


class MessageFormat(Word):
    """What a message is written in."""

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
    """When that was, in seconds since 1970."""

    text: str
    """What happened."""


class MessageStatus(Word):
    """Where a message is in its life."""

    DISPATCHED = "dispatched"
    """It is to go out, or came and was not fetched."""

    ACKNOWLEDGED = "acknowledged"
    """The other side has stored it, or its owner has it."""

    ERROR = "error"
    """It did not arrive, or no result came in time."""

    PROCESSED = "processed"
    """Its result is there."""


MessageStatusWord = Literal["dispatched", "acknowledged", "error", "processed"]


class Pong(Model):
    """What came of a ping."""

    route: str
    """The way that it went."""

    answer: PongAnswer | None = None

    error: str | None = None
    """Why none came."""


class PongAnswer(Model):
    """What another node says to a ping."""

    key: str
    """Its key."""

    name: str | None = None
    """Its name in the setting `nodes` of the server that asks, if it has one there."""

    expected: str | None = None
    """The key that a node at this address has to have by that setting, if another one answers: messages to it are not taken there."""

    is_trusted: bool
    """Whether the server that asks takes what that node signs."""

    trusts: bool
    """Whether that node takes what the server signs that asks."""

    time: datetime
    """What its clock shows."""

    clock_ahead: float
    """By how many seconds its clock is ahead; below 0 it is behind."""

    round_trip: float
    """How long it took until the answer was here."""


class MessagePage(Model):
    """Messages of one list."""

    messages: list[Message]
    """The messages, those that are taken first first."""

    next_cursor: str | None = None
    """Where the next page begins, if there are more."""


class Actor(Model):
    """A live actor."""

    script_type: str
    """The script type it runs."""

    group: str
    """Its group."""

    instance: int
    """Its number within the group."""

    foreign: bool | None = None
    """Whether it is some other program, which takes jobs by the protocol alone."""

    unavailable: str | None = None
    """Why there is none: the server was to offer actors of this type and cannot. Such an entry is no live actor."""

    pid: int | None = None
    """The process that runs it."""

    hostname: str | None = None
    """The machine of that process."""

    started_at: datetime | None = None
    """When it started."""

    version: str | None = None
    """The version of its program."""

    capabilities: list[str] | None = None
    """What its scripts may use."""

    last_heartbeat: datetime | None = None
    """When it last said that it lives."""

    incarnation: str | None = None
    """Which start of which process it is, so that a restart under the same name is told apart."""

    in_flight: int | None = None
    """How many jobs it runs now."""

    draining: bool | None = None
    """Whether it takes no more jobs and ends once those that it runs have ended, for example because its server drains."""

    confinement: str | None = None
    """How its engine is confined: `weak: no …` with what is missing, then the steps in force behind a semicolon."""

    process: str | None = None
    """Which process of which machine runs it, so that others there can see whether it still runs."""


class ScriptFunction(Model):
    """A function that scripts may call."""

    name: str
    """The name by which it is called, with its namespace if it has one: `osis::get`. In HeroScript that is `!!osis.get`."""

    group: str
    """The subject it belongs to."""

    parameters: list[FunctionParameter]
    """What it takes, in order. The first one may also stand before the name: `array.join(", ")`."""

    returns: str
    """The type of what it gives, or several with `|` between them; `nothing` is `()`."""

    description: str
    """What it does."""

    capability: Capability | None = None

    errors: str | None = None
    """When it gives an error, which scripts may catch."""

    example: str
    """A script that uses it."""

    example_result: Any = None
    """The result of the example, unless it gives nothing or another one each time."""


class FunctionParameter(Model):
    """A parameter of a function."""

    name: str
    """Its name. Scripts in Rhai give parameters by position, those in HeroScript also by name."""

    type: str
    """The type, or several with `|` between them."""

    optional: bool
    """Whether it may be left out."""


class Capability(Word):
    """What scripts may ask their actor for, besides what they have by themselves. The script type implies it, or it is a grant: an
    operator gives it."""

    OBJECTS = "objects"
    """The objects of the context. Scripts of type `osis` have it."""

    JOBS = "jobs"
    """To tell how far the job is, to create others, and to see what others gave it. All scripts have it."""

    FS = "fs"
    """Files in the directory of the context. Pools of type `sal` are granted it by default."""

    PROCESS = "process"
    """To run commands, confined to the directory of the context."""

    NET = "net"
    """To connect to the hosts that the operator named."""

    REDIS = "redis"
    """The Redis that the operator named."""


class ScriptCheck(Model):
    """What is wrong with a script."""

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
    """Whether nothing is taken from it until it is resumed."""


class ServerDetails(Model):
    """The server that answers."""

    name: str
    """Always `hero`."""

    version: str
    """Its version."""

    server_id: str
    """The name of this start of this server, as in leases."""

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
    """How many they are."""


class StoreInfo(Model):
    """The state of a Redis."""

    version: str
    """Its version."""

    used_memory: int
    """Bytes in use that count against the maximum: what waits for replicas and the append-only file does not."""

    max_memory: int
    """Bytes it may use; 0 is no limit."""

    evicted_keys: int
    """Keys it threw away for want of memory; anything but 0 may have been a job."""

    warnings: list[str] | None = None
    """What is wrong with how it is set up, or has gone wrong."""


class Limits(Model):
    """How much of everything one connection, one address and the whole server may use."""

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
    """How long a reader may take nothing that is ready for it; then its connection is closed."""

    handler_timeout: float
    """The most seconds a call may take, besides the wait that it asks for."""

    idle_timeout: float
    """Seconds after which an HTTP connection without requests is closed."""

    ping_interval: float
    """Seconds between the WebSocket pings of the server; three without an answer close the connection."""


class EventNotice(Model):
    """One change of one job."""

    type: Literal["event"] = "event"

    cursor: str
    """Where to go on following after this event."""

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
    """Nothing is missing behind this cursor: the subscription begins there."""

    type: Literal["began"] = "began"

    cursor: str
    """Where to go on from as long as nothing else has come."""


class LaggedNotice(Model):
    """Items were lost, because the subscriber reads too slowly or its cursor is too old."""

    type: Literal["lagged"] = "lagged"

    cursor: str
    """Where to go on from."""


class EndedNotice(Model):
    """Nothing will follow: the subscription ended by itself."""

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
    """Where to go on from behind this item. Absent where the flow's jobs are gone."""

    job: str | None = None
    """The name of the job that changed. Absent: this is where the flow is, and no job changed."""

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
    """Where to go on reading after this line."""

    time: datetime | None = None
    """When it was logged; absent in lines of foreign log files."""

    level: LogLevel

    text: str
    """What was logged."""


class Draining(Model):
    """A server that drains."""

    running: int
    """How many jobs run there."""


class JobSpecInput(Input):
    """What a job is to be. Only `script` is needed. The order of the fields is the order of positional parameters: what is used most
    comes first."""

    script: str
    """The script to run."""

    script_type: str | None = None
    """Which kind of actor runs it: `osis`, `sal`, or a configured type."""

    args: Any = None
    """What the script sees as `args`: any JSON, with at most 100 arrays and objects in each other."""

    timeout: float | None = None
    """The most seconds one attempt may take. 60 by default."""

    retries: int | None = None
    """Extra attempts after an error or a timeout."""

    retry_backoff: float | None = None
    """Seconds before the second attempt, doubling for each further one up to 300. 1 by default."""

    priority: int | None = None
    """0 urgent, 1 normal, 2 low."""

    name: str | None = None
    """A name for people."""

    labels: dict[str, str] | None = None
    """Labels to find it by."""

    env_vars: dict[str, str] | None = None
    """What the script sees as `env`. The values are secrets, masked in logs and in `get_job`, but for those of the variables that
    `HERO_PLAIN` among them names: `"HERO_PLAIN": "MODE,CUSTOMER"`."""

    run_at: datetime | None = None
    """Not before this time (RFC 3339)."""

    idempotency_key: str | None = None
    """The same key with the same parameters gives the same job again, for 24 hours."""

    retention: float | None = None
    """Seconds to keep the job after its end."""

    prerequisites: list[str] | None = None
    """Jobs that must finish first."""

    parent_id: str | None = None
    """The job whose child it is."""

    predecessor_id: str | None = None
    """The job that must end first, with all its descendants."""

    group: str | None = None
    """Only actors of this group may run it."""

    instance: int | None = None
    """Only this actor may run it; without a group that of the group `default`."""

    concurrent: bool | None = None
    """Whether it may run beside other jobs of its actor (`sal`)."""

    log_path: str | None = None
    """Where to write its log file, below the log directory; at most 8 parts between slashes."""

    context_id: int | None = None
    """The context it belongs to."""

    caller_id: str | None = None
    """Who creates it; the session's identity by default, else `anonymous`."""

    worker_id: str | None = None
    """The worker of the dispatcher protocol; a number is the instance."""

    dependents: list[str] | None = None
    """Jobs that wait for this one."""

    client_rpc_id: str | None = None
    """An identifier of the client's own, kept as it is."""

    job_id: str | None = None
    """The id the job shall have; a new one by default."""


class JobFilter(Input):
    """Which jobs to list or follow. What is left out does not restrict."""

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
    """One job of a flow that is to be made. Only `script` is needed."""

    script: str
    """The script to run."""

    script_type: str | None = None
    """Which kind of actor runs it: `osis`, `sal`, or a configured type; by default that of its runner, or `osis`."""

    args: Any = None
    """What the script sees as `args`: any JSON."""

    depends_on: list[str] | None = None
    """The names of the jobs of the flow that must finish first. Its script sees what they gave as `inputs.NAME`."""

    runner: int | None = None
    """The number of the runner that runs it."""

    group: str | None = None
    """Only actors of this group may run it."""

    priority: int | None = None
    """0 urgent, 1 normal, 2 low."""

    timeout: float | None = None
    """The most seconds one attempt may take. 60 by default."""

    retries: int | None = None
    """Extra attempts after an error or a timeout."""

    retry_backoff: float | None = None
    """Seconds before the second attempt, doubling for each further one up to 300. 1 by default."""

    env_vars: dict[str, str] | None = None
    """What the script sees as `env` besides what the flow gives; the same name here counts."""

    labels: dict[str, str] | None = None
    """Labels to find the job by."""


class MessageList(Word):
    """The lists in which messages wait."""

    IN = "in"
    """Those that came and were not fetched."""

    OUT = "out"
    """Those that are to go out."""


MessageListWord = Literal["in", "out"]


class StateData(Model):
    """The data of error 1002: what stands in the way."""

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
    """The place of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class InvalidParamsData(Model):
    """The data of error -32602: where a script does not compile, as far as that is what is wrong."""

    error: JobError | None = None

    index: int | None = None
    """The place of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class JobNotFoundData(Model):
    """The data of error 1001: which job is not there."""

    job_id: str | None = None
    """The job."""

    index: int | None = None
    """The place of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class RateLimitedData(Model):
    """The data of error 1006: when to try again."""

    retry_after_ms: int | None = None
    """In how many milliseconds it is worth trying again."""

    flow_id: int | None = None
    """The flow that another call is just making."""

    index: int | None = None
    """The place of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class QueueFullData(Model):
    """The data of error 1007: when to try again."""

    retry_after_ms: int | None = None
    """In how many milliseconds it is worth trying again."""

    index: int | None = None
    """The place of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class TooLargeData(Model):
    """The data of error 1008: how large it may be."""

    limit: int | None = None
    """The most that is allowed, in the unit that the message names."""

    index: int | None = None
    """The place of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class StoreUnavailableData(Model):
    """The data of error 1009: what became of the call."""

    outcome: Outcome | None = None

    job_id: str | None = None
    """The job that may have been stored."""

    key: str | None = None
    """The key of Redis that another program has spoilt, if that is the cause."""

    index: int | None = None
    """The place of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class Outcome(Word):
    """What became of a call that the store did not answer."""

    NOT_DONE = "not_done"
    """Nothing was done."""

    UNKNOWN = "unknown"
    """Whether it was done is unknown."""


class IdempotencyReusedData(Model):
    """The data of error 1010: what the key stands for."""

    job_id: str | None = None
    """The job."""

    flow_id: int | None = None
    """The flow."""

    schedule_id: str | None = None
    """The schedule."""

    index: int | None = None
    """The place of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class NotFoundData(Model):
    """The data of error 1011: what is not there."""

    flow_id: int | None = None
    """The flow."""

    schedule_id: str | None = None
    """The schedule."""

    collection: str | None = None
    """The collection of the object."""

    id: str | None = None
    """The id of the object."""

    index: int | None = None
    """The place of the job among those of `create_jobs`, from 0."""

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
    """The place of the job among those of `create_jobs`, from 0."""

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
    """The data of error 1102: what is waited for."""

    job_id: str | None = None
    """The job, which goes on."""

    flow_id: int | None = None
    """The flow, which goes on."""

    status: JobStatus | JobStatusWord | None = None

    explanation: str | None = None
    """Why it does not run, for people."""

    reason: Reason | None = None

    open: int | None = None
    """How many jobs of the flow have not ended."""

    index: int | None = None
    """The place of the job among those of `create_jobs`, from 0."""

    job: str | None = None
    """The name of the job in its flow."""


class JobStoppedData(Model):
    """The data of error 1103: what was stopped."""

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
    """The place of the job among those of `create_jobs`, from 0."""

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
