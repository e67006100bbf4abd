// Generated from openrpc.json by clients/generate (`make clients`). Do not edit.

import type { CallOptions, Client } from "../client.js";
import { change, create, read } from "../send.js";
import { follow, type Following, type FollowOptions } from "../follow.js";
import type {
  AcknowledgeMessageOptions,
  Actor,
  BeganNotice,
  CheckScriptOptions,
  Collection,
  Context,
  ContextPage,
  CreateContextOptions,
  CreateFlowOptions,
  CreateIdentityOptions,
  CreateJobOptions,
  CreateRunnerOptions,
  CreateScheduleOptions,
  CreateTokenOptions,
  DeleteContextOptions,
  DeleteFlowOptions,
  DeleteJobOptions,
  DeleteMessageOptions,
  DeleteObjectOptions,
  DeleteRunnerOptions,
  DeleteScheduleOptions,
  DrainServerOptions,
  Draining,
  DropCollectionOptions,
  EndedNotice,
  EventNotice,
  ExplainJobOptions,
  Explanation,
  Flow,
  FlowJobSpec,
  FlowNotice,
  FlowPage,
  FlowStatus,
  GetContextOptions,
  GetFlowOptions,
  GetJobOptions,
  GetLogsOptions,
  GetMessageOptions,
  GetRunnerOptions,
  GetStatusOptions,
  GrantOptions,
  Identity,
  IdentityPage,
  Job,
  JobPage,
  JobSpecInput,
  JobStatus,
  LaggedNotice,
  LineNotice,
  ListActorsOptions,
  ListCollectionsOptions,
  ListContextsOptions,
  ListFlowsOptions,
  ListFunctionsOptions,
  ListIdentitiesOptions,
  ListJobsOptions,
  ListMessagesOptions,
  ListQueuesOptions,
  ListRunnersOptions,
  ListSchedulesOptions,
  LogPage,
  LoggedIn,
  Message,
  MessagePage,
  NewToken,
  NumberJobOptions,
  PauseQueueOptions,
  PingNodeOptions,
  Pong,
  Presented,
  QueueInfo,
  ResumeQueueOptions,
  RetryFlowOptions,
  RetryJobOptions,
  RevokeOptions,
  Role,
  Runner,
  RunnerPage,
  Schedule,
  SchedulePage,
  ScriptCheck,
  ScriptFunction,
  SendMessageOptions,
  ServerDetails,
  SetObjectOptions,
  StartFlowOptions,
  StartJobOptions,
  StopFlowOptions,
  StopJobOptions,
  SubscribeEventsOptions,
  SubscribeFlowOptions,
  SubscribeJobOptions,
  SubscribeLogsOptions,
  Token,
  UpdateContextOptions,
  UpdateIdentityOptions,
  UpdateRunnerOptions,
  Who,
} from "./types.js";

/**
 * Stores a job, and starts it if `start` is set. Returns its id. A repeated call with the same
 * `idempotency_key` and the same parameters returns the same job.
 */
export const createJob = (
  client: Client,
  script: string,
  options?: CreateJobOptions & CallOptions,
): Promise<string> =>
  create(client, "create_job", "string", { script }, options);

/**
 * Starts a created job. Returns its status.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const startJob = (
  client: Client,
  jobId: string,
  options?: StartJobOptions & CallOptions,
): Promise<JobStatus> =>
  change(client, "start_job", "string", { job_id: jobId }, options);

/**
 * Stops a job that has not ended. Returns its status. The call waits up to one second for a running
 * script to end. The script is stopped in any case.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const stopJob = (
  client: Client,
  jobId: string,
  options?: StopJobOptions & CallOptions,
): Promise<JobStatus> =>
  change(client, "stop_job", "string", { job_id: jobId }, options);

/**
 * Runs an ended job again. Returns its status. Its attempts are counted on, its retries begin anew,
 * and its previous result is gone. Jobs that waited for it and ended in error with it are not
 * retried.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const retryJob = (
  client: Client,
  jobId: string,
  options?: RetryJobOptions & CallOptions,
): Promise<JobStatus> =>
  change(client, "retry_job", "string", { job_id: jobId }, options);

/** Returns the status of a job. */
export const getStatus = (
  client: Client,
  jobId: string,
  options?: GetStatusOptions & CallOptions,
): Promise<JobStatus> =>
  read(client, "get_status", "string", { job_id: jobId }, options);

/** Returns everything that is known about a job. */
export const getJob = (
  client: Client,
  jobId: string,
  options?: GetJobOptions & CallOptions,
): Promise<Job> =>
  read(client, "get_job", "job_id", { job_id: jobId }, options);

/**
 * Returns log lines of a job, oldest first. A page also ends after about a megabyte, so a page with
 * lines, but fewer than `limit`, may not be the last. While the job can log more, even a page
 * without lines has a `next_cursor`: call again with it, or use `subscribe_logs`.
 */
export const getLogs = (
  client: Client,
  jobId: string,
  options?: GetLogsOptions & CallOptions,
): Promise<LogPage> =>
  read(client, "get_logs", "lines", { job_id: jobId }, options);

/**
 * Lists jobs, newest first. A page may have fewer jobs than `limit`, or none, although more follow:
 * only the last page has no `next_cursor`. Long values are cut after 1 KB or left out: `truncated`
 * names them, and `get_job` returns them in full.
 */
export const listJobs = (
  client: Client,
  options?: ListJobsOptions & CallOptions,
): Promise<JobPage> =>
  read(client, "list_jobs", "jobs", {}, options);

/**
 * Mirrors a job in Redis as a hash of the coordinator's specification. Returns the key:
 * `job:{caller}:{n}`. From then on, each change of the job is also written there, and the hash is
 * deleted with the job. A job that has such a key keeps it.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const numberJob = (
  client: Client,
  jobId: string,
  options?: NumberJobOptions & CallOptions,
): Promise<string> =>
  change(client, "number_job", "string", { job_id: jobId }, options);

/**
 * Deletes a job that is not running, with its log. Returns true.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const deleteJob = (
  client: Client,
  jobId: string,
  options?: DeleteJobOptions & CallOptions,
): Promise<boolean> =>
  change(client, "delete_job", "boolean", { job_id: jobId }, options);

/**
 * Explains why a job is not running, or how it ended: as a word, a sentence, and the facts behind
 * them.
 */
export const explainJob = (
  client: Client,
  jobId: string,
  options?: ExplainJobOptions & CallOptions,
): Promise<Explanation> =>
  read(client, "explain_job", "job_id", { job_id: jobId }, options);

/**
 * Creates a flow: named jobs, which wait for each other by `depends_on`. Returns its number.
 * Nothing runs before `start_flow`. The call creates the whole flow, or nothing. A script reads the
 * results of the jobs that it depends on as `inputs.NAME`. With an `idempotency_key`, a call whose
 * answer was lost can be repeated, and returns the same flow.
 */
export const createFlow = (
  client: Client,
  jobs: Record<string, FlowJobSpec>,
  options?: CreateFlowOptions & CallOptions,
): Promise<number> =>
  create(client, "create_flow", "number", { jobs }, options);

/**
 * Starts a created flow. Returns its status.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const startFlow = (
  client: Client,
  flowId: number,
  options?: StartFlowOptions & CallOptions,
): Promise<FlowStatus> =>
  change(client, "start_flow", "string", { flow_id: flowId }, options);

/**
 * Returns a flow: its status, its jobs with their times, their results, and their graph for
 * Mermaid.
 */
export const getFlow = (
  client: Client,
  flowId: number,
  options?: GetFlowOptions & CallOptions,
): Promise<Flow> =>
  read(client, "get_flow", "flow_id", { flow_id: flowId }, options);

/**
 * Lists flows, newest first. A page may have fewer flows than `limit`, or none, although more
 * follow: only the last page has no `next_cursor`.
 */
export const listFlows = (
  client: Client,
  options?: ListFlowsOptions & CallOptions,
): Promise<FlowPage> =>
  read(client, "list_flows", "flows", {}, options);

/**
 * Stops all jobs of a flow that have not ended. Returns the status of the flow. Its running scripts
 * may not have ended yet.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const stopFlow = (
  client: Client,
  flowId: number,
  options?: StopFlowOptions & CallOptions,
): Promise<FlowStatus> =>
  change(client, "stop_flow", "string", { flow_id: flowId }, options);

/**
 * Retries the jobs of a flow that ended in error, and those that never ran because of them. Returns
 * the status of the flow.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const retryFlow = (
  client: Client,
  flowId: number,
  options?: RetryFlowOptions & CallOptions,
): Promise<FlowStatus> =>
  change(client, "retry_flow", "string", { flow_id: flowId }, options);

/**
 * Deletes a flow that is not running, with its jobs. Returns true.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const deleteFlow = (
  client: Client,
  flowId: number,
  options?: DeleteFlowOptions & CallOptions,
): Promise<boolean> =>
  change(client, "delete_flow", "boolean", { flow_id: flowId }, options);

/**
 * Creates a schedule, which runs a job by `cron` or at an interval (`every`). Returns the schedule,
 * with its next runs. It belongs to the context of its job. Each run is a separate job, with the
 * labels `schedule` and `slot`, the time at which it was due. With an `idempotency_key`, a call
 * whose answer was lost can be repeated, and returns the same schedule. Each run has exactly one
 * job, whichever servers run or die. When the queue is full, the run waits for room. A time of day
 * that the clock skips is due right after the gap; one that it shows twice is due once. A script
 * that does not compile is refused (-32602, with the `error` of a failed job) if this server has a
 * pool for its type.
 */
export const createSchedule = (
  client: Client,
  job: JobSpecInput,
  options?: CreateScheduleOptions & CallOptions,
): Promise<Schedule> =>
  create(client, "create_schedule", "schedule_id", { job }, options);

/**
 * Lists schedules in the order of their next runs. A schedule that runs meanwhile may be on two
 * pages; none is left out. A page may have fewer schedules than `limit`, or none, although more
 * follow: only the last page has no `next_cursor`.
 */
export const listSchedules = (
  client: Client,
  options?: ListSchedulesOptions & CallOptions,
): Promise<SchedulePage> =>
  read(client, "list_schedules", "schedules", {}, options);

/**
 * Deletes a schedule. Its existing jobs stay. Returns true.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const deleteSchedule = (
  client: Client,
  scheduleId: string,
  options?: DeleteScheduleOptions & CallOptions,
): Promise<boolean> =>
  change(client, "delete_schedule", "boolean", { schedule_id: scheduleId }, options);

/**
 * Stores an object in a collection, and replaces one with the same id. Returns its id. The id is
 * the field `id` of the object; an object without it gets a new one. The object and its index
 * entries are written in one step. A collection exists once it has an object. An object that
 * violates the schema of its collection is refused (-32602), and so is one of more than 240 KB
 * (1008). A call without an id stores a second object if it is repeated after its answer was lost.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const setObject = (
  client: Client,
  collection: string,
  object: Record<string, unknown>,
  options?: SetObjectOptions & CallOptions,
): Promise<string> =>
  change(client, "set_object", "string", { collection, object }, options);

/**
 * Deletes an object. Returns whether it existed.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const deleteObject = (
  client: Client,
  collection: string,
  id: string,
  options?: DeleteObjectOptions & CallOptions,
): Promise<boolean> =>
  change(client, "delete_object", "boolean", { collection, id }, options);

/** Lists the collections of objects by name, each with its number of objects and its indexes. */
export const listCollections = (
  client: Client,
  options?: ListCollectionsOptions & CallOptions,
): Promise<Collection[]> =>
  read(client, "list_collections", "map", {}, options);

/**
 * Deletes a collection with all its objects and indexes. Returns the number of objects that it had,
 * or `null` if it did not exist.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const dropCollection = (
  client: Client,
  collection: string,
  options?: DropCollectionOptions & CallOptions,
): Promise<number | null> =>
  change(client, "drop_collection", "", { collection }, options);

/**
 * Creates an identity, which can get tokens, and rights in contexts.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const createIdentity = (
  client: Client,
  options?: CreateIdentityOptions & CallOptions,
): Promise<Identity> =>
  change(client, "create_identity", "identity_id", {}, options);

/**
 * Changes an identity. Each given field replaces its old value.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const updateIdentity = (
  client: Client,
  identityId: number,
  options?: UpdateIdentityOptions & CallOptions,
): Promise<Identity> =>
  change(client, "update_identity", "identity_id", { identity_id: identityId }, options);

/**
 * Returns an identity. Where callers log in, you see only yourself and identities with a role in a
 * context in which you have one.
 */
export const getIdentity = (
  client: Client,
  identityId: number,
  options?: CallOptions,
): Promise<Identity> =>
  read(client, "get_identity", "identity_id", { identity_id: identityId }, options);

/**
 * Lists identities by number. Where callers log in, you see only yourself and identities with a
 * role in a context in which you have one. A page may have fewer identities than `limit` although
 * more follow.
 */
export const listIdentities = (
  client: Client,
  options?: ListIdentitiesOptions & CallOptions,
): Promise<IdentityPage> =>
  read(client, "list_identities", "identities", {}, options);

/**
 * Deletes an identity with its tokens, and logs out everybody who uses one of them. Its number is
 * never reused. Returns true.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const deleteIdentity = (
  client: Client,
  identityId: number,
  options?: CallOptions,
): Promise<boolean> =>
  change(client, "delete_identity", "boolean", { identity_id: identityId }, options);

/** Returns the caller and its rights. */
export const whoami = (client: Client, options?: CallOptions): Promise<Who> =>
  read(client, "whoami", "operator", {}, options);

/**
 * Returns a nonce to sign for `authenticate`: `hero:{host}:{random}:{expiry}`. It is valid for one
 * login within five minutes, with this public key, under the host name by which the server was
 * reached. Check that name before you sign. The answer is the same whether or not an identity has
 * this key.
 */
export const fetchNonce = (
  client: Client,
  pubkey: string,
  options?: CallOptions,
): Promise<string> =>
  read(client, "fetch_nonce", "string", { pubkey }, options);

/**
 * Logs in with a nonce that is signed as an Ethereum personal message. Returns a token for
 * `Authorization: Bearer …`. On a WebSocket where callers have to log in, the connection has that
 * identity from then on. The token expires. An identity has at most 50 tokens of this kind; a
 * further login replaces the one that expires first.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const authenticate = (
  client: Client,
  pubkey: string,
  signature: string,
  nonce: string,
  options?: CallOptions,
): Promise<LoggedIn> =>
  change(client, "authenticate", "identity_id", { pubkey, signature, nonce }, options);

/**
 * Creates a token for an identity. Its `secret` is shown only once: it goes into `Authorization:
 * Bearer …`. An identity may create tokens of its own, 100 at once and then one per second. They
 * end at the latest when the token by which it has logged in expires or is revoked. The operator
 * may create tokens for all. An identity has at most 100 of them.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const createToken = (
  client: Client,
  identityId: number,
  options?: CreateTokenOptions & CallOptions,
): Promise<NewToken> =>
  change(client, "create_token", "token_id", { identity_id: identityId }, options);

/**
 * Switches the connection to this token, for example before the token by which it has logged in
 * expires. On a WebSocket where callers have to log in, the connection has the identity of the
 * token from then on, as after `authenticate`. Its waits and subscriptions continue if that
 * identity is allowed to make them, and end with an error (1004) otherwise. An invalid token
 * changes nothing. Over HTTP each request has its own token, so there, and where nobody has to log
 * in, the call only returns the identity of the token.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const presentToken = (
  client: Client,
  token: string,
  options?: CallOptions,
): Promise<Presented> =>
  change(client, "present_token", "identity_id", { token }, options);

/** Lists the tokens of an identity that have not ended, oldest first. */
export const listTokens = (
  client: Client,
  identityId: number,
  options?: CallOptions,
): Promise<Token[]> =>
  read(client, "list_tokens", "map", { identity_id: identityId }, options);

/**
 * Revokes a token, and logs out everybody who uses it at once, also on open connections. Returns
 * true. An identity may revoke its own tokens, the operator all.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const revokeToken = (
  client: Client,
  tokenId: string,
  options?: CallOptions,
): Promise<boolean> =>
  change(client, "revoke_token", "boolean", { token_id: tokenId }, options);

/**
 * Creates a context: a tenant with its own database, jobs, objects and files. This server accepts
 * calls for it at once, other servers within a second.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const createContext = (
  client: Client,
  options?: CreateContextOptions & CallOptions,
): Promise<Context> =>
  change(client, "create_context", "context_id", {}, options);

/**
 * Changes a context. Fields that are not given stay as they are. Limits are the operator's to set;
 * 0 takes one away. It holds at once on this server, and within a second on others. Roles are
 * changed by `grant` and `revoke`.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const updateContext = (
  client: Client,
  options?: UpdateContextOptions & CallOptions,
): Promise<Context> =>
  change(client, "update_context", "context_id", {}, options);

/** Returns a context with its roles and limits. */
export const getContext = (
  client: Client,
  options?: GetContextOptions & CallOptions,
): Promise<Context> =>
  read(client, "get_context", "context_id", {}, options);

/** Lists contexts by number: those in which the caller has a role, or all for the operator. */
export const listContexts = (
  client: Client,
  options?: ListContextsOptions & CallOptions,
): Promise<ContextPage> =>
  read(client, "list_contexts", "contexts", {}, options);

/**
 * Deletes a context with everything in it, for good. Its number is never reused. Returns true. From
 * then on the context accepts no calls; its data is deleted in the background.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const deleteContext = (
  client: Client,
  contextId: number,
  options?: DeleteContextOptions & CallOptions,
): Promise<boolean> =>
  change(client, "delete_context", "boolean", { context_id: contextId }, options);

/**
 * Gives an identity a role in a context. Returns the context with its roles. The change applies at
 * once on this server, and within half a second on others.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const grant = (
  client: Client,
  identityId: number,
  role: Role,
  options?: GrantOptions & CallOptions,
): Promise<Context> =>
  change(client, "grant", "context_id", { identity_id: identityId, role }, options);

/**
 * Takes a role in a context from an identity. Returns the context with its roles. The change
 * applies at once on this server, and within half a second on others.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const revoke = (
  client: Client,
  identityId: number,
  role: Role,
  options?: RevokeOptions & CallOptions,
): Promise<Context> =>
  change(client, "revoke", "context_id", { identity_id: identityId, role }, options);

/**
 * Creates a runner, which runs the jobs of its script type whose `group` is `runner{runner_id}`. A
 * local runner is a pool of the context. The jobs of any other runner are sent as messages to its
 * address.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const createRunner = (
  client: Client,
  scriptType: string,
  options?: CreateRunnerOptions & CallOptions,
): Promise<Runner> =>
  change(client, "create_runner", "runner_id", { script_type: scriptType }, options);

/**
 * Changes a runner. Each given field replaces its old value.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const updateRunner = (
  client: Client,
  runnerId: number,
  options?: UpdateRunnerOptions & CallOptions,
): Promise<Runner> =>
  change(client, "update_runner", "runner_id", { runner_id: runnerId }, options);

/** Returns a runner. */
export const getRunner = (
  client: Client,
  runnerId: number,
  options?: GetRunnerOptions & CallOptions,
): Promise<Runner> =>
  read(client, "get_runner", "runner_id", { runner_id: runnerId }, options);

/** Lists runners by number. */
export const listRunners = (
  client: Client,
  options?: ListRunnersOptions & CallOptions,
): Promise<RunnerPage> =>
  read(client, "list_runners", "runners", {}, options);

/**
 * Deletes a runner. Its jobs stay in their queue, and its number is never reused. Returns true.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const deleteRunner = (
  client: Client,
  runnerId: number,
  options?: DeleteRunnerOptions & CallOptions,
): Promise<boolean> =>
  change(client, "delete_runner", "boolean", { runner_id: runnerId }, options);

/**
 * Sends a message: the server stores it and delivers it in the background. The status of the
 * message shows its progress. Jobs of a message run at the other side, which sends back a message
 * of type `result` for each.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const sendMessage = (
  client: Client,
  options?: SendMessageOptions & CallOptions,
): Promise<Message> =>
  change(client, "send_message", "caller_id", {}, options);

/**
 * Pings the node at an address. Returns the route, the key of the node that answers, its clock, and
 * the time that the answer took. Nothing is stored. If nobody answers, `error` says why.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const pingNode = (
  client: Client,
  address: string,
  options?: PingNodeOptions & CallOptions,
): Promise<Pong> =>
  change(client, "ping_node", "route", { address }, options);

/** Returns a message. */
export const getMessage = (
  client: Client,
  callerId: number,
  messageId: number,
  options?: GetMessageOptions & CallOptions,
): Promise<Message> =>
  read(client, "get_message", "caller_id", { caller_id: callerId, message_id: messageId }, options);

/**
 * Lists received messages that were not fetched, or messages to be sent, in the order in which they
 * are taken; or messages of one status. A page may have fewer messages than `limit`, or none,
 * although more follow: only the last page has no `next_cursor`.
 */
export const listMessages = (
  client: Client,
  options?: ListMessagesOptions & CallOptions,
): Promise<MessagePage> =>
  read(client, "list_messages", "messages", {}, options);

/**
 * Acknowledges a received message for its owner: it is no longer listed. Returns the message. The
 * other side acknowledges messages that are sent.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const acknowledgeMessage = (
  client: Client,
  callerId: number,
  messageId: number,
  options?: AcknowledgeMessageOptions & CallOptions,
): Promise<Message> =>
  change(client, "acknowledge_message", "caller_id", { caller_id: callerId, message_id: messageId }, options);

/**
 * Deletes a message whose result nobody awaits. Returns true.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const deleteMessage = (
  client: Client,
  callerId: number,
  messageId: number,
  options?: DeleteMessageOptions & CallOptions,
): Promise<boolean> =>
  change(client, "delete_message", "boolean", { caller_id: callerId, message_id: messageId }, options);

/**
 * Lists the live actors, with their capabilities and their confinement. The list includes actors of
 * other programs that send heartbeats. After them come the script types for which this server
 * should have actors and cannot, each with the reason (`unavailable`).
 */
export const listActors = (
  client: Client,
  options?: ListActorsOptions & CallOptions,
): Promise<Actor[]> =>
  read(client, "list_actors", "map", {}, options);

/**
 * Lists the functions that scripts have besides those of their language, with parameters, result
 * and an example.
 */
export const listFunctions = (
  client: Client,
  options?: ListFunctionsOptions & CallOptions,
): Promise<ScriptFunction[]> =>
  read(client, "list_functions", "map", {}, options);

/**
 * Compiles a script without running it, and reports an error with its location. Unknown functions
 * are errors, too. A confined process compiles it, as for jobs. No error is found if the script is
 * neither Rhai nor HeroScript, if this server has no pool for its type, or if compiling takes
 * longer than 5 s.
 */
export const checkScript = (
  client: Client,
  script: string,
  options?: CheckScriptOptions & CallOptions,
): Promise<ScriptCheck> =>
  read(client, "check_script", "object", { script }, options);

/** Lists the work queues, each with its number of waiting jobs and of actors. */
export const listQueues = (
  client: Client,
  options?: ListQueuesOptions & CallOptions,
): Promise<QueueInfo[]> =>
  read(client, "list_queues", "map", {}, options);

/**
 * Pauses a queue, in all priorities, until it is resumed. Returns true. Running jobs continue, and
 * new ones wait. The queue of a type is not that of its groups and instances: each is paused by
 * itself.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const pauseQueue = (
  client: Client,
  scriptType: string,
  options?: PauseQueueOptions & CallOptions,
): Promise<boolean> =>
  change(client, "pause_queue", "boolean", { script_type: scriptType }, options);

/**
 * Resumes a paused queue at once. Returns true, even if the queue was not paused. An unknown type
 * is refused.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const resumeQueue = (
  client: Client,
  scriptType: string,
  options?: ResumeQueueOptions & CallOptions,
): Promise<boolean> =>
  change(client, "resume_queue", "boolean", { script_type: scriptType }, options);

/** Describes this server, its contexts and pools, the state of its store, and its limits. */
export const serverInfo = (client: Client, options?: CallOptions): Promise<ServerDetails> =>
  read(client, "server_info", "name", {}, options);

/**
 * Answers `pong`. This keeps a connection alive where WebSocket pings cannot be sent, and measures
 * the round trip.
 */
export const ping = (client: Client, options?: CallOptions): Promise<string> =>
  read(client, "ping", "string", {}, options);

/** Follows a job to its end. Without a cursor, the first item is the current state. */
export const followJob = (
  client: Client,
  jobId: string,
  options?: SubscribeJobOptions & FollowOptions,
): Following<EventNotice | BeganNotice | LaggedNotice | EndedNotice> =>
  follow(client, "subscribe_job", "unsubscribe_job", { job_id: jobId }, options);

/**
 * Follows a flow to its end. The first item is the current state of the flow. Then follow one item
 * for each change of a job, the end of the flow, and `ended`. With a cursor, the changes after it
 * come first. An item without a `job` is the current state of the flow; it also stands for changes
 * of jobs that were lost because the subscriber reads too slowly.
 */
export const followFlow = (
  client: Client,
  flowId: number,
  options?: SubscribeFlowOptions & FollowOptions,
): Following<FlowNotice | EndedNotice> =>
  follow(client, "subscribe_flow", "unsubscribe_flow", { flow_id: flowId }, options);

/**
 * Follows every change of the jobs that match a filter, from now on or from a cursor. Without a
 * cursor, the first item has the cursor where the subscription begins.
 */
export const followEvents = (
  client: Client,
  options?: SubscribeEventsOptions & FollowOptions,
): Following<EventNotice | BeganNotice | LaggedNotice | EndedNotice> =>
  follow(client, "subscribe_events", "unsubscribe_events", {}, options);

/**
 * Follows the log of a job, from its first line or from a cursor. The subscription ends when the
 * job has ended and its last line was sent.
 */
export const followLogs = (
  client: Client,
  jobId: string,
  options?: SubscribeLogsOptions & FollowOptions,
): Following<LineNotice | LaggedNotice | EndedNotice> =>
  follow(client, "subscribe_logs", "unsubscribe_logs", { job_id: jobId }, options);

/**
 * Stops taking jobs, and ends this server when the running ones have ended, for a restart that
 * disturbs nobody. From then on `/readyz` answers 503. New jobs wait for other servers, or for this
 * one to come back. Calls are answered until the end.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const drainServer = (
  client: Client,
  options?: DrainServerOptions & CallOptions,
): Promise<Draining> =>
  change(client, "drain_server", "running", {}, options);
