// Generated from openrpc.json by clients/generate (`make clients`). Do not edit.

/**
 * Where a job is in its life.
 *
 * - `created`: Stored, and waits for `start_job`.
 *
 * - `scheduled`: Waits for its time: `run_at`, or the next attempt.
 *
 * - `waiting_for_prerequisites`: Waits for other jobs to finish.
 *
 * - `dispatched`: In a work queue.
 *
 * - `started`: An actor runs it.
 *
 * - `finished`: Ended well; it has an output.
 *
 * - `error`: Ended badly, was stopped, or ran out of time.
 */
export type JobStatus =
  | "created"
  | "scheduled"
  | "waiting_for_prerequisites"
  | "dispatched"
  | "started"
  | "finished"
  | "error";

/** The result of a finished job. */
export interface JobResult {
  /** The job. */
  job_id: string;
  /** Always `finished`: a job that ended badly is a JSON-RPC error. */
  status: "finished";
  /** The output, exactly as stored in Redis. */
  output: string;
  /** The output as JSON, where the engine gave a structured value (always for Rhai). */
  value?: unknown;
  /** The number of the attempt that finished, from 1. */
  attempt: number;
  /** When that attempt began. */
  started_at?: string;
  /** When the job ended. */
  finished_at?: string;
  usage?: Usage;
}

/** What an attempt used. */
export interface Usage {
  /** Script operations. */
  operations: number;
  /** The most memory the script held at once, or one process of a command that it ran, in bytes. */
  peak_memory: number;
  /** How long the script ran, in milliseconds. */
  run_ms: number;
  /**
   * How much processor time it took, with its commands, in microseconds; 0 where that is not known,
   * as of a script whose engine was killed. By default 0.
   */
  cpu_us: number;
}

/** Everything that is known of a job. What was never set is left out. */
export interface Job {
  /** The job's id. */
  job_id: string;
  status: JobStatus;
  /** The name its creator gave it. */
  name?: string;
  /** Labels its creator gave it. */
  labels?: Record<string, string>;
  /** The context it belongs to. */
  context_id: number;
  /** Who created it. */
  caller_id?: string;
  /** Which kind of actor runs it. */
  script_type?: string;
  /** The script. */
  script: string;
  /** What the script sees as `args`. */
  args?: unknown;
  /** Only actors of this group run it. */
  group?: string;
  /** Only this actor of the group runs it. */
  instance?: number;
  /** The worker a client of the dispatcher protocol named. */
  worker_id?: string;
  /** 0 urgent, 1 normal, 2 low. */
  priority: number;
  /** The most seconds one attempt may take. */
  timeout?: number;
  /** Extra attempts after an error or a timeout. */
  retries: number;
  /** Whether it may run beside other jobs of its actor. */
  concurrent: boolean;
  /**
   * Its environment variables; the values are shown as `***`, but for those that `HERO_PLAIN`
   * names.
   */
  env_vars?: Record<string, string>;
  /** Jobs that must finish first. */
  prerequisites?: string[];
  /** Jobs that were named as waiting for this one when it was created. */
  dependents?: string[];
  /** The job whose child it is. */
  parent_id?: string;
  /** The job that must end first, with all its descendants. */
  predecessor_id?: string;
  /** Not before this time. */
  run_at?: string;
  /** Where its log file is, below the log directory. */
  log_path?: string;
  /** An identifier of the client's own. */
  client_rpc_id?: string;
  /** How many attempts have begun. */
  attempt: number;
  /** How often an engine or actor died under it. */
  crashes: number;
  /** The actor that runs it or ran it last. */
  actor?: string;
  /** When it was created. */
  created_at?: string;
  /** When it last changed. */
  updated_at?: string;
  /** When it was last put into a queue. */
  queued_at?: string;
  /** When its last attempt began. */
  started_at?: string;
  /** When it ended. */
  finished_at?: string;
  /** When somebody asked to stop it. */
  stop_requested_at?: string;
  progress?: Progress;
  /** The output of a finished job, exactly as stored. */
  output?: string;
  error?: JobError;
  usage?: Usage;
  /** Its attempts, the newest 17 at most: only `get_job` has them. */
  attempts?: Attempt[];
  /** In a list: what is cut or left out here because it is long. `get_job` gives all of it. */
  truncated?: string[];
}

/** How far a running script says it is. */
export interface Progress {
  /** A number of the script's choice, usually percent. */
  value: number;
  /** What it is doing. By default "". */
  text: string;
}

/** How and where a job went wrong. */
export interface JobError {
  kind: ErrorKind;
  /** What happened, in words. */
  message: string;
  /** The line of the script, from 1. */
  line?: number;
  /** The column of the script, from 1. */
  column?: number;
  /** The script functions that were running, innermost first. */
  stack?: string[];
  limit?: ScriptLimit;
  /**
   * What the script threw, unless that was a text, nothing, or more than 64 KB of JSON. If it is a
   * map with a text `message`, that is the message.
   */
  data?: unknown;
}

/**
 * Why a job ended badly.
 *
 * - `script`: The script is wrong or threw an error.
 *
 * - `timeout`: An attempt ran longer than `timeout`.
 *
 * - `stopped`: A client stopped it.
 *
 * - `limit`: The script hit a limit of its engine.
 *
 * - `crashed`: Its engine or its actor died, three times.
 *
 * - `prerequisite`: A job it waited for ended badly.
 *
 * - `unavailable`: It can't be run here as it stands: a bad field, or an engine that does not
 * start.
 */
export type ErrorKind =
  | "script"
  | "timeout"
  | "stopped"
  | "limit"
  | "crashed"
  | "prerequisite"
  | "unavailable";

/**
 * The limit that a script of kind `limit` hit.
 *
 * - `operations`: Too many operations.
 *
 * - `cpu_time`: Too much processor time.
 *
 * - `memory`: Too much memory, or one value too large.
 *
 * - `log`: Too much log.
 *
 * - `result`: The result is too large or too deep.
 *
 * - `source`: The script itself is too large.
 */
export type ScriptLimit = "operations" | "cpu_time" | "memory" | "log" | "result" | "source";

/** One run of a job. */
export interface Attempt {
  /** Its number, from 1. */
  attempt: number;
  /** The actor that ran it. */
  actor?: string;
  /** When it began. */
  started_at?: string;
  /** When it ended. */
  ended_at?: string;
  error?: JobError;
  usage?: Usage;
}

/** Lines that a job logged, oldest first. */
export interface LogPage {
  /** The lines. */
  lines: LogLine[];
  /** Where to go on reading, now or later. */
  next_cursor?: string;
  /** Whether the job has ended and nothing follows. */
  ended: boolean;
}

/** One line that a job logged. */
export interface LogLine {
  /** Where to go on reading after this line. */
  cursor: string;
  /** When it was logged; absent in lines of foreign log files. */
  time?: string;
  level: LogLevel;
  /** What was logged. */
  text: string;
}

/**
 * How serious a log line is.
 *
 * - `debug`: `debug(…)` of a script.
 *
 * - `info`: `print(…)` and `log_info(…)`.
 *
 * - `warn`: `log_warn(…)`.
 *
 * - `error`: `log_error(…)`.
 */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** A page of jobs, newest first. */
export interface JobPage {
  /** The jobs. */
  jobs: Job[];
  /**
   * Where the next page begins; absent on the last. A page may hold fewer jobs than asked for and
   * still have a next.
   */
  next_cursor?: string;
}

/**
 * Why a job has not ended, or how it did, with what is known of it. It is gathered from several
 * places, not of one moment.
 */
export interface Explanation {
  /** The job. */
  job_id: string;
  status: JobStatus;
  reason: Reason;
  /** The same for people. */
  message: string;
  /** The jobs it waits for. */
  waiting_for?: WaitsFor[];
  /** When it is due. */
  due_at?: string;
  /** The Redis key of its queue. */
  queue?: string;
  /** How many jobs wait in that queue. */
  depth?: number;
  /** Its place there; 1 is taken next. Absent far back, and where callers take turns. */
  position?: number;
  /** How many live actors take from that queue, without those whose server drains. */
  actors?: number;
  /** How many jobs run in its context, without those of runners elsewhere. */
  running?: number;
  /** How many may. */
  max_running?: number;
  progress?: Progress;
  /** Its attempts, with the one that runs or ran last. */
  attempts?: Attempt[];
}

/**
 * Why a job does not run now, in a word.
 *
 * - `not_started`: Nobody has started it.
 *
 * - `due_later`: It is to run later.
 *
 * - `waiting_for_retry`: An attempt failed, and the next one has its time.
 *
 * - `waiting_for_prerequisites`: Other jobs must finish first.
 *
 * - `waiting_for_parent`: The script of its parent must return first.
 *
 * - `waiting_for_predecessor`: Its predecessor and all descendants of that must end first.
 *
 * - `paused`: Its queue is paused.
 *
 * - `waiting_for_turn`: Its context, or its runner, waits for its turn to have actors.
 *
 * - `no_live_actor`: No live actor takes from its queue.
 *
 * - `draining`: All actors that take from its queue take no more jobs, because they end, or their
 * server does.
 *
 * - `at_concurrency_cap`: As many jobs run in its context as may.
 *
 * - `all_actors_busy`: The actors that take from its queue have other jobs.
 *
 * - `waiting_for_actor`: Actors take from its queue, but nothing runs in its context: one takes it
 * now, or all have ended just now.
 *
 * - `in_no_queue`: It is in no queue: an actor may just have taken it.
 *
 * - `running`: It runs.
 *
 * - `ended`: It has ended.
 */
export type Reason =
  | "not_started"
  | "due_later"
  | "waiting_for_retry"
  | "waiting_for_prerequisites"
  | "waiting_for_parent"
  | "waiting_for_predecessor"
  | "paused"
  | "waiting_for_turn"
  | "no_live_actor"
  | "draining"
  | "at_concurrency_cap"
  | "all_actors_busy"
  | "waiting_for_actor"
  | "in_no_queue"
  | "running"
  | "ended";

/** A job that another one waits for. */
export interface WaitsFor {
  /** That job. */
  job_id: string;
  status: JobStatus;
}

/**
 * What becomes of the other jobs when one ends in error.
 *
 * - `stop`: They are stopped.
 *
 * - `continue`: Those that do not wait for it go on.
 */
export type FlowOnFailure = "stop" | "continue";

/** Everything that is known of a flow. */
export interface Flow {
  /** Its number. */
  flow_id: number;
  status: FlowStatus;
  /** The name its creator gave it. */
  name?: string;
  /** The context it belongs to. */
  context_id: number;
  /** Who created it. */
  caller_id: string;
  /**
   * What becomes of the other jobs when one ends in error. `stop`: They are stopped. `continue`:
   * Those that do not wait for it go on.
   */
  on_failure: FlowOnFailure;
  /**
   * What its jobs share as `env`; the values are shown as `***`, but for those that `HERO_PLAIN`
   * names.
   */
  env_vars?: Record<string, string>;
  /** Whether somebody asked to stop it. By default false. */
  stop_requested: boolean;
  /** When it was made, to the second. */
  created_at: string;
  /** When it last changed, to the second. */
  updated_at: string;
  /** When its first job began. */
  started_at?: string;
  /** When its last job ended. */
  finished_at?: string;
  /** Its jobs. Each stands behind those that it waits for. */
  jobs: FlowJob[];
  /**
   * What its jobs gave, by their names, once it has ended: the outputs of those that finished,
   * exactly as stored.
   */
  result: Record<string, string>;
  /**
   * Whether outputs are missing from `result`: those of more than 64 KB, and all behind the first
   * megabyte. `get_result` gives each. By default false.
   */
  truncated: boolean;
  /** Its jobs as a graph, in the language of Mermaid. */
  graph: string;
}

/**
 * Where a flow is in its life: the words of the coordinator's specification.
 *
 * - `dispatched`: It is made, or started, and none of its jobs has begun.
 *
 * - `waiting_for_prerequisites`: It is started, and waits for jobs that are none of its own.
 *
 * - `started`: One of its jobs has begun.
 *
 * - `error`: All of its jobs have ended, and one of them in error.
 *
 * - `finished`: All of its jobs have finished.
 */
export type FlowStatus =
  | "dispatched"
  | "waiting_for_prerequisites"
  | "started"
  | "error"
  | "finished";

/** One job of a flow, as it is now. */
export interface FlowJob {
  /** Its name in the flow. */
  name: string;
  /** Its id, by which it is a job like any other. */
  job_id: string;
  /** Its number: `n` of `job:{caller}:{n}`. */
  number: number;
  status?: JobStatus;
  /** The names of the jobs of the flow that it waits for. */
  depends_on?: string[];
  /** Which kind of actor runs it. */
  script_type: string;
  /** The number of the runner that runs it. */
  runner?: number;
  /** How many attempts have begun. */
  attempt: number;
  /** When its last attempt began. */
  started_at?: string;
  /** When it ended. */
  finished_at?: string;
  error?: JobError;
}

/** Flows, the newest first. */
export interface FlowPage {
  /** The flows. */
  flows: FlowSummary[];
  /** Where the next page begins, if there are more. */
  next_cursor?: string;
}

/** A flow in a list. */
export interface FlowSummary {
  /** Its number. */
  flow_id: number;
  status: FlowStatus;
  /** The name its creator gave it. */
  name?: string;
  /** Who created it. */
  caller_id: string;
  /** How many jobs it has. */
  jobs: number;
  /** How many of them have not ended. */
  open: number;
  /** How many of them ended in error. */
  failed: number;
  /** Whether somebody asked to stop it. By default false. */
  stop_requested: boolean;
  /** When it was made, to the second. */
  created_at: string;
  /** When its first job began. */
  started_at?: string;
  /** When its last job ended. */
  finished_at?: string;
}

/** A schedule: what was asked for, and how far it has come. */
export interface Schedule {
  /**
   * Its id. Its jobs carry it as the label `schedule`, and the time they were due at as the label
   * `slot`.
   */
  schedule_id: string;
  /** A name for people. */
  name?: string;
  /** When it runs, as a cron pattern. */
  cron?: string;
  /** Seconds from one run to the next. */
  every?: number;
  /** Where `cron` is read and times are shown. */
  time_zone: string;
  overlap: Overlap;
  missed: Missed;
  /** The most jobs that `missed: all` makes up for at a time. */
  missed_limit: number;
  /** No run is before this time. */
  start_at?: string;
  /** No run is after this time. */
  end_at?: string;
  /** When it was created. */
  created_at: string;
  /** The next runs, five at most. None: it has come to its end, and is deleted in a while. */
  next_runs: string[];
  /**
   * Why its runs are left out until that has changed, if they are: its creator may not create jobs
   * in the context any more.
   */
  suspended?: string;
  /** When its last job was due. */
  last_run?: string;
  /** Its last job. */
  last_job?: string;
  /** How many jobs it made. */
  runs: number;
  /** How many runs were left out because the one before had not ended. */
  skipped_runs: number;
  /**
   * How many runs were left out because no server ran, or because its creator might not create jobs
   * then. At most 1000 are counted at a time.
   */
  missed_runs: number;
  job: JobSpec;
}

/**
 * What a run does when the one before has not ended.
 *
 * - `skip`: It is left out and counted.
 *
 * - `queue`: Its job waits for the end of the one before, and of all that one's descendants. At
 * most 100 wait; more are left out.
 *
 * - `allow`: Its job runs beside it.
 */
export type Overlap = "skip" | "queue" | "allow";

/**
 * What becomes of runs that were due while no server ran: of those that none has fired within 30
 * seconds, and with `skip` within 5.
 *
 * - `skip`: They are left out and counted.
 *
 * - `once`: One job makes up for all of them.
 *
 * - `all`: Each gets its job, as far as `overlap` allows; of more than `missed_limit`, the newest.
 */
export type Missed = "skip" | "once" | "all";

/**
 * What a job is to be. Only `script` is needed. The order of the fields is the order of positional
 * parameters: what is used most comes first.
 */
export interface JobSpec {
  /** The script to run. */
  script: string;
  /** Which kind of actor runs it: `osis`, `sal`, or a configured type. By default "osis". */
  script_type: string;
  /**
   * What the script sees as `args`: any JSON, with at most 100 arrays and objects in each other.
   */
  args?: unknown;
  /** The most seconds one attempt may take. 60 by default. */
  timeout?: number;
  /** Extra attempts after an error or a timeout. By default 0. */
  retries: number;
  /** Seconds before the second attempt, doubling for each further one up to 300. 1 by default. */
  retry_backoff?: number;
  /** 0 urgent, 1 normal, 2 low. By default 1. */
  priority: number;
  /** A name for people. */
  name?: string;
  /** Labels to find it by. */
  labels?: Record<string, string>;
  /**
   * What the script sees as `env`. The values are secrets, masked in logs and in `get_job`, but for
   * those of the variables that `HERO_PLAIN` among them names: `"HERO_PLAIN": "MODE,CUSTOMER"`.
   */
  env_vars?: Record<string, string>;
  /** Not before this time (RFC 3339). */
  run_at?: string;
  /**
   * The same key with the same parameters gives the same job again, for 24 hours. The client
   * creates a key if none is given. With `null` the call has no key and is sent only once.
   */
  idempotency_key?: string | null;
  /** Seconds to keep the job after its end. */
  retention?: number;
  /** Jobs that must finish first. */
  prerequisites?: string[];
  /** The job whose child it is. */
  parent_id?: string;
  /** The job that must end first, with all its descendants. */
  predecessor_id?: string;
  /** Only actors of this group may run it. */
  group?: string;
  /** Only this actor may run it; without a group that of the group `default`. */
  instance?: number;
  /** Whether it may run beside other jobs of its actor (`sal`). By default false. */
  concurrent: boolean;
  /** Where to write its log file, below the log directory; at most 8 parts between slashes. */
  log_path?: string;
  /** The context it belongs to. By default 0. */
  context_id: number;
  /** Who creates it; the session's identity by default, else `anonymous`. */
  caller_id?: string;
  /** The worker of the dispatcher protocol; a number is the instance. */
  worker_id?: string;
  /** Jobs that wait for this one. */
  dependents?: string[];
  /** An identifier of the client's own, kept as it is. */
  client_rpc_id?: string;
  /** The id the job shall have; a new one by default. */
  job_id?: string;
}

/** A page of schedules, in the order of their next runs. */
export interface SchedulePage {
  /** The schedules. */
  schedules: Schedule[];
  /** Where the next page begins; absent on the last. */
  next_cursor?: string;
}

/** Some objects of a collection. */
export interface ObjectPage {
  /** The objects, in order. */
  objects: unknown[];
  /** Where to go on, as `cursor`; absent at the end. */
  next_cursor?: string;
  /**
   * The fields that were asked for and not looked up in an index: objects were read one after
   * another and compared, at most 10,000 for one page, which therefore may be short although more
   * follow.
   */
  compared?: string[];
  /** How many objects were looked at. */
  looked_at: number;
}

/** A collection of objects. */
export interface Collection {
  /** Its name. */
  name: string;
  /** How many objects it has. */
  objects: number;
  /** Its indexes, by the names of their fields. */
  indexes: Index[];
  /** Whether its objects have to fit a schema on this server. */
  typed: boolean;
}

/** An index of a collection. */
export interface Index {
  /**
   * The field; `address.city` is a field of a field, and a dot in a name has a backslash before it.
   */
  field: string;
  /** Whether it has all objects. One that is being made is not used yet. */
  ready: boolean;
}

/** Who may call and be granted rights. */
export interface Identity {
  /** Its number. */
  identity_id: number;
  /** Its public key, if it has one. */
  pubkey?: string;
  /** Where it can be reached. By default []. */
  address: string[];
  /** When it was made, to the second. */
  created_at: string;
  /** When it was last changed, to the second. */
  updated_at: string;
}

/** Identities in the order of their numbers. */
export interface IdentityPage {
  /** The identities. */
  identities: Identity[];
  /**
   * Where the next page begins, if there are more. A page may hold fewer identities than asked for
   * and still have a next.
   */
  next_cursor?: string;
}

/** Who makes a call. */
export interface Who {
  /** Its identity, if it has logged in with one. */
  identity_id?: number;
  /** Whether it is whoever runs the server, who may do everything. */
  operator: boolean;
  /** The `caller_id` of jobs that it creates without naming one. */
  caller_id: string;
  /** Its roles in contexts. By default {}. */
  roles: Record<string, Role[]>;
}

/**
 * What an identity may do in a context.
 *
 * - `admin`: Everything in the context, and to grant rights in it.
 *
 * - `caller`: To create, start, stop and read its own jobs, and to use the objects.
 *
 * - `reader`: To read everything.
 *
 * - `executor`: To run what others have made: to read jobs and flows, and to start, stop and retry
 * them.
 */
export type Role = "admin" | "caller" | "reader" | "executor";

/** Who has logged in. */
export interface LoggedIn {
  /** Its identity. */
  identity_id: number;
  /** What it shows from now on. It is told only now. */
  token: string;
  /** When the token ends. */
  expires_at: string;
}

/** A token that was just made. */
export interface NewToken {
  /** Its public name. */
  token_id: string;
  /** Whom it stands for. */
  identity_id: number;
  /** What it is for, in the words of whoever made it. */
  name?: string;
  /** When it was made. */
  created_at: string;
  /** When it ends; never, if this is absent. */
  expires_at?: string;
  /** What whoever has it shows. */
  secret: string;
}

/** Whom a token stands for. */
export interface Presented {
  /** Its identity. */
  identity_id: number;
  /** When the token ends, if it does. */
  expires_at?: string;
}

/** What is known of a token. Its secret is not: whoever made it was shown it once. */
export interface Token {
  /** Its public name. */
  token_id: string;
  /** Whom it stands for. */
  identity_id: number;
  /** What it is for, in the words of whoever made it. */
  name?: string;
  /** When it was made. */
  created_at: string;
  /** When it ends; never, if this is absent. */
  expires_at?: string;
}

/** A context: who may do what in it, and what may be used there. */
export interface Context {
  /** Its number. */
  context_id: number;
  /** Who may do everything in it. By default []. */
  admins: number[];
  /** Who may create jobs. By default []. */
  callers: number[];
  /** Who may read everything. By default []. */
  readers: number[];
  /** Who may run jobs. By default []. */
  executors: number[];
  /** When it was made, or rights were first granted in it, to the second. */
  created_at?: string;
  /** When it was last changed, to the second. */
  updated_at?: string;
  /** What it is for, in the words of whoever made it. */
  name?: string;
  limits: ContextLimits;
  status: ContextStatus;
}

/**
 * What may be used in a context. What is absent is not limited there; where the settings of a
 * server have a limit, too, the lower one holds.
 */
export interface ContextLimits {
  /** How many jobs may be created in a second. */
  jobs_per_second?: number;
  /** How many jobs a queue may have. */
  queue_length?: number;
  /** How many jobs run at once, on all servers together; those of runners elsewhere count there. */
  max_running?: number;
  /** The most operations of a script. */
  script_operations?: number;
  /** The longest that a job may use a processor, in seconds. */
  cpu_time?: number;
  /** How many bytes all objects may have together. */
  objects_quota?: number;
  /** How many bytes the files may have that scripts write. */
  files_quota?: number;
}

/**
 * Where a context is in its life.
 *
 * - `active`: It takes calls.
 *
 * - `deleting`: It is being deleted: it takes none any more.
 */
export type ContextStatus = "active" | "deleting";

/** Contexts in the order of their numbers. */
export interface ContextPage {
  /** The contexts. */
  contexts: Context[];
  /** Where the next page begins, if there are more. */
  next_cursor?: string;
}

/** Runs the jobs of its script type that are for its group, `runner{runner_id}`. */
export interface Runner {
  /** Its number. */
  runner_id: number;
  /** The script type of its jobs. */
  script_type: string;
  /** Whether it is a pool of this context; otherwise its jobs are sent to `address`. */
  local: boolean;
  /** What it is called there and here, `runner{runner_id}` unless it was given. */
  topic: string;
  /** Where it is, if it is not local. */
  address?: string;
  /** The key with which results of its jobs are signed. */
  pubkey?: string;
  /** The context at the other side in which its jobs run. By default 0. */
  target_context: number;
  /** What it is for, in the words of whoever made it. */
  name?: string;
  /** When it was made, to the second. */
  created_at: string;
  /** When it was last changed, to the second. */
  updated_at: string;
}

/** Runners in the order of their numbers. */
export interface RunnerPage {
  /** The runners. */
  runners: Runner[];
  /** Where the next page begins, if there are more. */
  next_cursor?: string;
}

/** A message as it is stored. */
export interface Message {
  /** Who sent it; 0 is nobody. */
  caller_id: number;
  /** Its number. */
  message_id: number;
  /** The context that has it. By default 0. */
  context_id: number;
  /** What it says. By default "". */
  message: string;
  message_type: MessageType;
  message_format_type: MessageFormat;
  /** The seconds that it may take in all. By default 0. */
  timeout: number;
  /** The seconds within which the other side has to have stored it. By default 0. */
  timeout_ack: number;
  /** The seconds after that within which its result has to come, if it has jobs. By default 0. */
  timeout_result: number;
  /**
   * Its jobs, as the coordinator writes them; the values of `env_vars` are shown as `***`. By
   * default [].
   */
  job: unknown[];
  /** What happened to it. By default []. */
  logs: MessageLog[];
  /** When it was made, to the second. */
  created_at: string;
  /** When it was last changed, to the second. */
  updated_at: string;
  status: MessageStatus;
  /** The context it is for. By default 0. */
  target_context: number;
  /** What it is about at the other side: normally the topic of a runner. */
  topic?: string;
  /** Where it goes. */
  address?: string;
  /** Who signed it, if that is known. */
  public_key?: string;
  /** The number of the message that it answers. */
  answers?: number;
  /** Why it is in error. */
  error?: string;
}

/**
 * What a message is.
 *
 * - `job`: Jobs that are to run at the other side.
 *
 * - `chat`: A line to somebody.
 *
 * - `mail`: A letter to somebody.
 *
 * - `result`: How a job ended that came by a message.
 */
export type MessageType = "job" | "chat" | "mail" | "result";

/**
 * What a message is written in.
 *
 * - `html`: HTML.
 *
 * - `text`: Plain text.
 *
 * - `md`: Markdown.
 */
export type MessageFormat = "html" | "text" | "md";

/** A line of the log of a message. */
export interface MessageLog {
  /** When that was, in seconds since 1970. */
  time: number;
  /** What happened. */
  text: string;
}

/**
 * Where a message is in its life.
 *
 * - `dispatched`: It is to go out, or came and was not fetched.
 *
 * - `acknowledged`: The other side has stored it, or its owner has it.
 *
 * - `error`: It did not arrive, or no result came in time.
 *
 * - `processed`: Its result is there.
 */
export type MessageStatus = "dispatched" | "acknowledged" | "error" | "processed";

/** What came of a ping. */
export interface Pong {
  /** The way that it went. */
  route: string;
  answer?: PongAnswer;
  /** Why none came. */
  error?: string;
}

/** What another node says to a ping. */
export interface PongAnswer {
  /** Its key. */
  key: string;
  /** Its name in the setting `nodes` of the server that asks, if it has one there. */
  name?: string;
  /**
   * The key that a node at this address has to have by that setting, if another one answers:
   * messages to it are not taken there.
   */
  expected?: string;
  /** Whether the server that asks takes what that node signs. */
  is_trusted: boolean;
  /** Whether that node takes what the server signs that asks. */
  trusts: boolean;
  /** What its clock shows. */
  time: string;
  /** By how many seconds its clock is ahead; below 0 it is behind. */
  clock_ahead: number;
  /** How long it took until the answer was here. */
  round_trip: number;
}

/** Messages of one list. */
export interface MessagePage {
  /** The messages, those that are taken first first. */
  messages: Message[];
  /** Where the next page begins, if there are more. */
  next_cursor?: string;
}

/** A live actor. */
export interface Actor {
  /** The script type it runs. */
  script_type: string;
  /** Its group. */
  group: string;
  /** Its number within the group. */
  instance: number;
  /** Whether it is some other program, which takes jobs by the protocol alone. */
  foreign?: boolean;
  /**
   * Why there is none: the server was to offer actors of this type and cannot. Such an entry is no
   * live actor.
   */
  unavailable?: string;
  /** The process that runs it. */
  pid?: number;
  /** The machine of that process. */
  hostname?: string;
  /** When it started. */
  started_at?: string;
  /** The version of its program. */
  version?: string;
  /** What its scripts may use. */
  capabilities?: string[];
  /** When it last said that it lives. */
  last_heartbeat?: string;
  /** Which start of which process it is, so that a restart under the same name is told apart. */
  incarnation?: string;
  /** How many jobs it runs now. */
  in_flight?: number;
  /**
   * Whether it takes no more jobs and ends once those that it runs have ended, for example because
   * its server drains.
   */
  draining?: boolean;
  /**
   * How its engine is confined: `weak: no …` with what is missing, then the steps in force behind a
   * semicolon.
   */
  confinement?: string;
  /** Which process of which machine runs it, so that others there can see whether it still runs. */
  process?: string;
}

/** A function that scripts may call. */
export interface ScriptFunction {
  /**
   * The name by which it is called, with its namespace if it has one: `osis::get`. In HeroScript
   * that is `!!osis.get`.
   */
  name: string;
  /** The subject it belongs to. */
  group: string;
  /** What it takes, in order. The first one may also stand before the name: `array.join(", ")`. */
  parameters: FunctionParameter[];
  /** The type of what it gives, or several with `|` between them; `nothing` is `()`. */
  returns: string;
  /** What it does. */
  description: string;
  capability?: Capability;
  /** When it gives an error, which scripts may catch. */
  errors?: string;
  /** A script that uses it. */
  example: string;
  /** The result of the example, unless it gives nothing or another one each time. */
  example_result?: unknown;
}

/** A parameter of a function. */
export interface FunctionParameter {
  /** Its name. Scripts in Rhai give parameters by position, those in HeroScript also by name. */
  name: string;
  /** The type, or several with `|` between them. */
  type: string;
  /** Whether it may be left out. By default false. */
  optional: boolean;
}

/**
 * What scripts may ask their actor for, besides what they have by themselves. The script type
 * implies it, or it is a grant: an operator gives it.
 *
 * - `objects`: The objects of the context. Scripts of type `osis` have it.
 *
 * - `jobs`: To tell how far the job is, to create others, and to see what others gave it. All
 * scripts have it.
 *
 * - `fs`: Files in the directory of the context. Pools of type `sal` are granted it by default.
 *
 * - `process`: To run commands, confined to the directory of the context.
 *
 * - `net`: To connect to the hosts that the operator named.
 *
 * - `redis`: The Redis that the operator named.
 */
export type Capability = "objects" | "jobs" | "fs" | "process" | "net" | "redis";

/** What is wrong with a script. */
export interface ScriptCheck {
  error?: JobError;
}

/** One work queue as `list_queues` shows it. */
export interface QueueInfo {
  /** The Redis key of the queue. */
  name: string;
  /** The script type of its jobs. */
  script_type: string;
  /** Only actors of this group take from it. */
  group?: string;
  /** Only this actor of the group takes from it. */
  instance?: number;
  /** 0 urgent, 1 normal, 2 low. */
  priority: number;
  /** How many jobs wait in it. */
  depth: number;
  /** How many live actors take from it. */
  actors: number;
  /** Whether nothing is taken from it until it is resumed. By default false. */
  paused: boolean;
}

/** The server that answers. */
export interface ServerDetails {
  /** Always `hero`. */
  name: string;
  /** Its version. */
  version: string;
  /** The name of this start of this server, as in leases. */
  server_id: string;
  /** When it started. */
  started_at: string;
  /** How long it has been running. */
  uptime: number;
  /** The addresses it listens on. */
  listen: string[];
  /** The contexts it serves. */
  contexts: number[];
  /** The pools of actors that it runs. */
  pools: PoolDetails[];
  /** The key by which other nodes know this one. */
  node_key?: string;
  store?: StoreInfo;
  limits: Limits;
}

/** A pool of actors in this process. */
export interface PoolDetails {
  /** The script type its actors run. */
  script_type: string;
  /** Their group. */
  group: string;
  /** The context whose jobs they run. By default 0. */
  context_id: number;
  /** How many they are. */
  actors: number;
}

/** The state of a Redis. */
export interface StoreInfo {
  /** Its version. */
  version: string;
  /**
   * Bytes in use that count against the maximum: what waits for replicas and the append-only file
   * does not.
   */
  used_memory: number;
  /** Bytes it may use; 0 is no limit. */
  max_memory: number;
  /** Keys it threw away for want of memory; anything but 0 may have been a job. */
  evicted_keys: number;
  /** What is wrong with how it is set up, or has gone wrong. */
  warnings?: string[];
}

/** How much of everything one connection, one address and the whole server may use. */
export interface Limits {
  /**
   * Calls a second of one address; 0 does not limit them. Loopback without login is not limited. By
   * default 0.
   */
  calls_per_second: number;
  /** Calls of one connection that are being answered at the same time. By default 1024. */
  calls_per_connection: number;
  /** Calls of one address that are being answered at the same time. By default 8192. */
  calls_per_address: number;
  /** Calls in one batch. Each counts as one call. By default 100. */
  batch: number;
  /** Bytes of one request: a body, or a WebSocket message. By default 2097152. */
  request_bytes: number;
  /** Bytes of one response. By default 16777216. */
  response_bytes: number;
  /** Subscriptions of one connection. By default 100. */
  subscriptions_per_connection: number;
  /** Subscriptions of one address. By default 1024. */
  subscriptions_per_address: number;
  /**
   * Bytes held for one connection: its requests until they are answered, and its answers until they
   * are read. More make requests and calls wait. By default 33554432.
   */
  held_per_connection: number;
  /** Bytes held for one address. By default 67108864. */
  held_per_address: number;
  /** Bytes held for all. By default 268435456. */
  held: number;
  /** Open connections of the server. By default 1000. */
  connections: number;
  /** Open connections of one address. By default 500. */
  connections_per_address: number;
  /**
   * Messages of one connection that wait to be sent. More make calls and subscriptions wait. By
   * default 256.
   */
  send_buffer: number;
  /**
   * How long a subscription waits for its slow reader before it ends with an error. By default 10.
   */
  send_timeout: number;
  /**
   * How long a reader may take nothing that is ready for it; then its connection is closed. By
   * default 30.
   */
  write_timeout: number;
  /** The most seconds a call may take, besides the wait that it asks for. By default 30. */
  handler_timeout: number;
  /** Seconds after which an HTTP connection without requests is closed. By default 75. */
  idle_timeout: number;
  /**
   * Seconds between the WebSocket pings of the server; three without an answer close the
   * connection. By default 20.
   */
  ping_interval: number;
}

/** One change of one job. */
export interface EventNotice {
  type: "event";
  /** Where to go on following after this event. */
  cursor: string;
  /** When it happened. */
  time: string;
  /** The job that changed. */
  job_id: string;
  /** The context of that job. */
  context_id: number;
  status: JobStatus;
  /** How many attempts have begun. */
  attempt: number;
  kind?: ErrorKind;
  progress?: Progress;
}

/** Nothing is missing behind this cursor: the subscription begins there. */
export interface BeganNotice {
  type: "began";
  /** Where to go on from as long as nothing else has come. */
  cursor: string;
}

/** Items were lost, because the subscriber reads too slowly or its cursor is too old. */
export interface LaggedNotice {
  type: "lagged";
  /** Where to go on from. */
  cursor: string;
}

/** Nothing will follow: the subscription ended by itself. */
export interface EndedNotice {
  type: "ended";
}

/** A change of a flow, or of one of its jobs. */
export interface FlowNotice {
  type: "flow";
  /** The flow. */
  flow_id: number;
  status: FlowStatus;
  /** How many of its jobs have not ended. */
  open: number;
  /** Where to go on from behind this item. Absent where the flow's jobs are gone. */
  cursor?: string;
  /** The name of the job that changed. Absent: this is where the flow is, and no job changed. */
  job?: string;
  /** The id of that job. */
  job_id?: string;
  job_status?: JobStatus;
  kind?: ErrorKind;
  /** How many of its attempts have begun. */
  attempt?: number;
}

/** One line that a job logged. */
export interface LineNotice {
  type: "line";
  /** Where to go on reading after this line. */
  cursor: string;
  /** When it was logged; absent in lines of foreign log files. */
  time?: string;
  level: LogLevel;
  /** What was logged. */
  text: string;
}

/** A server that drains. */
export interface Draining {
  /** How many jobs run there. */
  running: number;
}

/**
 * What a job is to be. Only `script` is needed. The order of the fields is the order of positional
 * parameters: what is used most comes first.
 */
export interface JobSpecInput {
  /** The script to run. */
  script: string;
  /** Which kind of actor runs it: `osis`, `sal`, or a configured type. By default "osis". */
  script_type?: string;
  /**
   * What the script sees as `args`: any JSON, with at most 100 arrays and objects in each other.
   */
  args?: unknown;
  /** The most seconds one attempt may take. 60 by default. */
  timeout?: number;
  /** Extra attempts after an error or a timeout. By default 0. */
  retries?: number;
  /** Seconds before the second attempt, doubling for each further one up to 300. 1 by default. */
  retry_backoff?: number;
  /** 0 urgent, 1 normal, 2 low. By default 1. */
  priority?: number;
  /** A name for people. */
  name?: string;
  /** Labels to find it by. */
  labels?: Record<string, string>;
  /**
   * What the script sees as `env`. The values are secrets, masked in logs and in `get_job`, but for
   * those of the variables that `HERO_PLAIN` among them names: `"HERO_PLAIN": "MODE,CUSTOMER"`.
   */
  env_vars?: Record<string, string>;
  /** Not before this time (RFC 3339). */
  run_at?: string;
  /**
   * The same key with the same parameters gives the same job again, for 24 hours. The client
   * creates a key if none is given. With `null` the call has no key and is sent only once.
   */
  idempotency_key?: string | null;
  /** Seconds to keep the job after its end. */
  retention?: number;
  /** Jobs that must finish first. */
  prerequisites?: string[];
  /** The job whose child it is. */
  parent_id?: string;
  /** The job that must end first, with all its descendants. */
  predecessor_id?: string;
  /** Only actors of this group may run it. */
  group?: string;
  /** Only this actor may run it; without a group that of the group `default`. */
  instance?: number;
  /** Whether it may run beside other jobs of its actor (`sal`). By default false. */
  concurrent?: boolean;
  /** Where to write its log file, below the log directory; at most 8 parts between slashes. */
  log_path?: string;
  /** The context it belongs to. By default 0. */
  context_id?: number;
  /** Who creates it; the session's identity by default, else `anonymous`. */
  caller_id?: string;
  /** The worker of the dispatcher protocol; a number is the instance. */
  worker_id?: string;
  /** Jobs that wait for this one. */
  dependents?: string[];
  /** An identifier of the client's own, kept as it is. */
  client_rpc_id?: string;
  /** The id the job shall have; a new one by default. */
  job_id?: string;
}

/** Which jobs to list or follow. What is left out does not restrict. */
export interface JobFilter {
  status?: JobStatus;
  /** Only jobs of this script type. */
  script_type?: string;
  /** Only jobs that this caller created. */
  caller_id?: string;
  /** Only jobs for this group. */
  group?: string;
  /** Only jobs of this name. */
  name?: string;
  /** Only children of this job. */
  parent_id?: string;
  /** Only jobs that have all these labels; 16 at most. */
  labels?: Record<string, string>;
  /** Only jobs created at this time or later. */
  created_after?: string;
  /** Only jobs created before this time. */
  created_before?: string;
}

/** One job of a flow that is to be made. Only `script` is needed. */
export interface FlowJobSpec {
  /** The script to run. */
  script: string;
  /**
   * Which kind of actor runs it: `osis`, `sal`, or a configured type; by default that of its
   * runner, or `osis`.
   */
  script_type?: string;
  /** What the script sees as `args`: any JSON. */
  args?: unknown;
  /**
   * The names of the jobs of the flow that must finish first. Its script sees what they gave as
   * `inputs.NAME`.
   */
  depends_on?: string[];
  /** The number of the runner that runs it. */
  runner?: number;
  /** Only actors of this group may run it. */
  group?: string;
  /** 0 urgent, 1 normal, 2 low. By default 1. */
  priority?: number;
  /** The most seconds one attempt may take. 60 by default. */
  timeout?: number;
  /** Extra attempts after an error or a timeout. By default 0. */
  retries?: number;
  /** Seconds before the second attempt, doubling for each further one up to 300. 1 by default. */
  retry_backoff?: number;
  /** What the script sees as `env` besides what the flow gives; the same name here counts. */
  env_vars?: Record<string, string>;
  /** Labels to find the job by. */
  labels?: Record<string, string>;
}

/**
 * The lists in which messages wait.
 *
 * - `in`: Those that came and were not fetched.
 *
 * - `out`: Those that are to go out.
 */
export type MessageList = "in" | "out";

/** The data of error 1002: what stands in the way. */
export interface StateData {
  /** The job. */
  job_id?: string;
  /** The flow. */
  flow_id?: number;
  /** The schedule. */
  schedule_id?: string;
  status?: JobStatus;
  /** The job that it waits for, which failed. */
  prerequisite?: string;
  /** How many jobs of the context run. */
  running?: number;
  /** How many jobs of the context wait in queues. */
  queued?: number;
  /** How many jobs of the context wait for their time, or for somebody to start them. */
  scheduled?: number;
  /** How many messages of the context wait. */
  messages?: number;
  /** The place of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error -32602: where a script does not compile, as far as that is what is wrong. */
export interface InvalidParamsData {
  error?: JobError;
  /** The place of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1001: which job is not there. */
export interface JobNotFoundData {
  /** The job. */
  job_id?: string;
  /** The place of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1006: when to try again. */
export interface RateLimitedData {
  /** In how many milliseconds it is worth trying again. */
  retry_after_ms?: number;
  /** The flow that another call is just making. */
  flow_id?: number;
  /** The place of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1007: when to try again. */
export interface QueueFullData {
  /** In how many milliseconds it is worth trying again. */
  retry_after_ms?: number;
  /** The place of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1008: how large it may be. */
export interface TooLargeData {
  /** The most that is allowed, in the unit that the message names. */
  limit?: number;
  /** The place of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1009: what became of the call. */
export interface StoreUnavailableData {
  outcome?: Outcome;
  /** The job that may have been stored. */
  job_id?: string;
  /** The key of Redis that another program has spoilt, if that is the cause. */
  key?: string;
  /** The place of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/**
 * What became of a call that the store did not answer.
 *
 * - `not_done`: Nothing was done.
 *
 * - `unknown`: Whether it was done is unknown.
 */
export type Outcome = "not_done" | "unknown";

/** The data of error 1010: what the key stands for. */
export interface IdempotencyReusedData {
  /** The job. */
  job_id?: string;
  /** The flow. */
  flow_id?: number;
  /** The schedule. */
  schedule_id?: string;
  /** The place of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1011: what is not there. */
export interface NotFoundData {
  /** The flow. */
  flow_id?: number;
  /** The schedule. */
  schedule_id?: string;
  /** The collection of the object. */
  collection?: string;
  /** The id of the object. */
  id?: string;
  /** The place of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1101: how a job or a flow failed. */
export interface JobFailedData {
  /** The job. */
  job_id?: string;
  status?: JobStatus;
  /** The attempt that failed. */
  attempt?: number;
  error?: JobError;
  /** The flow. */
  flow_id?: number;
  /** The jobs of the flow that failed. */
  failed?: FailedJob[];
  /** The place of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** A job of a flow that failed. */
export interface FailedJob {
  /** Its name in the flow. */
  job: string;
  /** Its id. */
  job_id: string;
  error: JobError;
}

/** The data of error 1102: what is waited for. */
export interface WaitRanOutData {
  /** The job, which goes on. */
  job_id?: string;
  /** The flow, which goes on. */
  flow_id?: number;
  status?: JobStatus;
  /** Why it does not run, for people. */
  explanation?: string;
  reason?: Reason;
  /** How many jobs of the flow have not ended. */
  open?: number;
  /** The place of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1103: what was stopped. */
export interface JobStoppedData {
  /** The job. */
  job_id?: string;
  status?: JobStatus;
  /** The attempt that failed. */
  attempt?: number;
  error?: JobError;
  /** The flow. */
  flow_id?: number;
  /** The jobs of the flow that failed. */
  failed?: FailedJob[];
  /** The place of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The optional parameters of `create_job`. */
export interface CreateJobOptions extends Omit<JobSpecInput, "script"> {
  /**
   * Starts the job at once, as `start_job` does, in one call. Otherwise it stays `created` until it
   * is started. By default false.
   */
  start?: boolean;
}

/** The optional parameters of `create_jobs`. */
export interface CreateJobsOptions {
  /**
   * Starts the jobs at once, as `start_job` does, in one call. At most 64 jobs can be started so,
   * which name at most 100 others and have at most 128 kB. Otherwise they stay `created` until they
   * are started. By default false.
   */
  start?: boolean;
}

/** The optional parameters of `start_job`. */
export interface StartJobOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `run_and_wait`. */
export interface RunAndWaitOptions extends Omit<JobSpecInput, "script"> {
  /** How many seconds to wait; 0 looks once. By default 120. */
  wait_timeout?: number;
}

/** The optional parameters of `wait_job`. */
export interface WaitJobOptions {
  /** How many seconds to wait; 0 looks once. By default 120. */
  wait_timeout?: number;
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `stop_job`. */
export interface StopJobOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `retry_job`. */
export interface RetryJobOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `get_status`. */
export interface GetStatusOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `get_job`. */
export interface GetJobOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `get_result`. */
export interface GetResultOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `get_logs`. */
export interface GetLogsOptions {
  /** The `next_cursor` of the page before, or the `cursor` of a line. */
  cursor?: string;
  /** The most lines to give. By default 100. */
  limit?: number;
  /** The context the job belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `list_jobs`. */
export interface ListJobsOptions {
  /** Which jobs; all that is given must fit. */
  filter?: JobFilter;
  /** The `next_cursor` of the page before. */
  cursor?: string;
  /** The most jobs to give. By default 100. */
  limit?: number;
  /** The context they belong to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `number_job`. */
export interface NumberJobOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `delete_job`. */
export interface DeleteJobOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `explain_job`. */
export interface ExplainJobOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `create_flow`. */
export interface CreateFlowOptions {
  /** A name for people. */
  name?: string;
  /**
   * What the scripts of all its jobs see as `env`. The values are secrets, but for those of the
   * variables that `HERO_PLAIN` names.
   */
  env_vars?: Record<string, string>;
  /**
   * What becomes of the other jobs when one ends in error: `stop` (the default) stops them,
   * `continue` has those go on that do not wait for it. `stop`: They are stopped. `continue`: Those
   * that do not wait for it go on. By default "stop".
   */
  on_failure?: FlowOnFailure;
  /** Jobs, none of the flow's own, that must finish before it begins. */
  prerequisites?: string[];
  /** Seconds to keep the flow and its jobs after its end; seven days by default. */
  retention?: number;
  /** Who creates it; the session's identity by default, else `anonymous`. */
  caller_id?: string;
  /** The context it belongs to. By default 0. */
  context_id?: number;
  /**
   * The same key of the same caller with the same parameters gives the same flow again, for 24
   * hours. It is kept for so long at least. The client creates a key if none is given. With `null`
   * the call has no key and is sent only once.
   */
  idempotency_key?: string | null;
}

/** The optional parameters of `run_flow_and_wait`. */
export interface RunFlowAndWaitOptions {
  /** How many seconds to wait; 0 looks once. By default 120. */
  wait_timeout?: number;
  /** A name for people. */
  name?: string;
  /**
   * What the scripts of all its jobs see as `env`. The values are secrets, but for those of the
   * variables that `HERO_PLAIN` names.
   */
  env_vars?: Record<string, string>;
  /**
   * What becomes of the other jobs when one ends in error: `stop` (the default) stops them,
   * `continue` has those go on that do not wait for it. `stop`: They are stopped. `continue`: Those
   * that do not wait for it go on. By default "stop".
   */
  on_failure?: FlowOnFailure;
  /** Jobs, none of the flow's own, that must finish before it begins. */
  prerequisites?: string[];
  /** Seconds to keep the flow and its jobs after its end; seven days by default. */
  retention?: number;
  /** Who creates it; the session's identity by default, else `anonymous`. */
  caller_id?: string;
  /** The context it belongs to. By default 0. */
  context_id?: number;
  /**
   * The same key of the same caller with the same parameters gives the same flow again, for 24
   * hours. It is kept for so long at least. The client creates a key if none is given. With `null`
   * the call has no key and is sent only once.
   */
  idempotency_key?: string | null;
}

/** The optional parameters of `start_flow`. */
export interface StartFlowOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `wait_flow`. */
export interface WaitFlowOptions {
  /** How many seconds to wait; 0 looks once. By default 120. */
  wait_timeout?: number;
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `get_flow`. */
export interface GetFlowOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `list_flows`. */
export interface ListFlowsOptions {
  /** The `next_cursor` of the page before. */
  cursor?: string;
  /** The most flows to give. By default 100. */
  limit?: number;
  /** Only flows that this caller created. */
  caller_id?: string;
  /** The context they belong to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `stop_flow`. */
export interface StopFlowOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `retry_flow`. */
export interface RetryFlowOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `delete_flow`. */
export interface DeleteFlowOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `create_schedule`. */
export interface CreateScheduleOptions {
  /**
   * When it runs, such as `0 9 * * MON-FRI`: minute, hour, day of the month, month, weekday;
   * seconds before them if there are six.
   */
  cron?: string;
  /**
   * Seconds from one run to the next, at least 1; counted from `start_at`, else from its creation.
   */
  every?: number;
  /** Where `cron` is read and times are shown, such as `Europe/Berlin`. UTC by default. */
  time_zone?: string;
  /** What a run does when the one before has not ended; `skip` by default. */
  overlap?: Overlap;
  /** What becomes of runs that were due while no server ran; `once` by default. */
  missed?: Missed;
  /** The most jobs that `missed: all` makes up for at a time. 100 by default, at most 1000. */
  missed_limit?: number;
  /** No run is before this time (RFC 3339). */
  start_at?: string;
  /** No run is after this time. */
  end_at?: string;
  /** A name for people. */
  name?: string;
  /**
   * A key for this request: repeated with the same parameters within 24 hours, it gives the same
   * schedule again, as it is then. The client creates a key if none is given. With `null` the call
   * has no key and is sent only once.
   */
  idempotency_key?: string | null;
  /** The id the schedule shall have; a new one by default. */
  schedule_id?: string;
}

/** The optional parameters of `list_schedules`. */
export interface ListSchedulesOptions {
  /** The `next_cursor` of the page before. */
  cursor?: string;
  /** The most schedules to give. By default 100. */
  limit?: number;
  /** Only schedules that this caller created. */
  caller_id?: string;
  /** The context they belong to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `delete_schedule`. */
export interface DeleteScheduleOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `set_object`. */
export interface SetObjectOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `get_object`. */
export interface GetObjectOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `find_objects`. */
export interface FindObjectsOptions {
  /**
   * What fields have to be: `{"city": "Ghent", "born": {"gte": 1800, "lt": 1900}, "name":
   * {"prefix": "A"}}`. A field that is an array fits if one of its elements does, and one that is
   * not there is `null`; `address.zip` is a field of a field.
   */
  filter?: Record<string, unknown>;
  /** The field to sort by, which needs an index; the id by default. */
  order_by?: string;
  /** Whether the last comes first. */
  descending?: boolean;
  /** The most objects to give. By default 100. */
  limit?: number;
  /** The `next_cursor` of the page before. */
  cursor?: string;
  /** The context they belong to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `delete_object`. */
export interface DeleteObjectOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `list_collections`. */
export interface ListCollectionsOptions {
  /** The context they belong to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `drop_collection`. */
export interface DropCollectionOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `create_identity`. */
export interface CreateIdentityOptions {
  /** Its public key (secp256k1, uncompressed, hexadecimal). No two identities have the same. */
  pubkey?: string;
  /** Where it can be reached, 16 at most. */
  address?: string[];
}

/** The optional parameters of `update_identity`. */
export interface UpdateIdentityOptions {
  /** Its new public key. */
  pubkey?: string;
  /** Where it can be reached now. */
  address?: string[];
}

/** The optional parameters of `list_identities`. */
export interface ListIdentitiesOptions {
  /** The `next_cursor` of the page before. */
  cursor?: string;
  /** The most identities to give. By default 100. */
  limit?: number;
}

/** The optional parameters of `create_token`. */
export interface CreateTokenOptions {
  /** What it is for. */
  name?: string;
  /** After how many seconds it ends; never, if this is not given. */
  lifetime?: number;
}

/** The optional parameters of `create_context`. */
export interface CreateContextOptions {
  /** What it is for. */
  name?: string;
  /** Who may do everything in it. */
  admins?: number[];
  /** What may be used in it. */
  limits?: ContextLimits;
}

/** The optional parameters of `update_context`. */
export interface UpdateContextOptions {
  /** The context to change. By default 0. */
  context_id?: number;
  /** What it is for. */
  name?: string;
  /** What may be used in it. */
  limits?: ContextLimits;
}

/** The optional parameters of `get_context`. */
export interface GetContextOptions {
  /** The context to look at. By default 0. */
  context_id?: number;
}

/** The optional parameters of `list_contexts`. */
export interface ListContextsOptions {
  /** The `next_cursor` of the page before. */
  cursor?: string;
  /** The most contexts to give. By default 100. */
  limit?: number;
}

/** The optional parameters of `delete_context`. */
export interface DeleteContextOptions {
  /**
   * Whether jobs that have not ended are stopped, and messages that wait to be sent or for their
   * result are lost. Otherwise a context that has some is not deleted. By default false.
   */
  stop_jobs?: boolean;
}

/** The optional parameters of `grant`. */
export interface GrantOptions {
  /** The context. By default 0. */
  context_id?: number;
}

/** The optional parameters of `revoke`. */
export interface RevokeOptions {
  /** The context. By default 0. */
  context_id?: number;
}

/** The optional parameters of `create_runner`. */
export interface CreateRunnerOptions {
  /** Whether it is a pool of this context. By default true. */
  local?: boolean;
  /** Where it is, if it is not local. */
  address?: string;
  /** The key with which results of its jobs are signed: that of the node that runs them. */
  pubkey?: string;
  /** The context at the other side in which its jobs run. By default 0. */
  target_context?: number;
  /** What it is for; 256 bytes at most. */
  name?: string;
  /** What it is called; `runner{runner_id}` if this is not given. */
  topic?: string;
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `update_runner`. */
export interface UpdateRunnerOptions {
  /** The script type of its jobs. */
  script_type?: string;
  /** Whether it is a pool of this context. */
  local?: boolean;
  /** Where it is, if it is not local. */
  address?: string;
  /** The key with which results of its jobs are signed. */
  pubkey?: string;
  /** What it is called. */
  topic?: string;
  /** The context at the other side in which its jobs run. */
  target_context?: number;
  /** What it is for. */
  name?: string;
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `get_runner`. */
export interface GetRunnerOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `list_runners`. */
export interface ListRunnersOptions {
  /** The `next_cursor` of the page before. */
  cursor?: string;
  /** The most runners to give. By default 100. */
  limit?: number;
  /** The context they belong to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `delete_runner`. */
export interface DeleteRunnerOptions {
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `send_message`. */
export interface SendMessageOptions {
  /** What it says; a megabyte at most. By default "". */
  message?: string;
  /**
   * Where it goes: `here` (another context of this server), `node:NAME`, `redis://…`, or a node of
   * Mycelium.
   */
  address?: string;
  /**
   * What it is about: normally the topic of a runner, whose address it goes to if it has none. A
   * script type is the topic of all runners that have it, which take turns.
   */
  topic?: string;
  /** The context it is for. By default 0. */
  target_context?: number;
  /** What it is. */
  message_type?: MessageType;
  /** What it is written in. */
  message_format_type?: MessageFormat;
  /** Its jobs, if it is of type `job`, as the coordinator writes them: each with a `script`. */
  job?: unknown[];
  /** The seconds within which the other side has to have stored it. By default 300. */
  timeout_ack?: number;
  /** The seconds after that within which a result has to come. By default 3600. */
  timeout_result?: number;
  /** Who sends it; the identity of the session by default. */
  caller_id?: number;
  /** The context it comes from. By default 0. */
  context_id?: number;
}

/** The optional parameters of `ping_node`. */
export interface PingNodeOptions {
  /** The context there. By default 0. */
  target_context?: number;
  /** The context that asks. By default 0. */
  context_id?: number;
}

/** The optional parameters of `get_message`. */
export interface GetMessageOptions {
  /** The context that has it. By default 0. */
  context_id?: number;
}

/** The optional parameters of `list_messages`. */
export interface ListMessagesOptions {
  /** Which list. */
  list?: MessageList;
  /** The `next_cursor` of the page before. */
  cursor?: string;
  /** The most messages to give. By default 100. */
  limit?: number;
  /** Only messages of this caller. */
  caller_id?: number;
  /** The context that has them. By default 0. */
  context_id?: number;
  /**
   * Only messages of this status, whichever way they go, the one that got it last first: the last
   * 10,000. `list` does not count then.
   */
  status?: MessageStatus;
}

/** The optional parameters of `acknowledge_message`. */
export interface AcknowledgeMessageOptions {
  /** The context that has it. By default 0. */
  context_id?: number;
}

/** The optional parameters of `delete_message`. */
export interface DeleteMessageOptions {
  /** The context that has it. By default 0. */
  context_id?: number;
}

/** The optional parameters of `list_actors`. */
export interface ListActorsOptions {
  /** The context they work for. By default 0. */
  context_id?: number;
}

/** The optional parameters of `list_functions`. */
export interface ListFunctionsOptions {
  /** Only the functions of scripts of this type. */
  script_type?: string;
}

/** The optional parameters of `check_script`. */
export interface CheckScriptOptions {
  /** The script type that it is written for. By default "osis". */
  script_type?: string;
  /** The context in which it is to run. By default 0. */
  context_id?: number;
}

/** The optional parameters of `list_queues`. */
export interface ListQueuesOptions {
  /** The context they belong to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `pause_queue`. */
export interface PauseQueueOptions {
  /**
   * The group of the queue; without it, and without an instance, it is the queue of the whole type.
   */
  group?: string;
  /** The instance of the queue, in the group `default` if none is named. */
  instance?: number;
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `resume_queue`. */
export interface ResumeQueueOptions {
  /**
   * The group of the queue; without it, and without an instance, it is the queue of the whole type.
   */
  group?: string;
  /** The instance of the queue, in the group `default` if none is named. */
  instance?: number;
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `subscribe_job`. */
export interface SubscribeJobOptions {
  /** The `cursor` of the last event that was seen. */
  cursor?: string;
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `subscribe_flow`. */
export interface SubscribeFlowOptions {
  /** The `cursor` of the last item that was seen. */
  cursor?: string;
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `subscribe_events`. */
export interface SubscribeEventsOptions {
  /** Which jobs; all that is given must fit. */
  filter?: JobFilter;
  /** The `cursor` of the last event that was seen. */
  cursor?: string;
  /** The context they belong to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `subscribe_logs`. */
export interface SubscribeLogsOptions {
  /** The `cursor` of the last line that was seen. */
  cursor?: string;
  /** The context the job belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `drain_server`. */
export interface DrainServerOptions {
  /**
   * After how many seconds it ends at the latest; a further call can only shorten that. Scripts
   * that run then get the grace period, and what has not ended in it runs again elsewhere. By
   * default 3600.
   */
  timeout?: number;
}

/** The parameters and result of each call, by its name. */
export interface Methods {
  create_job: { params: { script: string } & CreateJobOptions; result: string };
  create_jobs: { params: { jobs: JobSpecInput[] } & CreateJobsOptions; result: string[] };
  start_job: { params: { job_id: string } & StartJobOptions; result: JobStatus };
  run_and_wait: { params: { script: string } & RunAndWaitOptions; result: JobResult };
  wait_job: { params: { job_id: string } & WaitJobOptions; result: JobResult };
  stop_job: { params: { job_id: string } & StopJobOptions; result: JobStatus };
  retry_job: { params: { job_id: string } & RetryJobOptions; result: JobStatus };
  get_status: { params: { job_id: string } & GetStatusOptions; result: JobStatus };
  get_job: { params: { job_id: string } & GetJobOptions; result: Job };
  get_result: { params: { job_id: string } & GetResultOptions; result: JobResult };
  get_logs: { params: { job_id: string } & GetLogsOptions; result: LogPage };
  list_jobs: { params: ListJobsOptions; result: JobPage };
  number_job: { params: { job_id: string } & NumberJobOptions; result: string };
  delete_job: { params: { job_id: string } & DeleteJobOptions; result: boolean };
  explain_job: { params: { job_id: string } & ExplainJobOptions; result: Explanation };
  create_flow: { params: { jobs: Record<string, FlowJobSpec> } & CreateFlowOptions; result: number };
  run_flow_and_wait: { params: { jobs: Record<string, FlowJobSpec> } & RunFlowAndWaitOptions; result: Flow };
  start_flow: { params: { flow_id: number } & StartFlowOptions; result: FlowStatus };
  wait_flow: { params: { flow_id: number } & WaitFlowOptions; result: Flow };
  get_flow: { params: { flow_id: number } & GetFlowOptions; result: Flow };
  list_flows: { params: ListFlowsOptions; result: FlowPage };
  stop_flow: { params: { flow_id: number } & StopFlowOptions; result: FlowStatus };
  retry_flow: { params: { flow_id: number } & RetryFlowOptions; result: FlowStatus };
  delete_flow: { params: { flow_id: number } & DeleteFlowOptions; result: boolean };
  create_schedule: { params: { job: JobSpecInput } & CreateScheduleOptions; result: Schedule };
  list_schedules: { params: ListSchedulesOptions; result: SchedulePage };
  delete_schedule: { params: { schedule_id: string } & DeleteScheduleOptions; result: boolean };
  set_object: { params: { collection: string; object: Record<string, unknown> } & SetObjectOptions; result: string };
  get_object: { params: { collection: string; id: string } & GetObjectOptions; result: unknown };
  find_objects: { params: { collection: string } & FindObjectsOptions; result: ObjectPage };
  delete_object: { params: { collection: string; id: string } & DeleteObjectOptions; result: boolean };
  list_collections: { params: ListCollectionsOptions; result: Collection[] };
  drop_collection: { params: { collection: string } & DropCollectionOptions; result: number | null };
  create_identity: { params: CreateIdentityOptions; result: Identity };
  update_identity: { params: { identity_id: number } & UpdateIdentityOptions; result: Identity };
  get_identity: { params: { identity_id: number }; result: Identity };
  list_identities: { params: ListIdentitiesOptions; result: IdentityPage };
  delete_identity: { params: { identity_id: number }; result: boolean };
  whoami: { params: Record<string, never>; result: Who };
  fetch_nonce: { params: { pubkey: string }; result: string };
  authenticate: { params: { pubkey: string; signature: string; nonce: string }; result: LoggedIn };
  create_token: { params: { identity_id: number } & CreateTokenOptions; result: NewToken };
  present_token: { params: { token: string }; result: Presented };
  list_tokens: { params: { identity_id: number }; result: Token[] };
  revoke_token: { params: { token_id: string }; result: boolean };
  create_context: { params: CreateContextOptions; result: Context };
  update_context: { params: UpdateContextOptions; result: Context };
  get_context: { params: GetContextOptions; result: Context };
  list_contexts: { params: ListContextsOptions; result: ContextPage };
  delete_context: { params: { context_id: number } & DeleteContextOptions; result: boolean };
  grant: { params: { identity_id: number; role: Role } & GrantOptions; result: Context };
  revoke: { params: { identity_id: number; role: Role } & RevokeOptions; result: Context };
  create_runner: { params: { script_type: string } & CreateRunnerOptions; result: Runner };
  update_runner: { params: { runner_id: number } & UpdateRunnerOptions; result: Runner };
  get_runner: { params: { runner_id: number } & GetRunnerOptions; result: Runner };
  list_runners: { params: ListRunnersOptions; result: RunnerPage };
  delete_runner: { params: { runner_id: number } & DeleteRunnerOptions; result: boolean };
  send_message: { params: SendMessageOptions; result: Message };
  ping_node: { params: { address: string } & PingNodeOptions; result: Pong };
  get_message: { params: { caller_id: number; message_id: number } & GetMessageOptions; result: Message };
  list_messages: { params: ListMessagesOptions; result: MessagePage };
  acknowledge_message: { params: { caller_id: number; message_id: number } & AcknowledgeMessageOptions; result: Message };
  delete_message: { params: { caller_id: number; message_id: number } & DeleteMessageOptions; result: boolean };
  list_actors: { params: ListActorsOptions; result: Actor[] };
  list_functions: { params: ListFunctionsOptions; result: ScriptFunction[] };
  check_script: { params: { script: string } & CheckScriptOptions; result: ScriptCheck };
  list_queues: { params: ListQueuesOptions; result: QueueInfo[] };
  pause_queue: { params: { script_type: string } & PauseQueueOptions; result: boolean };
  resume_queue: { params: { script_type: string } & ResumeQueueOptions; result: boolean };
  server_info: { params: Record<string, never>; result: ServerDetails };
  ping: { params: Record<string, never>; result: string };
  subscribe_job: { params: { job_id: string } & SubscribeJobOptions; result: string };
  unsubscribe_job: { params: { subscription: string }; result: boolean };
  subscribe_flow: { params: { flow_id: number } & SubscribeFlowOptions; result: string };
  unsubscribe_flow: { params: { subscription: string }; result: boolean };
  subscribe_events: { params: SubscribeEventsOptions; result: string };
  unsubscribe_events: { params: { subscription: string }; result: boolean };
  subscribe_logs: { params: { job_id: string } & SubscribeLogsOptions; result: string };
  unsubscribe_logs: { params: { subscription: string }; result: boolean };
  drain_server: { params: DrainServerOptions; result: Draining };
}

/** The parameters and items of each subscription, by the call that opens it. */
export interface Subscriptions {
  subscribe_job: { params: { job_id: string } & SubscribeJobOptions; item: EventNotice | BeganNotice | LaggedNotice | EndedNotice };
  subscribe_flow: { params: { flow_id: number } & SubscribeFlowOptions; item: FlowNotice | EndedNotice };
  subscribe_events: { params: SubscribeEventsOptions; item: EventNotice | BeganNotice | LaggedNotice | EndedNotice };
  subscribe_logs: { params: { job_id: string } & SubscribeLogsOptions; item: LineNotice | LaggedNotice | EndedNotice };
}
