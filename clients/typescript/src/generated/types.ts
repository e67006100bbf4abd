// Generated from openrpc.json by clients/generate (`make clients`). Do not edit.

/**
 * The status of a job.
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
  /** Always `finished`: a job that ended in error is a JSON-RPC error. */
  status: "finished";
  /** The output, exactly as stored in Redis. */
  output: string;
  /** The output as JSON, if the engine returned a structured value (always for Rhai). */
  value?: unknown;
  /** The number of the attempt that finished, from 1. */
  attempt: number;
  /** When that attempt began. */
  started_at?: string;
  /** When the job ended. */
  finished_at?: string;
  usage?: Usage;
}

/** The resources that an attempt used. */
export interface Usage {
  /** Script operations. */
  operations: number;
  /** The peak memory of the script, or of one process of a command that it ran, in bytes. */
  peak_memory: number;
  /** How long the script ran, in milliseconds. */
  run_ms: number;
  /**
   * The processor time of the script and its commands, in microseconds; 0 if it is not known, for
   * example because the engine was killed. By default 0.
   */
  cpu_us: number;
}

/** Everything that is known about a job. Fields that were never set are left out. */
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
  /** The caller that created it. */
  caller_id?: string;
  /** The script type, whose actors run it. */
  script_type?: string;
  /** The script. */
  script: string;
  /** The value of `args` in the script. */
  args?: unknown;
  /** Only actors of this group run it. */
  group?: string;
  /** Only this actor of the group runs it. */
  instance?: number;
  /** The worker a client of the dispatcher protocol named. */
  worker_id?: string;
  /** 0 urgent, 1 normal, 2 low. */
  priority: number;
  /** The time limit of one attempt in seconds. */
  timeout?: number;
  /** Extra attempts after an error or a timeout. */
  retries: number;
  /** Whether the job may run at the same time as others of its actor. */
  concurrent: boolean;
  /**
   * Its environment variables; the values are shown as `***`, except those that `HERO_PLAIN` names.
   */
  env_vars?: Record<string, string>;
  /** Jobs that must finish first. */
  prerequisites?: string[];
  /** Jobs that were named as waiting for this one when it was created. */
  dependents?: string[];
  /** The parent job. */
  parent_id?: string;
  /** The job that must end first, together with all its descendants. */
  predecessor_id?: string;
  /** The job does not run before this time. */
  run_at?: string;
  /** The path of its log file, relative to the log directory. */
  log_path?: string;
  /** An identifier chosen by the client. */
  client_rpc_id?: string;
  /** How many attempts have begun. */
  attempt: number;
  /** How often its engine or actor died while it ran. */
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
  /**
   * In a list: the fields that are cut or left out because they are long. `get_job` returns them in
   * full.
   */
  truncated?: string[];
}

/** The progress that a running script reports. */
export interface Progress {
  /** A number of the script's choice, usually percent. */
  value: number;
  /** The current step, in words. By default "". */
  text: string;
}

/** The error of a job, and its place in the script. */
export interface JobError {
  kind: ErrorKind;
  /** The error message. */
  message: string;
  /** The line of the script, from 1. */
  line?: number;
  /** The column of the script, from 1. */
  column?: number;
  /** The script functions that were running, innermost first. */
  stack?: string[];
  limit?: ScriptLimit;
  /**
   * The value that the script threw, unless that was a string, nothing, or more than 64 KB of JSON.
   * If it is a map with a string `message`, that is the message.
   */
  data?: unknown;
}

/**
 * The kind of the error of a job.
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
 * - `prerequisite`: A job that it waited for ended in error.
 *
 * - `unavailable`: It cannot run here: it has a bad field, or its engine does not start.
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
  /** The cursor for the lines that follow, now or later. */
  next_cursor?: string;
  /** Whether the job has ended and no lines follow. */
  ended: boolean;
}

/** One line that a job logged. */
export interface LogLine {
  /** The cursor for the lines after this one. */
  cursor: string;
  /** When it was logged; absent in lines of foreign log files. */
  time?: string;
  level: LogLevel;
  /** The text of the line. */
  text: string;
}

/**
 * The level of a log line.
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
   * The cursor of the next page; absent on the last. A page may have fewer jobs than `limit`
   * although more follow.
   */
  next_cursor?: string;
}

/**
 * Why a job has not ended, or how it ended, with the known facts. They are read one after another,
 * so they are not of one moment.
 */
export interface Explanation {
  /** The job. */
  job_id: string;
  status: JobStatus;
  reason: Reason;
  /** The reason as a sentence. */
  message: string;
  /** The jobs it waits for. */
  waiting_for?: WaitsFor[];
  /** When it is due. */
  due_at?: string;
  /** The Redis key of its queue. */
  queue?: string;
  /** How many jobs wait in that queue. */
  depth?: number;
  /** Its position in that queue; 1 is taken next. Absent far back, and where callers take turns. */
  position?: number;
  /** How many live actors take from that queue, without those whose server drains. */
  actors?: number;
  /** How many jobs run in its context, without those of runners elsewhere. */
  running?: number;
  /** How many jobs may run in its context. */
  max_running?: number;
  progress?: Progress;
  /** Its attempts, including the one that runs or ran last. */
  attempts?: Attempt[];
}

/**
 * Why a job is not running, as a word.
 *
 * - `not_started`: Nobody has started it.
 *
 * - `due_later`: It is to run later.
 *
 * - `waiting_for_retry`: An attempt failed, and the next one is due later.
 *
 * - `waiting_for_prerequisites`: Other jobs must finish first.
 *
 * - `waiting_for_parent`: The script of its parent must return first.
 *
 * - `waiting_for_predecessor`: Its predecessor and all its descendants must end first.
 *
 * - `paused`: Its queue is paused.
 *
 * - `waiting_for_turn`: Its context, or its runner, waits for its turn to have actors.
 *
 * - `no_live_actor`: No live actor takes from its queue.
 *
 * - `draining`: The actors that take from its queue take no more jobs, because they or their
 * servers are ending.
 *
 * - `at_concurrency_cap`: Its context runs its maximum number of jobs.
 *
 * - `all_actors_busy`: The actors that take from its queue have other jobs.
 *
 * - `waiting_for_actor`: Its queue has actors, but nothing runs in its context: an actor is about
 * to take the job, or all have just ended.
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
 * How a flow treats its other jobs when one ends in error.
 *
 * - `stop`: They are stopped.
 *
 * - `continue`: Those that do not wait for it continue.
 */
export type FlowOnFailure = "stop" | "continue";

/** Everything that is known about a flow. */
export interface Flow {
  /** Its number. */
  flow_id: number;
  status: FlowStatus;
  /** The name its creator gave it. */
  name?: string;
  /** The context it belongs to. */
  context_id: number;
  /** The caller that created it. */
  caller_id: string;
  /**
   * How a flow treats its other jobs when one ends in error. `stop`: They are stopped. `continue`:
   * Those that do not wait for it continue.
   */
  on_failure: FlowOnFailure;
  /**
   * The environment variables of all its jobs; the values are shown as `***`, except those that
   * `HERO_PLAIN` names.
   */
  env_vars?: Record<string, string>;
  /** Whether somebody asked to stop it. By default false. */
  stop_requested: boolean;
  /** When it was created, to the second. */
  created_at: string;
  /** When it last changed, to the second. */
  updated_at: string;
  /** When its first job began. */
  started_at?: string;
  /** When its last job ended. */
  finished_at?: string;
  /** Its jobs, each after those that it waits for. */
  jobs: FlowJob[];
  /**
   * The results of its jobs by name, once it has ended: the outputs of the finished jobs, exactly
   * as stored.
   */
  result: Record<string, string>;
  /**
   * Whether outputs are missing from `result`: those of more than 64 KB, and all after the first
   * megabyte. `get_result` returns each. By default false.
   */
  truncated: boolean;
  /** Its jobs as a graph, in the language of Mermaid. */
  graph: string;
}

/**
 * The status of a flow, in the words of the coordinator's specification.
 *
 * - `dispatched`: It is created or started, and none of its jobs has begun.
 *
 * - `waiting_for_prerequisites`: It is started, and waits for jobs outside the flow.
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
  /** The id of the job, as methods of jobs take it. */
  job_id: string;
  /** Its number: `n` of `job:{caller}:{n}`. */
  number: number;
  status?: JobStatus;
  /** The names of the jobs of the flow that it waits for. */
  depends_on?: string[];
  /** The script type, whose actors run it. */
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

/** Flows, newest first. */
export interface FlowPage {
  /** The flows. */
  flows: FlowSummary[];
  /** The cursor of the next page, if there are more. */
  next_cursor?: string;
}

/** A flow in a list. */
export interface FlowSummary {
  /** Its number. */
  flow_id: number;
  status: FlowStatus;
  /** The name its creator gave it. */
  name?: string;
  /** The caller that created it. */
  caller_id: string;
  /** How many jobs it has. */
  jobs: number;
  /** How many of them have not ended. */
  open: number;
  /** How many of them ended in error. */
  failed: number;
  /** Whether somebody asked to stop it. By default false. */
  stop_requested: boolean;
  /** When it was created, to the second. */
  created_at: string;
  /** When its first job began. */
  started_at?: string;
  /** When its last job ended. */
  finished_at?: string;
}

/** A schedule and its progress. */
export interface Schedule {
  /**
   * Its id. Its jobs have it in the label `schedule`, and the time at which they were due in the
   * label `slot`.
   */
  schedule_id: string;
  /** A display name. */
  name?: string;
  /** When it runs, as a cron pattern. */
  cron?: string;
  /** Seconds from one run to the next. */
  every?: number;
  /** The time zone of `cron` and of the times shown. */
  time_zone: string;
  overlap: Overlap;
  missed: Missed;
  /** The maximum number of jobs that `missed: all` creates at a time. */
  missed_limit: number;
  /** The earliest time of a run. */
  start_at?: string;
  /** The latest time of a run. */
  end_at?: string;
  /** When it was created. */
  created_at: string;
  /**
   * The next runs, at most five. A schedule without next runs has ended, and is deleted in a while.
   */
  next_runs: string[];
  /**
   * Why its runs are skipped for now: its creator may no longer create jobs in the context. Absent
   * if they are not.
   */
  suspended?: string;
  /** When its last job was due. */
  last_run?: string;
  /** Its last job. */
  last_job?: string;
  /** How many jobs it created. */
  runs: number;
  /** How many runs were skipped because the previous one had not ended. */
  skipped_runs: number;
  /**
   * How many runs were skipped because no server ran, or because its creator was not allowed to
   * create jobs. At most 1000 are counted at a time.
   */
  missed_runs: number;
  job: JobSpec;
}

/**
 * How a run behaves if the previous one has not ended.
 *
 * - `skip`: It is skipped and counted.
 *
 * - `queue`: Its job waits for the end of the previous one and of all its descendants. At most 100
 * wait; further runs are skipped.
 *
 * - `allow`: Its job runs at the same time.
 */
export type Overlap = "skip" | "queue" | "allow";

/**
 * How runs are treated that were due while no server ran: those that no server fired within 30
 * seconds, or with `skip` within 5.
 *
 * - `skip`: They are skipped and counted.
 *
 * - `once`: One job makes up for all of them.
 *
 * - `all`: Each gets its job, as far as `overlap` allows. Of more than `missed_limit`, only the
 * newest do.
 */
export type Missed = "skip" | "once" | "all";

/**
 * A job to create. Only `script` is required. The order of the fields is the order of positional
 * parameters, most used first.
 */
export interface JobSpec {
  /** The script to run. */
  script: string;
  /**
   * The script type, whose actors run it: `osis`, `sal`, or a configured type. By default "osis".
   */
  script_type: string;
  /** The value of `args` in the script: any JSON, nested at most 100 deep. */
  args?: unknown;
  /** The time limit of one attempt in seconds. 60 by default. */
  timeout?: number;
  /** Extra attempts after an error or a timeout. By default 0. */
  retries: number;
  /** Seconds before the second attempt, doubling for each further one up to 300. 1 by default. */
  retry_backoff?: number;
  /** 0 urgent, 1 normal, 2 low. By default 1. */
  priority: number;
  /** A display name. */
  name?: string;
  /** Labels for finding the job. */
  labels?: Record<string, string>;
  /**
   * Environment variables: the value of `env` in the script. Their values are secrets, masked in
   * logs and in `get_job`. The variable `HERO_PLAIN` names those whose values are not:
   * `"HERO_PLAIN": "MODE,CUSTOMER"`.
   */
  env_vars?: Record<string, string>;
  /** The job does not run before this time (RFC 3339). */
  run_at?: string;
  /**
   * A key for this request. For 24 hours, the same key with the same parameters returns the same
   * job. The client creates a key if none is given. With `null` the call has no key and is sent
   * only once.
   */
  idempotency_key?: string | null;
  /** Seconds to keep the job after its end. */
  retention?: number;
  /** Jobs that must finish first. */
  prerequisites?: string[];
  /** The parent job. */
  parent_id?: string;
  /** The job that must end first, together with all its descendants. */
  predecessor_id?: string;
  /** Only actors of this group may run it. */
  group?: string;
  /** Only the actor with this number may run it, in the group `default` if no group is given. */
  instance?: number;
  /** Whether the job may run at the same time as others of its actor (`sal`). By default false. */
  concurrent: boolean;
  /** The path of its log file, relative to the log directory; at most 8 parts between slashes. */
  log_path?: string;
  /** The context it belongs to. By default 0. */
  context_id: number;
  /** The caller that creates it: by default the identity of the session, else `anonymous`. */
  caller_id?: string;
  /** The worker of the dispatcher protocol; a number is the instance. */
  worker_id?: string;
  /** Jobs that wait for this job. */
  dependents?: string[];
  /** An identifier chosen by the client, stored unchanged. */
  client_rpc_id?: string;
  /** The id of the job; a new one by default. */
  job_id?: string;
}

/** A page of schedules, in the order of their next runs. */
export interface SchedulePage {
  /** The schedules. */
  schedules: Schedule[];
  /** The cursor of the next page; absent on the last. */
  next_cursor?: string;
}

/** Some objects of a collection. */
export interface ObjectPage {
  /** The objects, in order. */
  objects: unknown[];
  /** The `cursor` of the next page; absent on the last. */
  next_cursor?: string;
  /**
   * The fields of the filter that no index was used for. Objects were read one after another and
   * compared, at most 10,000 for one page, so the page may be short although more follow.
   */
  compared?: string[];
  /** How many objects were read. */
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
  /** Whether this server has a schema for its objects. */
  typed: boolean;
}

/** An index of a collection. */
export interface Index {
  /** The field. `address.city` names a nested field; a backslash escapes a dot in a name. */
  field: string;
  /** Whether it has all objects. An index that is being built is not used yet. */
  ready: boolean;
}

/** A caller that can be granted rights. */
export interface Identity {
  /** Its number. */
  identity_id: number;
  /** Its public key, if it has one. */
  pubkey?: string;
  /** The addresses at which it can be reached. By default []. */
  address: string[];
  /** When it was created, to the second. */
  created_at: string;
  /** When it was last changed, to the second. */
  updated_at: string;
}

/** Identities by number. */
export interface IdentityPage {
  /** The identities. */
  identities: Identity[];
  /**
   * The cursor of the next page, if there are more. A page may have fewer identities than `limit`
   * although more follow.
   */
  next_cursor?: string;
}

/** The caller and its rights. */
export interface Who {
  /** Its identity, if it has logged in with one. */
  identity_id?: number;
  /** Whether the caller is the operator, who may do everything. */
  operator: boolean;
  /** The `caller_id` of jobs that it creates without naming one. */
  caller_id: string;
  /** Its roles in contexts. By default {}. */
  roles: Record<string, Role[]>;
}

/**
 * A role of an identity in a context.
 *
 * - `admin`: May do everything in the context, and grant rights in it.
 *
 * - `caller`: May create, start, stop and read its own jobs, and use the objects.
 *
 * - `reader`: May read everything.
 *
 * - `executor`: May run the jobs and flows of others: read, start, stop and retry them.
 */
export type Role = "admin" | "caller" | "reader" | "executor";

/** A login. */
export interface LoggedIn {
  /** Its identity. */
  identity_id: number;
  /** The bearer token. Shown only once. */
  token: string;
  /** When the token expires. */
  expires_at: string;
}

/** A newly created token. */
export interface NewToken {
  /** Its public name. */
  token_id: string;
  /** Its identity. */
  identity_id: number;
  /** Its purpose, in the words of its creator. */
  name?: string;
  /** When it was created. */
  created_at: string;
  /** When it expires; absent if it never does. */
  expires_at?: string;
  /** The bearer token. Shown only once. */
  secret: string;
}

/** The identity of a token. */
export interface Presented {
  /** Its identity. */
  identity_id: number;
  /** When the token expires, if it does. */
  expires_at?: string;
}

/** A token without its secret, which is shown only once, to its creator. */
export interface Token {
  /** Its public name. */
  token_id: string;
  /** Its identity. */
  identity_id: number;
  /** Its purpose, in the words of its creator. */
  name?: string;
  /** When it was created. */
  created_at: string;
  /** When it expires; absent if it never does. */
  expires_at?: string;
}

/** A context with its roles and limits. */
export interface Context {
  /** Its number. */
  context_id: number;
  /** The identities that may do everything in it. By default []. */
  admins: number[];
  /** The identities that may create jobs. By default []. */
  callers: number[];
  /** The identities that may read everything. By default []. */
  readers: number[];
  /** The identities that may run jobs. By default []. */
  executors: number[];
  /** When it was created, or rights were first granted in it, to the second. */
  created_at?: string;
  /** When it was last changed, to the second. */
  updated_at?: string;
  /** Its purpose, in the words of its creator. */
  name?: string;
  limits: ContextLimits;
  status: ContextStatus;
}

/**
 * The limits of a context. An absent value sets no limit. If the settings of a server have a limit,
 * too, the lower one applies.
 */
export interface ContextLimits {
  /** How many jobs may be created in a second. */
  jobs_per_second?: number;
  /** How many jobs a queue may have. */
  queue_length?: number;
  /**
   * How many jobs may run at once, on all servers together. Jobs of runners elsewhere count there.
   */
  max_running?: number;
  /** The maximum number of operations of a script. */
  script_operations?: number;
  /** The maximum processor time of a job, in seconds. */
  cpu_time?: number;
  /** How many bytes all objects may have together. */
  objects_quota?: number;
  /** How many bytes the files written by scripts may have. */
  files_quota?: number;
}

/**
 * The status of a context.
 *
 * - `active`: It accepts calls.
 *
 * - `deleting`: It is being deleted, and accepts no calls.
 */
export type ContextStatus = "active" | "deleting";

/** Contexts by number. */
export interface ContextPage {
  /** The contexts. */
  contexts: Context[];
  /** The cursor of the next page, if there are more. */
  next_cursor?: string;
}

/** A runner, which runs the jobs of its script type in its group, `runner{runner_id}`. */
export interface Runner {
  /** Its number. */
  runner_id: number;
  /** The script type of its jobs. */
  script_type: string;
  /** Whether it is a pool of this context; otherwise its jobs are sent to `address`. */
  local: boolean;
  /** Its topic there and here; `runner{runner_id}` by default. */
  topic: string;
  /** Its address, if it is not local. */
  address?: string;
  /** The key that signs the results of its jobs. */
  pubkey?: string;
  /** The context at the other side in which its jobs run. By default 0. */
  target_context: number;
  /** Its purpose, in the words of its creator. */
  name?: string;
  /** When it was created, to the second. */
  created_at: string;
  /** When it was last changed, to the second. */
  updated_at: string;
}

/** Runners by number. */
export interface RunnerPage {
  /** The runners. */
  runners: Runner[];
  /** The cursor of the next page, if there are more. */
  next_cursor?: string;
}

/** A message as it is stored. */
export interface Message {
  /** The sender; 0 is nobody. */
  caller_id: number;
  /** Its number. */
  message_id: number;
  /** The context that has it. By default 0. */
  context_id: number;
  /** The text. By default "". */
  message: string;
  message_type: MessageType;
  message_format_type: MessageFormat;
  /** The total seconds that it may take. By default 0. */
  timeout: number;
  /** The seconds within which the other side must store it. By default 0. */
  timeout_ack: number;
  /** The seconds after that within which its result must arrive, if it has jobs. By default 0. */
  timeout_result: number;
  /**
   * Its jobs, in the form of the coordinator's specification; the values of `env_vars` are shown as
   * `***`. By default [].
   */
  job: unknown[];
  /** Its log. By default []. */
  logs: MessageLog[];
  /** When it was created, to the second. */
  created_at: string;
  /** When it was last changed, to the second. */
  updated_at: string;
  status: MessageStatus;
  /** The context that receives it. By default 0. */
  target_context: number;
  /** The topic at the other side, normally that of a runner. */
  topic?: string;
  /** Its destination. */
  address?: string;
  /** The key that signed it, if that is known. */
  public_key?: string;
  /** The number of the message that it answers. */
  answers?: number;
  /** Why it is in error. */
  error?: string;
}

/**
 * The type of a message.
 *
 * - `job`: Jobs to run at the other side.
 *
 * - `chat`: A line to somebody.
 *
 * - `mail`: A letter to somebody.
 *
 * - `result`: The end of a job that arrived in a message.
 */
export type MessageType = "job" | "chat" | "mail" | "result";

/**
 * The format of a message.
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
  /** When it was logged, in seconds since 1970. */
  time: number;
  /** The text of the line. */
  text: string;
}

/**
 * The status of a message.
 *
 * - `dispatched`: It is to be sent, or was received and not fetched.
 *
 * - `acknowledged`: The other side has stored it, or its owner has it.
 *
 * - `error`: It did not arrive, or no result came in time.
 *
 * - `processed`: Its result has arrived.
 */
export type MessageStatus = "dispatched" | "acknowledged" | "error" | "processed";

/** The result of a ping. */
export interface Pong {
  /** The route that it took. */
  route: string;
  answer?: PongAnswer;
  /** Why no answer came. */
  error?: string;
}

/** The answer of another node to a ping. */
export interface PongAnswer {
  /** Its key. */
  key: string;
  /** Its name in the setting `nodes` of the server that asks, if it has one there. */
  name?: string;
  /**
   * The key that this setting has for the address, if a node with another key answers. Messages to
   * it are not accepted there.
   */
  expected?: string;
  /** Whether the server that asks accepts messages signed by that node. */
  is_trusted: boolean;
  /** Whether that node accepts messages signed by the server that asks. */
  trusts: boolean;
  /** The time of its clock. */
  time: string;
  /** The seconds by which its clock is ahead; below 0 it is behind. */
  clock_ahead: number;
  /** How long the answer took. */
  round_trip: number;
}

/** Messages of one list. */
export interface MessagePage {
  /** The messages, in the order in which they are taken. */
  messages: Message[];
  /** The cursor of the next page, if there are more. */
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
  /** Whether it is another program, which takes jobs by the protocol in Redis. */
  foreign?: boolean;
  /**
   * Why the server has no actors of this type, although it should. Such an entry is not a live
   * actor.
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
  /** The capabilities of its scripts. */
  capabilities?: string[];
  /** When it sent its last heartbeat. */
  last_heartbeat?: string;
  /** Identifies this start of the process, so that a restart under the same name is noticed. */
  incarnation?: string;
  /** How many jobs it runs now. */
  in_flight?: number;
  /**
   * Whether it takes no more jobs and ends when the running ones have ended, for example because
   * its server drains.
   */
  draining?: boolean;
  /**
   * The confinement of its engine: `weak: no …` with the missing steps, then a semicolon and the
   * steps in force.
   */
  confinement?: string;
  /**
   * The machine and the process that run it, so that other processes there can check whether it
   * still runs.
   */
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
  /** Its parameters, in order. The first one may also stand before the name: `array.join(", ")`. */
  parameters: FunctionParameter[];
  /** The type of its result, or several types with `|` between them; `nothing` is `()`. */
  returns: string;
  /** Its description. */
  description: string;
  capability?: Capability;
  /** When it fails. Scripts may catch the error. */
  errors?: string;
  /** A script that uses it. */
  example: string;
  /** The result of the example, unless it has none or a different one each time. */
  example_result?: unknown;
}

/** A parameter of a function. */
export interface FunctionParameter {
  /** Its name. Scripts in Rhai give parameters by position, those in HeroScript also by name. */
  name: string;
  /** The type, or several types with `|` between them. */
  type: string;
  /** Whether it is optional. By default false. */
  optional: boolean;
}

/**
 * A kind of calls that scripts may make to their actor. The script type implies it, or an operator
 * grants it.
 *
 * - `objects`: The objects of the context. Scripts of type `osis` have it.
 *
 * - `jobs`: Reporting progress, creating other jobs, and reading the results of others. All scripts
 * have it.
 *
 * - `fs`: Files in the directory of the context. Pools of type `sal` are granted it by default.
 *
 * - `process`: Running commands, confined to the directory of the context.
 *
 * - `net`: Connecting to the hosts that the operator named.
 *
 * - `redis`: The Redis that the operator named.
 */
export type Capability = "objects" | "jobs" | "fs" | "process" | "net" | "redis";

/** The error of a script. */
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
  /** Whether it is paused: actors take nothing from it until it is resumed. By default false. */
  paused: boolean;
}

/** The server that answers. */
export interface ServerDetails {
  /** Always `hero`. */
  name: string;
  /** Its version. */
  version: string;
  /** The name of this run of the server, as in leases. */
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
  /** Their number. */
  actors: number;
}

/** The state of a Redis. */
export interface StoreInfo {
  /** Its version. */
  version: string;
  /**
   * Bytes in use that count against the maximum. Buffers for replicas and for the append-only file
   * do not count.
   */
  used_memory: number;
  /** Bytes it may use; 0 is no limit. */
  max_memory: number;
  /** Keys that it evicted for lack of memory. Each may have been a job. */
  evicted_keys: number;
  /** Problems of its configuration, and of its operation. */
  warnings?: string[];
}

/** The limits of one connection, of one address, and of the whole server. */
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
   * How long a client may leave ready data unread before its connection is closed. By default 30.
   */
  write_timeout: number;
  /** The maximum seconds of a call, besides the wait that it asks for. By default 30. */
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
  /** The cursor for the events after this one. */
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

/** The subscription begins at this cursor. Nothing after it is missing. */
export interface BeganNotice {
  type: "began";
  /** The cursor to resume from until another item arrives. */
  cursor: string;
}

/** Items were lost, because the subscriber reads too slowly or its cursor is too old. */
export interface LaggedNotice {
  type: "lagged";
  /** The cursor to resume from. */
  cursor: string;
}

/** The subscription ended by itself. Nothing follows. */
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
  /** The cursor for the items after this one. Absent if the flow's jobs are gone. */
  cursor?: string;
  /**
   * The name of the job that changed. Absent if the item is the current state of the flow, and no
   * job changed.
   */
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
  /** The cursor for the lines after this one. */
  cursor: string;
  /** When it was logged; absent in lines of foreign log files. */
  time?: string;
  level: LogLevel;
  /** The text of the line. */
  text: string;
}

/** A server that drains. */
export interface Draining {
  /** How many jobs run there. */
  running: number;
}

/**
 * A job to create. Only `script` is required. The order of the fields is the order of positional
 * parameters, most used first.
 */
export interface JobSpecInput {
  /** The script to run. */
  script: string;
  /**
   * The script type, whose actors run it: `osis`, `sal`, or a configured type. By default "osis".
   */
  script_type?: string;
  /** The value of `args` in the script: any JSON, nested at most 100 deep. */
  args?: unknown;
  /** The time limit of one attempt in seconds. 60 by default. */
  timeout?: number;
  /** Extra attempts after an error or a timeout. By default 0. */
  retries?: number;
  /** Seconds before the second attempt, doubling for each further one up to 300. 1 by default. */
  retry_backoff?: number;
  /** 0 urgent, 1 normal, 2 low. By default 1. */
  priority?: number;
  /** A display name. */
  name?: string;
  /** Labels for finding the job. */
  labels?: Record<string, string>;
  /**
   * Environment variables: the value of `env` in the script. Their values are secrets, masked in
   * logs and in `get_job`. The variable `HERO_PLAIN` names those whose values are not:
   * `"HERO_PLAIN": "MODE,CUSTOMER"`.
   */
  env_vars?: Record<string, string>;
  /** The job does not run before this time (RFC 3339). */
  run_at?: string;
  /**
   * A key for this request. For 24 hours, the same key with the same parameters returns the same
   * job. The client creates a key if none is given. With `null` the call has no key and is sent
   * only once.
   */
  idempotency_key?: string | null;
  /** Seconds to keep the job after its end. */
  retention?: number;
  /** Jobs that must finish first. */
  prerequisites?: string[];
  /** The parent job. */
  parent_id?: string;
  /** The job that must end first, together with all its descendants. */
  predecessor_id?: string;
  /** Only actors of this group may run it. */
  group?: string;
  /** Only the actor with this number may run it, in the group `default` if no group is given. */
  instance?: number;
  /** Whether the job may run at the same time as others of its actor (`sal`). By default false. */
  concurrent?: boolean;
  /** The path of its log file, relative to the log directory; at most 8 parts between slashes. */
  log_path?: string;
  /** The context it belongs to. By default 0. */
  context_id?: number;
  /** The caller that creates it: by default the identity of the session, else `anonymous`. */
  caller_id?: string;
  /** The worker of the dispatcher protocol; a number is the instance. */
  worker_id?: string;
  /** Jobs that wait for this job. */
  dependents?: string[];
  /** An identifier chosen by the client, stored unchanged. */
  client_rpc_id?: string;
  /** The id of the job; a new one by default. */
  job_id?: string;
}

/** The jobs to list or follow. Absent fields do not restrict them. */
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

/** One job of a flow to create. Only `script` is required. */
export interface FlowJobSpec {
  /** The script to run. */
  script: string;
  /**
   * The script type, whose actors run it: `osis`, `sal`, or a configured type; by default that of
   * its runner, or `osis`.
   */
  script_type?: string;
  /** The value of `args` in the script: any JSON. */
  args?: unknown;
  /**
   * The names of the jobs of the flow that must finish first. Its script reads their results as
   * `inputs.NAME`.
   */
  depends_on?: string[];
  /** The number of the runner that runs it. */
  runner?: number;
  /** Only actors of this group may run it. */
  group?: string;
  /** 0 urgent, 1 normal, 2 low. By default 1. */
  priority?: number;
  /** The time limit of one attempt in seconds. 60 by default. */
  timeout?: number;
  /** Extra attempts after an error or a timeout. By default 0. */
  retries?: number;
  /** Seconds before the second attempt, doubling for each further one up to 300. 1 by default. */
  retry_backoff?: number;
  /**
   * Environment variables besides those of the flow. A variable here replaces that of the same name
   * there.
   */
  env_vars?: Record<string, string>;
  /** Labels for finding the job. */
  labels?: Record<string, string>;
}

/**
 * The lists in which messages wait.
 *
 * - `in`: Received messages that were not fetched.
 *
 * - `out`: Messages to be sent.
 */
export type MessageList = "in" | "out";

/** The data of error 1002: the state that prevents the call. */
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
  /** The index of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error -32602: the error of a script that does not compile, if that is the cause. */
export interface InvalidParamsData {
  error?: JobError;
  /** The index of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1001: the job that does not exist. */
export interface JobNotFoundData {
  /** The job. */
  job_id?: string;
  /** The index of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1006: when to try again. */
export interface RateLimitedData {
  /** The milliseconds after which to try again. */
  retry_after_ms?: number;
  /** The flow that another call is creating. */
  flow_id?: number;
  /** The index of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1007: when to try again. */
export interface QueueFullData {
  /** The milliseconds after which to try again. */
  retry_after_ms?: number;
  /** The index of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1008: the limit. */
export interface TooLargeData {
  /** The limit, in the unit that the message names. */
  limit?: number;
  /** The index of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1009: the outcome of the call. */
export interface StoreUnavailableData {
  outcome?: Outcome;
  /** The job that may have been stored. */
  job_id?: string;
  /** The key of Redis that another program has spoilt, if that is the cause. */
  key?: string;
  /** The index of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/**
 * The outcome of a call that the store did not answer.
 *
 * - `not_done`: Nothing was done.
 *
 * - `unknown`: Whether it was done is unknown.
 */
export type Outcome = "not_done" | "unknown";

/** The data of error 1010: the job, flow or schedule that the key stands for. */
export interface IdempotencyReusedData {
  /** The job. */
  job_id?: string;
  /** The flow. */
  flow_id?: number;
  /** The schedule. */
  schedule_id?: string;
  /** The index of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1011: the flow, schedule or object that does not exist. */
export interface NotFoundData {
  /** The flow. */
  flow_id?: number;
  /** The schedule. */
  schedule_id?: string;
  /** The collection of the object. */
  collection?: string;
  /** The id of the object. */
  id?: string;
  /** The index of the job among those of `create_jobs`, from 0. */
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
  /** The index of the job among those of `create_jobs`, from 0. */
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

/** The data of error 1102: the job or the flow that is waited for. */
export interface WaitRanOutData {
  /** The job, which continues. */
  job_id?: string;
  /** The flow, which continues. */
  flow_id?: number;
  status?: JobStatus;
  /** Why it is not running, as a sentence. */
  explanation?: string;
  reason?: Reason;
  /** How many jobs of the flow have not ended. */
  open?: number;
  /** The index of the job among those of `create_jobs`, from 0. */
  index?: number;
  /** The name of the job in its flow. */
  job?: string;
}

/** The data of error 1103: the job or the flow that was stopped. */
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
  /** The index of the job among those of `create_jobs`, from 0. */
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
  /** How many seconds to wait; 0 checks once without waiting. By default 120. */
  wait_timeout?: number;
}

/** The optional parameters of `wait_job`. */
export interface WaitJobOptions {
  /** How many seconds to wait; 0 checks once without waiting. By default 120. */
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
  /** The maximum number of lines. By default 100. */
  limit?: number;
  /** The context the job belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `list_jobs`. */
export interface ListJobsOptions {
  /** The conditions, all of which a job must meet. */
  filter?: JobFilter;
  /** The `next_cursor` of the previous page. */
  cursor?: string;
  /** The maximum number of jobs. By default 100. */
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
  /** A display name. */
  name?: string;
  /**
   * Environment variables of all its jobs: the value of `env` in their scripts. The values are
   * secrets, except those of the variables that `HERO_PLAIN` names.
   */
  env_vars?: Record<string, string>;
  /**
   * How the flow treats its other jobs when one ends in error: `stop` (the default) stops them,
   * `continue` runs those that do not wait for it. `stop`: They are stopped. `continue`: Those that
   * do not wait for it continue. By default "stop".
   */
  on_failure?: FlowOnFailure;
  /** Jobs outside the flow that must finish before it begins. */
  prerequisites?: string[];
  /** Seconds to keep the flow and its jobs after its end; seven days by default. */
  retention?: number;
  /** The caller that creates it: by default the identity of the session, else `anonymous`. */
  caller_id?: string;
  /** The context it belongs to. By default 0. */
  context_id?: number;
  /**
   * A key for this request. For 24 hours, the same key of the same caller with the same parameters
   * returns the same flow. The flow is kept at least that long. The client creates a key if none is
   * given. With `null` the call has no key and is sent only once.
   */
  idempotency_key?: string | null;
}

/** The optional parameters of `run_flow_and_wait`. */
export interface RunFlowAndWaitOptions {
  /** How many seconds to wait; 0 checks once without waiting. By default 120. */
  wait_timeout?: number;
  /** A display name. */
  name?: string;
  /**
   * Environment variables of all its jobs: the value of `env` in their scripts. The values are
   * secrets, except those of the variables that `HERO_PLAIN` names.
   */
  env_vars?: Record<string, string>;
  /**
   * How the flow treats its other jobs when one ends in error: `stop` (the default) stops them,
   * `continue` runs those that do not wait for it. `stop`: They are stopped. `continue`: Those that
   * do not wait for it continue. By default "stop".
   */
  on_failure?: FlowOnFailure;
  /** Jobs outside the flow that must finish before it begins. */
  prerequisites?: string[];
  /** Seconds to keep the flow and its jobs after its end; seven days by default. */
  retention?: number;
  /** The caller that creates it: by default the identity of the session, else `anonymous`. */
  caller_id?: string;
  /** The context it belongs to. By default 0. */
  context_id?: number;
  /**
   * A key for this request. For 24 hours, the same key of the same caller with the same parameters
   * returns the same flow. The flow is kept at least that long. The client creates a key if none is
   * given. With `null` the call has no key and is sent only once.
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
  /** How many seconds to wait; 0 checks once without waiting. By default 120. */
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
  /** The `next_cursor` of the previous page. */
  cursor?: string;
  /** The maximum number of flows. By default 100. */
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
   * When it runs, such as `0 9 * * MON-FRI`: minute, hour, day of the month, month, weekday. A
   * sixth field in front is for seconds.
   */
  cron?: string;
  /**
   * Seconds from one run to the next, at least 1; counted from `start_at`, else from its creation.
   */
  every?: number;
  /** The time zone of `cron` and of the times shown, such as `Europe/Berlin`. UTC by default. */
  time_zone?: string;
  /** How a run behaves if the previous one has not ended; `skip` by default. */
  overlap?: Overlap;
  /** How runs are treated that were due while no server ran; `once` by default. */
  missed?: Missed;
  /**
   * The maximum number of jobs that `missed: all` creates at a time. 100 by default, at most 1000.
   */
  missed_limit?: number;
  /** The earliest time of a run (RFC 3339). */
  start_at?: string;
  /** The latest time of a run. */
  end_at?: string;
  /** A display name. */
  name?: string;
  /**
   * A key for this request. For 24 hours, the same key with the same parameters returns the same
   * schedule in its state at that time. The client creates a key if none is given. With `null` the
   * call has no key and is sent only once.
   */
  idempotency_key?: string | null;
  /** The id of the schedule; a new one by default. */
  schedule_id?: string;
}

/** The optional parameters of `list_schedules`. */
export interface ListSchedulesOptions {
  /** The `next_cursor` of the previous page. */
  cursor?: string;
  /** The maximum number of schedules. By default 100. */
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
   * The conditions by field: `{"city": "Ghent", "born": {"gte": 1800, "lt": 1900}, "name":
   * {"prefix": "A"}}`. An array matches if one of its elements does, and a missing field is `null`.
   * `address.zip` names a nested field.
   */
  filter?: Record<string, unknown>;
  /** The field to sort by, which needs an index; the id by default. */
  order_by?: string;
  /** Whether the order is reversed. */
  descending?: boolean;
  /** The maximum number of objects. By default 100. */
  limit?: number;
  /** The `next_cursor` of the previous page. */
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
  /** Its public key (secp256k1, uncompressed, hexadecimal). No two identities share one. */
  pubkey?: string;
  /** The addresses at which it can be reached; at most 16. */
  address?: string[];
}

/** The optional parameters of `update_identity`. */
export interface UpdateIdentityOptions {
  /** Its new public key. */
  pubkey?: string;
  /** The new addresses at which it can be reached. */
  address?: string[];
}

/** The optional parameters of `list_identities`. */
export interface ListIdentitiesOptions {
  /** The `next_cursor` of the previous page. */
  cursor?: string;
  /** The maximum number of identities. By default 100. */
  limit?: number;
}

/** The optional parameters of `create_token`. */
export interface CreateTokenOptions {
  /** Its purpose. */
  name?: string;
  /** The seconds after which it expires; by default it never does. */
  lifetime?: number;
}

/** The optional parameters of `create_context`. */
export interface CreateContextOptions {
  /** Its purpose. */
  name?: string;
  /** The identities that may do everything in it. */
  admins?: number[];
  /** Its limits. */
  limits?: ContextLimits;
}

/** The optional parameters of `update_context`. */
export interface UpdateContextOptions {
  /** The context to change. By default 0. */
  context_id?: number;
  /** Its purpose. */
  name?: string;
  /** Its limits. */
  limits?: ContextLimits;
}

/** The optional parameters of `get_context`. */
export interface GetContextOptions {
  /** The context to look at. By default 0. */
  context_id?: number;
}

/** The optional parameters of `list_contexts`. */
export interface ListContextsOptions {
  /** The `next_cursor` of the previous page. */
  cursor?: string;
  /** The maximum number of contexts. By default 100. */
  limit?: number;
}

/** The optional parameters of `delete_context`. */
export interface DeleteContextOptions {
  /**
   * Whether to stop jobs that have not ended, and to lose messages that wait to be sent or for
   * their result. Otherwise a context with such jobs or messages is not deleted. By default false.
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
  /** Its address, if it is not local. */
  address?: string;
  /** The key that signs the results of its jobs: that of the node that runs them. */
  pubkey?: string;
  /** The context at the other side in which its jobs run. By default 0. */
  target_context?: number;
  /** Its purpose; at most 256 bytes. */
  name?: string;
  /** Its topic; `runner{runner_id}` by default. */
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
  /** Its address, if it is not local. */
  address?: string;
  /** The key that signs the results of its jobs. */
  pubkey?: string;
  /** Its topic. */
  topic?: string;
  /** The context at the other side in which its jobs run. */
  target_context?: number;
  /** Its purpose. */
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
  /** The `next_cursor` of the previous page. */
  cursor?: string;
  /** The maximum number of runners. By default 100. */
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
  /** The text; at most a megabyte. By default "". */
  message?: string;
  /**
   * The destination: `here` (another context of this server), `node:NAME`, `redis://…`, or a node
   * of Mycelium.
   */
  address?: string;
  /**
   * The topic, normally that of a runner. A message without an address goes to the address of that
   * runner. A script type is the topic of all runners of that type, which take turns.
   */
  topic?: string;
  /** The context that receives it. By default 0. */
  target_context?: number;
  /** The type of the message. */
  message_type?: MessageType;
  /** The format of the text. */
  message_format_type?: MessageFormat;
  /**
   * The jobs of a message of type `job`, in the form of the coordinator's specification: each with
   * a `script`.
   */
  job?: unknown[];
  /** The seconds within which the other side must store it. By default 300. */
  timeout_ack?: number;
  /** The seconds after that within which a result must arrive. By default 3600. */
  timeout_result?: number;
  /** The sender; the identity of the session by default. */
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
  /** The list to read. */
  list?: MessageList;
  /** The `next_cursor` of the previous page. */
  cursor?: string;
  /** The maximum number of messages. By default 100. */
  limit?: number;
  /** Only messages of this caller. */
  caller_id?: number;
  /** The context that has them. By default 0. */
  context_id?: number;
  /**
   * Only messages of this status, received and sent, latest to reach it first: the last 10,000.
   * `list` is ignored then.
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
  /** The group of the queue. Without a group and an instance, it is the queue of the whole type. */
  group?: string;
  /** The instance of the queue, in the group `default` if none is named. */
  instance?: number;
  /** The context it belongs to. By default 0. */
  context_id?: number;
}

/** The optional parameters of `resume_queue`. */
export interface ResumeQueueOptions {
  /** The group of the queue. Without a group and an instance, it is the queue of the whole type. */
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
  /** The conditions, all of which a job must meet. */
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
   * The seconds after which the server ends at the latest; a further call can only shorten this
   * time. Scripts that run then get the grace period, and jobs that do not end in it run again
   * elsewhere. By default 3600.
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
