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
 * Stores a job, and starts it if `start` is set. Gives its id. The same `idempotency_key` with the
 * same parameters gives the same job again.
 */
export const createJob = (
  client: Client,
  script: string,
  options?: CreateJobOptions & CallOptions,
): Promise<string> =>
  create(client, "create_job", "string", { script }, options);

/**
 * Starts a job that was created. Gives the status it has then.
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
 * Stops a job that has not ended. Gives the status it has then. A running script gets one second to
 * obey before the call returns; it is stopped in any case.
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
 * Runs a job again that has ended. Gives the status it has then. Its attempts count on, its retries
 * begin anew, and what it gave before is gone. A job in error that others waited for does not bring
 * those back.
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

/** Gives the status of a job. */
export const getStatus = (
  client: Client,
  jobId: string,
  options?: GetStatusOptions & CallOptions,
): Promise<JobStatus> =>
  read(client, "get_status", "string", { job_id: jobId }, options);

/** Gives everything that is known of a job. */
export const getJob = (
  client: Client,
  jobId: string,
  options?: GetJobOptions & CallOptions,
): Promise<Job> =>
  read(client, "get_job", "job_id", { job_id: jobId }, options);

/**
 * Gives log lines of a job, the oldest first. A page ends after about a megabyte, too: it may have
 * fewer lines than asked for and not be the last, if it has any. A page without lines has a
 * `next_cursor` too as long as the job can log more: ask again with it, or use `subscribe_logs`.
 */
export const getLogs = (
  client: Client,
  jobId: string,
  options?: GetLogsOptions & CallOptions,
): Promise<LogPage> =>
  read(client, "get_logs", "lines", { job_id: jobId }, options);

/**
 * Lists jobs, the newest first. A page can have fewer jobs than asked for, or none, and still not
 * be the last: that one has no `next_cursor`. A list is for finding jobs: what is long of one is
 * cut after 1 KB or left out, `truncated` says what, and `get_job` gives all of it.
 */
export const listJobs = (
  client: Client,
  options?: ListJobsOptions & CallOptions,
): Promise<JobPage> =>
  read(client, "list_jobs", "jobs", {}, options);

/**
 * Has a job be seen in Redis as the coordinator's specification has it, too. Gives the key:
 * `job:{caller}:{n}`. Each change of the job is written there from now on, and the hash goes with
 * the job. A job that has such a key keeps it.
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
 * Deletes a job that does not run, with its log. Gives true.
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
 * Says why a job does not run now, or how it ended: in a word, in a sentence, and with the facts
 * behind them.
 */
export const explainJob = (
  client: Client,
  jobId: string,
  options?: ExplainJobOptions & CallOptions,
): Promise<Explanation> =>
  read(client, "explain_job", "job_id", { job_id: jobId }, options);

/**
 * Makes a flow: jobs by their names, which wait for each other as `depends_on` says. Gives its
 * number. Nothing runs before `start_flow`. Either the whole flow is made, or nothing. A script
 * sees what the jobs gave that it depends on as `inputs.NAME`. A call whose answer was lost can be
 * repeated where it had an `idempotency_key`: it gives the same flow.
 */
export const createFlow = (
  client: Client,
  jobs: Record<string, FlowJobSpec>,
  options?: CreateFlowOptions & CallOptions,
): Promise<number> =>
  create(client, "create_flow", "number", { jobs }, options);

/**
 * Starts a flow that was made. Gives its status.
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
 * Gives all that is known of a flow: its status, each of its jobs with its times, what they gave,
 * and the graph of them for Mermaid.
 */
export const getFlow = (
  client: Client,
  flowId: number,
  options?: GetFlowOptions & CallOptions,
): Promise<Flow> =>
  read(client, "get_flow", "flow_id", { flow_id: flowId }, options);

/**
 * Lists flows, the newest first. A page can have fewer flows than asked for, or none, and still not
 * be the last: that one has no `next_cursor`.
 */
export const listFlows = (
  client: Client,
  options?: ListFlowsOptions & CallOptions,
): Promise<FlowPage> =>
  read(client, "list_flows", "flows", {}, options);

/**
 * Stops all jobs of a flow that have not ended. Gives the status of the flow, whose running scripts
 * may not have obeyed yet.
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
 * Runs those jobs of a flow again that ended in error, with all that never ran because of them.
 * Gives the status of the flow.
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
 * Deletes a flow that does not run, with its jobs. Gives true.
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
 * Has a job run again and again, by `cron` or `every` so many seconds. Gives the schedule, with its
 * next runs. It belongs to the context of its job. Each run is a job of its own, with the labels
 * `schedule` and `slot`, the time it was due at. A call whose answer was lost can be repeated where
 * it had an `idempotency_key`: it gives the same schedule. Whatever servers run or die, a run has
 * one job. When the queue is full, the run waits for room. A time of day that the clock leaves out
 * is met when it goes on, and one that it shows twice is met once. A script that does not compile
 * is refused (-32602, with `error` as a failed job has it) if this server has a pool for its type.
 */
export const createSchedule = (
  client: Client,
  job: JobSpecInput,
  options?: CreateScheduleOptions & CallOptions,
): Promise<Schedule> =>
  create(client, "create_schedule", "schedule_id", { job }, options);

/**
 * Lists schedules in the order of their next runs. A schedule that runs meanwhile may be on two
 * pages; none is left out. A page can have fewer schedules than asked for, or none, and still not
 * be the last: that one has no `next_cursor`.
 */
export const listSchedules = (
  client: Client,
  options?: ListSchedulesOptions & CallOptions,
): Promise<SchedulePage> =>
  read(client, "list_schedules", "schedules", {}, options);

/**
 * Deletes a schedule. Jobs that it has made stay. Gives true.
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
 * Stores an object in a collection, in place of one with the same id. Gives its id. The id is its
 * field `id`; without that it gets a new one. The object and what stands in indexes for it are
 * written in one step. A collection is there as soon as it has an object. An object that does not
 * fit the schema of its collection is refused (-32602), and so is one of more than 240 KB (1008). A
 * call without an id that is repeated after an answer was lost stores a second object.
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
 * Deletes an object. Gives whether there was one.
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

/**
 * Lists the collections of objects in the order of their names, each with how many objects it has,
 * and its indexes.
 */
export const listCollections = (
  client: Client,
  options?: ListCollectionsOptions & CallOptions,
): Promise<Collection[]> =>
  read(client, "list_collections", "map", {}, options);

/**
 * Deletes a collection with all its objects and indexes. Gives how many objects there were; `null`
 * if there was no such collection.
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
 * Makes an identity: somebody who may be given tokens, and rights in contexts.
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
 * Changes an identity: what is given takes the place of what was there.
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
 * Gives an identity. Where callers log in: yourself, or one that has a role in a context in which
 * you have one.
 */
export const getIdentity = (
  client: Client,
  identityId: number,
  options?: CallOptions,
): Promise<Identity> =>
  read(client, "get_identity", "identity_id", { identity_id: identityId }, options);

/**
 * Lists identities in the order of their numbers. Where callers log in: yourself, and those that
 * have a role in a context in which you have one. A page may hold fewer than asked for and still
 * have a next.
 */
export const listIdentities = (
  client: Client,
  options?: ListIdentitiesOptions & CallOptions,
): Promise<IdentityPage> =>
  read(client, "list_identities", "identities", {}, options);

/**
 * Deletes an identity with its tokens: whoever has shown one is logged out. Its number is never
 * given again. Gives true.
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

/** Tells who makes the call, and what it may do. */
export const whoami = (client: Client, options?: CallOptions): Promise<Who> =>
  read(client, "whoami", "operator", {}, options);

/**
 * Gives a nonce to sign, with which `authenticate` logs in: `hero:{host}:{random}:{expiry}`. It is
 * good for one login within five minutes, with this public key, under the name by which the server
 * was reached. Look whether that is the one that you meant before you sign. The answer is the same
 * whether or not there is an identity with this key.
 */
export const fetchNonce = (
  client: Client,
  pubkey: string,
  options?: CallOptions,
): Promise<string> =>
  read(client, "fetch_nonce", "string", { pubkey }, options);

/**
 * Logs in by a nonce that was signed, as an Ethereum personal message. Gives a token, which goes
 * into `Authorization: Bearer …`. On a WebSocket where callers have to log in, the connection is
 * that identity from then on. The token ends by itself; of one identity at most 50 of these last,
 * of which the first to end gives way.
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
 * Makes a token of an identity. Its `secret` is told only now: it goes into `Authorization: Bearer
 * …`. An identity may make tokens of its own, 100 at once and one a second from then on: they end
 * with that by which it has logged in, when it expires or is revoked, at the latest. The operator
 * makes those of all. There are at most 100 of one identity.
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
 * Has the connection go on with this token: a new one, before that by which it has logged in ends.
 * On a WebSocket where callers have to log in, the connection is from then on whoever the token
 * stands for, as after `authenticate`: what it waits for and follows goes on as far as that one
 * may, and ends with an error (1004) where it may not. A token that is none changes nothing. Over
 * HTTP each request has its own token, so there, and where nobody has to log in, this only tells
 * whose token it is.
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

/** Lists the tokens of an identity that have not ended, the oldest first. */
export const listTokens = (
  client: Client,
  identityId: number,
  options?: CallOptions,
): Promise<Token[]> =>
  read(client, "list_tokens", "map", { identity_id: identityId }, options);

/**
 * Revokes a token: whoever has shown it is logged out at once, also on connections that are open.
 * Gives true. An identity may revoke tokens of its own, the operator all.
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
 * Makes a context: a tenant with a database, jobs, objects and files of its own. It takes calls at
 * once, and those of other servers within a second.
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
 * Changes a context. What is not given stays. Limits are the operator's to set; 0 takes one away.
 * It holds at once on this server, and within a second on others. Roles are changed by `grant` and
 * `revoke`.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const updateContext = (
  client: Client,
  options?: UpdateContextOptions & CallOptions,
): Promise<Context> =>
  change(client, "update_context", "context_id", {}, options);

/** Gives a context: who may do what in it, and what may be used there. */
export const getContext = (
  client: Client,
  options?: GetContextOptions & CallOptions,
): Promise<Context> =>
  read(client, "get_context", "context_id", {}, options);

/**
 * Lists contexts in the order of their numbers: those in which the caller has a role, or all for
 * the operator.
 */
export const listContexts = (
  client: Client,
  options?: ListContextsOptions & CallOptions,
): Promise<ContextPage> =>
  read(client, "list_contexts", "contexts", {}, options);

/**
 * Deletes a context with everything in it, for good. Its number is never given again. Gives true:
 * it takes no calls from then on, and what it holds goes in the background.
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
 * Gives an identity a role in a context. Gives who may do what there now. It holds at once on this
 * server, and within half a second on others.
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
 * Takes a role in a context from an identity. Gives who may do what there now. It holds at once on
 * this server, and within half a second on others.
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
 * Makes a runner: it runs the jobs of its script type whose `group` is `runner{runner_id}`. A local
 * one is a pool of the context; the jobs of another one are sent as messages to its address.
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
 * Changes a runner: what is given takes the place of what was there.
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

/** Gives a runner. */
export const getRunner = (
  client: Client,
  runnerId: number,
  options?: GetRunnerOptions & CallOptions,
): Promise<Runner> =>
  read(client, "get_runner", "runner_id", { runner_id: runnerId }, options);

/** Lists runners in the order of their numbers. */
export const listRunners = (
  client: Client,
  options?: ListRunnersOptions & CallOptions,
): Promise<RunnerPage> =>
  read(client, "list_runners", "runners", {}, options);

/**
 * Deletes a runner. Its jobs stay in their queue, and its number is never given again. Gives true.
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
 * Sends a message: it is stored and brought to the other side in the background, and its status
 * says what became of it. Jobs of a message run at the other side, and for each a message of type
 * `result` comes back.
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
 * Asks who is at an address: the way there, the key of the node that answers, its clock, and how
 * long the answer took. Nothing is stored of it, and where nobody answers `error` says why.
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

/** Gives a message. */
export const getMessage = (
  client: Client,
  callerId: number,
  messageId: number,
  options?: GetMessageOptions & CallOptions,
): Promise<Message> =>
  read(client, "get_message", "caller_id", { caller_id: callerId, message_id: messageId }, options);

/**
 * Lists messages that came and were not fetched, or that are to go out, those that are taken first
 * first; or those of a status. A page can have fewer messages than asked for, or none, and still
 * not be the last: that one has no `next_cursor`.
 */
export const listMessages = (
  client: Client,
  options?: ListMessagesOptions & CallOptions,
): Promise<MessagePage> =>
  read(client, "list_messages", "messages", {}, options);

/**
 * Notes that the owner of a message that came has it: it is not listed any more. Gives the message.
 * One that is to go out the other side acknowledges.
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
 * Deletes a message whose result nobody awaits. Gives true.
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
 * Lists the live actors, with what each may do and how it is confined. Actors of other programs
 * that say that they live are among them. Behind them come the script types of which this server
 * was to offer actors and cannot, each with why (`unavailable`).
 */
export const listActors = (
  client: Client,
  options?: ListActorsOptions & CallOptions,
): Promise<Actor[]> =>
  read(client, "list_actors", "map", {}, options);

/**
 * Lists the functions that scripts have besides those of their language, with what each takes and
 * gives, and an example.
 */
export const listFunctions = (
  client: Client,
  options?: ListFunctionsOptions & CallOptions,
): Promise<ScriptFunction[]> =>
  read(client, "list_functions", "map", {}, options);

/**
 * Compiles a script without running it, and says what is wrong with it, and where, unknown
 * functions included. It is compiled in a confined process, as the scripts of jobs are. Nothing is
 * found in scripts that are not Rhai or HeroScript, or for whose type this server has no pool, and
 * where compiling takes longer than 5 s.
 */
export const checkScript = (
  client: Client,
  script: string,
  options?: CheckScriptOptions & CallOptions,
): Promise<ScriptCheck> =>
  read(client, "check_script", "object", { script }, options);

/** Lists the work queues, with how many jobs wait in each and how many actors take from it. */
export const listQueues = (
  client: Client,
  options?: ListQueuesOptions & CallOptions,
): Promise<QueueInfo[]> =>
  read(client, "list_queues", "map", {}, options);

/**
 * Has nothing taken from one queue, in any priority, until it is resumed. Gives true. Running jobs
 * go on, and new ones wait. The queue of a type is not that of its groups and instances: each is
 * paused by itself.
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
 * Has a paused queue served again, at once. Gives true, also if it was not paused; a type that
 * nobody knows is refused.
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

/** Tells what this server is, what it serves, how its store is and which limits hold. */
export const serverInfo = (client: Client, options?: CallOptions): Promise<ServerDetails> =>
  read(client, "server_info", "name", {}, options);

/**
 * Answers `pong`. Keeps a connection alive where WebSocket pings cannot be sent, and measures the
 * way.
 */
export const ping = (client: Client, options?: CallOptions): Promise<string> =>
  read(client, "ping", "string", {}, options);

/** Follows a job to its end. Without a cursor the first item is the present state. */
export const followJob = (
  client: Client,
  jobId: string,
  options?: SubscribeJobOptions & FollowOptions,
): Following<EventNotice | BeganNotice | LaggedNotice | EndedNotice> =>
  follow(client, "subscribe_job", "unsubscribe_job", { job_id: jobId }, options);

/**
 * Follows a flow to its end. The first item is where it is, then comes one for each change of a
 * job, then its end, and `ended` last. With a cursor the changes after it come first. One without a
 * `job` says where the flow is now, also where changes of jobs were lost because the subscriber
 * reads too slowly.
 */
export const followFlow = (
  client: Client,
  flowId: number,
  options?: SubscribeFlowOptions & FollowOptions,
): Following<FlowNotice | EndedNotice> =>
  follow(client, "subscribe_flow", "unsubscribe_flow", { flow_id: flowId }, options);

/**
 * Follows every change of the jobs that fit a filter, from now on or from a cursor. Without a
 * cursor the first item says where it begins.
 */
export const followEvents = (
  client: Client,
  options?: SubscribeEventsOptions & FollowOptions,
): Following<EventNotice | BeganNotice | LaggedNotice | EndedNotice> =>
  follow(client, "subscribe_events", "unsubscribe_events", {}, options);

/**
 * Follows the log of a job, from its first line or from a cursor. Ends when the job has ended and
 * its last line was sent.
 */
export const followLogs = (
  client: Client,
  jobId: string,
  options?: SubscribeLogsOptions & FollowOptions,
): Following<LineNotice | LaggedNotice | EndedNotice> =>
  follow(client, "subscribe_logs", "unsubscribe_logs", { job_id: jobId }, options);

/**
 * Has this server take no jobs any more and end when those that run here have ended, for a restart
 * that disturbs nobody. `/readyz` says 503 from now on. What is created meanwhile waits for other
 * servers, or for this one to come back; calls are answered until the end.
 *
 * The client does not repeat this call if the connection ends before the answer: see {@link
 * OutcomeUnknown}.
 */
export const drainServer = (
  client: Client,
  options?: DrainServerOptions & CallOptions,
): Promise<Draining> =>
  change(client, "drain_server", "running", {}, options);
