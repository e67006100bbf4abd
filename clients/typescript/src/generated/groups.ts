// Generated from openrpc.json by clients/generate (`make clients`). Do not edit.

import type { CallOptions, Client } from "../client.js";
import type { Following, FollowOptions } from "../follow.js";
import * as calls from "./methods.js";
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
 * Calls of `jobs`: `create_job`, `start_job`, `stop_job`, `retry_job`, `get_status`, `get_job`,
 * `get_logs`, `list_jobs`, `number_job`, `delete_job`, `explain_job`, `subscribe_job`,
 * `subscribe_logs`.
 */
export class JobsCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Stores a job, and starts it if `start` is set. Returns its id. A repeated call with the same
   * `idempotency_key` and the same parameters returns the same job.
   */
  create(script: string, options?: CreateJobOptions & CallOptions): Promise<string> {
    return calls.createJob(this.client, script, options);
  }

  /**
   * Starts a created job. Returns its status.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  start(jobId: string, options?: StartJobOptions & CallOptions): Promise<JobStatus> {
    return calls.startJob(this.client, jobId, options);
  }

  /**
   * Stops a job that has not ended. Returns its status. The call waits up to one second for a
   * running script to end. The script is stopped in any case.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  stop(jobId: string, options?: StopJobOptions & CallOptions): Promise<JobStatus> {
    return calls.stopJob(this.client, jobId, options);
  }

  /**
   * Runs an ended job again. Returns its status. Its attempts are counted on, its retries begin
   * anew, and its previous result is gone. Jobs that waited for it and ended in error with it are
   * not retried.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  retry(jobId: string, options?: RetryJobOptions & CallOptions): Promise<JobStatus> {
    return calls.retryJob(this.client, jobId, options);
  }

  /** Returns the status of a job. */
  status(jobId: string, options?: GetStatusOptions & CallOptions): Promise<JobStatus> {
    return calls.getStatus(this.client, jobId, options);
  }

  /** Returns everything that is known about a job. */
  get(jobId: string, options?: GetJobOptions & CallOptions): Promise<Job> {
    return calls.getJob(this.client, jobId, options);
  }

  /**
   * Returns log lines of a job, oldest first. A page also ends after about a megabyte, so a page
   * with lines, but fewer than `limit`, may not be the last. While the job can log more, even a
   * page without lines has a `next_cursor`: call again with it, or use `subscribe_logs`.
   */
  logs(jobId: string, options?: GetLogsOptions & CallOptions): Promise<LogPage> {
    return calls.getLogs(this.client, jobId, options);
  }

  /**
   * Lists jobs, newest first. A page may have fewer jobs than `limit`, or none, although more
   * follow: only the last page has no `next_cursor`. Long values are cut after 1 KB or left out:
   * `truncated` names them, and `get_job` returns them in full.
   */
  list(options?: ListJobsOptions & CallOptions): Promise<JobPage> {
    return calls.listJobs(this.client, options);
  }

  /**
   * Mirrors a job in Redis as a hash of the coordinator's specification. Returns the key:
   * `job:{caller}:{n}`. From then on, each change of the job is also written there, and the hash is
   * deleted with the job. A job that has such a key keeps it.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  number(jobId: string, options?: NumberJobOptions & CallOptions): Promise<string> {
    return calls.numberJob(this.client, jobId, options);
  }

  /**
   * Deletes a job that is not running, with its log. Returns true.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  delete(jobId: string, options?: DeleteJobOptions & CallOptions): Promise<boolean> {
    return calls.deleteJob(this.client, jobId, options);
  }

  /**
   * Explains why a job is not running, or how it ended: as a word, a sentence, and the facts behind
   * them.
   */
  explain(jobId: string, options?: ExplainJobOptions & CallOptions): Promise<Explanation> {
    return calls.explainJob(this.client, jobId, options);
  }

  /** Follows a job to its end. Without a cursor, the first item is the current state. */
  follow(
    jobId: string,
    options?: SubscribeJobOptions & FollowOptions,
  ): Following<EventNotice | BeganNotice | LaggedNotice | EndedNotice> {
    return calls.followJob(this.client, jobId, options);
  }

  /**
   * Follows the log of a job, from its first line or from a cursor. The subscription ends when the
   * job has ended and its last line was sent.
   */
  followLogs(
    jobId: string,
    options?: SubscribeLogsOptions & FollowOptions,
  ): Following<LineNotice | LaggedNotice | EndedNotice> {
    return calls.followLogs(this.client, jobId, options);
  }
}

/**
 * Calls of `flows`: `create_flow`, `start_flow`, `get_flow`, `list_flows`, `stop_flow`,
 * `retry_flow`, `delete_flow`, `subscribe_flow`.
 */
export class FlowsCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Creates a flow: named jobs, which wait for each other by `depends_on`. Returns its number.
   * Nothing runs before `start_flow`. The call creates the whole flow, or nothing. A script reads
   * the results of the jobs that it depends on as `inputs.NAME`. With an `idempotency_key`, a call
   * whose answer was lost can be repeated, and returns the same flow.
   */
  create(
    jobs: Record<string, FlowJobSpec>,
    options?: CreateFlowOptions & CallOptions,
  ): Promise<number> {
    return calls.createFlow(this.client, jobs, options);
  }

  /**
   * Starts a created flow. Returns its status.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  start(flowId: number, options?: StartFlowOptions & CallOptions): Promise<FlowStatus> {
    return calls.startFlow(this.client, flowId, options);
  }

  /**
   * Returns a flow: its status, its jobs with their times, their results, and their graph for
   * Mermaid.
   */
  get(flowId: number, options?: GetFlowOptions & CallOptions): Promise<Flow> {
    return calls.getFlow(this.client, flowId, options);
  }

  /**
   * Lists flows, newest first. A page may have fewer flows than `limit`, or none, although more
   * follow: only the last page has no `next_cursor`.
   */
  list(options?: ListFlowsOptions & CallOptions): Promise<FlowPage> {
    return calls.listFlows(this.client, options);
  }

  /**
   * Stops all jobs of a flow that have not ended. Returns the status of the flow. Its running
   * scripts may not have ended yet.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  stop(flowId: number, options?: StopFlowOptions & CallOptions): Promise<FlowStatus> {
    return calls.stopFlow(this.client, flowId, options);
  }

  /**
   * Retries the jobs of a flow that ended in error, and those that never ran because of them.
   * Returns the status of the flow.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  retry(flowId: number, options?: RetryFlowOptions & CallOptions): Promise<FlowStatus> {
    return calls.retryFlow(this.client, flowId, options);
  }

  /**
   * Deletes a flow that is not running, with its jobs. Returns true.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  delete(flowId: number, options?: DeleteFlowOptions & CallOptions): Promise<boolean> {
    return calls.deleteFlow(this.client, flowId, options);
  }

  /**
   * Follows a flow to its end. The first item is the current state of the flow. Then follow one
   * item for each change of a job, the end of the flow, and `ended`. With a cursor, the changes
   * after it come first. An item without a `job` is the current state of the flow; it also stands
   * for changes of jobs that were lost because the subscriber reads too slowly.
   */
  follow(
    flowId: number,
    options?: SubscribeFlowOptions & FollowOptions,
  ): Following<FlowNotice | EndedNotice> {
    return calls.followFlow(this.client, flowId, options);
  }
}

/** Calls of `schedules`: `create_schedule`, `list_schedules`, `delete_schedule`. */
export class SchedulesCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Creates a schedule, which runs a job by `cron` or at an interval (`every`). Returns the
   * schedule, with its next runs. It belongs to the context of its job. Each run is a separate job,
   * with the labels `schedule` and `slot`, the time at which it was due. With an `idempotency_key`,
   * a call whose answer was lost can be repeated, and returns the same schedule. Each run has
   * exactly one job, whichever servers run or die. When the queue is full, the run waits for room.
   * A time of day that the clock skips is due right after the gap; one that it shows twice is due
   * once. A script that does not compile is refused (-32602, with the `error` of a failed job) if
   * this server has a pool for its type.
   */
  create(job: JobSpecInput, options?: CreateScheduleOptions & CallOptions): Promise<Schedule> {
    return calls.createSchedule(this.client, job, options);
  }

  /**
   * Lists schedules in the order of their next runs. A schedule that runs meanwhile may be on two
   * pages; none is left out. A page may have fewer schedules than `limit`, or none, although more
   * follow: only the last page has no `next_cursor`.
   */
  list(options?: ListSchedulesOptions & CallOptions): Promise<SchedulePage> {
    return calls.listSchedules(this.client, options);
  }

  /**
   * Deletes a schedule. Its existing jobs stay. Returns true.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  delete(scheduleId: string, options?: DeleteScheduleOptions & CallOptions): Promise<boolean> {
    return calls.deleteSchedule(this.client, scheduleId, options);
  }
}

/** Calls of `objects`: `set_object`, `delete_object`. */
export class ObjectsCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Stores an object in a collection, and replaces one with the same id. Returns its id. The id is
   * the field `id` of the object; an object without it gets a new one. The object and its index
   * entries are written in one step. A collection exists once it has an object. An object that
   * violates the schema of its collection is refused (-32602), and so is one of more than 240 KB
   * (1008). A call without an id stores a second object if it is repeated after its answer was
   * lost.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  set(
    collection: string,
    object: Record<string, unknown>,
    options?: SetObjectOptions & CallOptions,
  ): Promise<string> {
    return calls.setObject(this.client, collection, object, options);
  }

  /**
   * Deletes an object. Returns whether it existed.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  delete(
    collection: string,
    id: string,
    options?: DeleteObjectOptions & CallOptions,
  ): Promise<boolean> {
    return calls.deleteObject(this.client, collection, id, options);
  }
}

/** Calls of `collections`: `list_collections`, `drop_collection`. */
export class CollectionsCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /** Lists the collections of objects by name, each with its number of objects and its indexes. */
  list(options?: ListCollectionsOptions & CallOptions): Promise<Collection[]> {
    return calls.listCollections(this.client, options);
  }

  /**
   * Deletes a collection with all its objects and indexes. Returns the number of objects that it
   * had, or `null` if it did not exist.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  drop(collection: string, options?: DropCollectionOptions & CallOptions): Promise<number | null> {
    return calls.dropCollection(this.client, collection, options);
  }
}

/**
 * Calls of `identities`: `create_identity`, `update_identity`, `get_identity`, `list_identities`,
 * `delete_identity`.
 */
export class IdentitiesCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Creates an identity, which can get tokens, and rights in contexts.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  create(options?: CreateIdentityOptions & CallOptions): Promise<Identity> {
    return calls.createIdentity(this.client, options);
  }

  /**
   * Changes an identity. Each given field replaces its old value.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  update(identityId: number, options?: UpdateIdentityOptions & CallOptions): Promise<Identity> {
    return calls.updateIdentity(this.client, identityId, options);
  }

  /**
   * Returns an identity. Where callers log in, you see only yourself and identities with a role in
   * a context in which you have one.
   */
  get(identityId: number, options?: CallOptions): Promise<Identity> {
    return calls.getIdentity(this.client, identityId, options);
  }

  /**
   * Lists identities by number. Where callers log in, you see only yourself and identities with a
   * role in a context in which you have one. A page may have fewer identities than `limit` although
   * more follow.
   */
  list(options?: ListIdentitiesOptions & CallOptions): Promise<IdentityPage> {
    return calls.listIdentities(this.client, options);
  }

  /**
   * Deletes an identity with its tokens, and logs out everybody who uses one of them. Its number is
   * never reused. Returns true.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  delete(identityId: number, options?: CallOptions): Promise<boolean> {
    return calls.deleteIdentity(this.client, identityId, options);
  }
}

/** Calls without a group: `whoami`, `fetch_nonce`, `authenticate`, `grant`, `revoke`, `ping`. */
export class PlainCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /** Returns the caller and its rights. */
  whoami(options?: CallOptions): Promise<Who> {
    return calls.whoami(this.client, options);
  }

  /**
   * Returns a nonce to sign for `authenticate`: `hero:{host}:{random}:{expiry}`. It is valid for
   * one login within five minutes, with this public key, under the host name by which the server
   * was reached. Check that name before you sign. The answer is the same whether or not an identity
   * has this key.
   */
  fetchNonce(pubkey: string, options?: CallOptions): Promise<string> {
    return calls.fetchNonce(this.client, pubkey, options);
  }

  /**
   * Logs in with a nonce that is signed as an Ethereum personal message. Returns a token for
   * `Authorization: Bearer …`. On a WebSocket where callers have to log in, the connection has that
   * identity from then on. The token expires. An identity has at most 50 tokens of this kind; a
   * further login replaces the one that expires first.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  authenticate(
    pubkey: string,
    signature: string,
    nonce: string,
    options?: CallOptions,
  ): Promise<LoggedIn> {
    return calls.authenticate(this.client, pubkey, signature, nonce, options);
  }

  /**
   * Gives an identity a role in a context. Returns the context with its roles. The change applies
   * at once on this server, and within half a second on others.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  grant(identityId: number, role: Role, options?: GrantOptions & CallOptions): Promise<Context> {
    return calls.grant(this.client, identityId, role, options);
  }

  /**
   * Takes a role in a context from an identity. Returns the context with its roles. The change
   * applies at once on this server, and within half a second on others.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  revoke(identityId: number, role: Role, options?: RevokeOptions & CallOptions): Promise<Context> {
    return calls.revoke(this.client, identityId, role, options);
  }

  /**
   * Answers `pong`. This keeps a connection alive where WebSocket pings cannot be sent, and
   * measures the round trip.
   */
  ping(options?: CallOptions): Promise<string> {
    return calls.ping(this.client, options);
  }
}

/** Calls of `tokens`: `create_token`, `present_token`, `list_tokens`, `revoke_token`. */
export class TokensCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Creates a token for an identity. Its `secret` is shown only once: it goes into `Authorization:
   * Bearer …`. An identity may create tokens of its own, 100 at once and then one per second. They
   * end at the latest when the token by which it has logged in expires or is revoked. The operator
   * may create tokens for all. An identity has at most 100 of them.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  create(identityId: number, options?: CreateTokenOptions & CallOptions): Promise<NewToken> {
    return calls.createToken(this.client, identityId, options);
  }

  /**
   * Switches the connection to this token, for example before the token by which it has logged in
   * expires. On a WebSocket where callers have to log in, the connection has the identity of the
   * token from then on, as after `authenticate`. Its waits and subscriptions continue if that
   * identity is allowed to make them, and end with an error (1004) otherwise. An invalid token
   * changes nothing. Over HTTP each request has its own token, so there, and where nobody has to
   * log in, the call only returns the identity of the token.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  present(token: string, options?: CallOptions): Promise<Presented> {
    return calls.presentToken(this.client, token, options);
  }

  /** Lists the tokens of an identity that have not ended, oldest first. */
  list(identityId: number, options?: CallOptions): Promise<Token[]> {
    return calls.listTokens(this.client, identityId, options);
  }

  /**
   * Revokes a token, and logs out everybody who uses it at once, also on open connections. Returns
   * true. An identity may revoke its own tokens, the operator all.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  revoke(tokenId: string, options?: CallOptions): Promise<boolean> {
    return calls.revokeToken(this.client, tokenId, options);
  }
}

/**
 * Calls of `contexts`: `create_context`, `update_context`, `get_context`, `list_contexts`,
 * `delete_context`.
 */
export class ContextsCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Creates a context: a tenant with its own database, jobs, objects and files. This server accepts
   * calls for it at once, other servers within a second.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  create(options?: CreateContextOptions & CallOptions): Promise<Context> {
    return calls.createContext(this.client, options);
  }

  /**
   * Changes a context. Fields that are not given stay as they are. Limits are the operator's to
   * set; 0 takes one away. It holds at once on this server, and within a second on others. Roles
   * are changed by `grant` and `revoke`.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  update(options?: UpdateContextOptions & CallOptions): Promise<Context> {
    return calls.updateContext(this.client, options);
  }

  /** Returns a context with its roles and limits. */
  get(options?: GetContextOptions & CallOptions): Promise<Context> {
    return calls.getContext(this.client, options);
  }

  /** Lists contexts by number: those in which the caller has a role, or all for the operator. */
  list(options?: ListContextsOptions & CallOptions): Promise<ContextPage> {
    return calls.listContexts(this.client, options);
  }

  /**
   * Deletes a context with everything in it, for good. Its number is never reused. Returns true.
   * From then on the context accepts no calls; its data is deleted in the background.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  delete(contextId: number, options?: DeleteContextOptions & CallOptions): Promise<boolean> {
    return calls.deleteContext(this.client, contextId, options);
  }
}

/**
 * Calls of `runners`: `create_runner`, `update_runner`, `get_runner`, `list_runners`,
 * `delete_runner`.
 */
export class RunnersCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Creates a runner, which runs the jobs of its script type whose `group` is `runner{runner_id}`.
   * A local runner is a pool of the context. The jobs of any other runner are sent as messages to
   * its address.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  create(scriptType: string, options?: CreateRunnerOptions & CallOptions): Promise<Runner> {
    return calls.createRunner(this.client, scriptType, options);
  }

  /**
   * Changes a runner. Each given field replaces its old value.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  update(runnerId: number, options?: UpdateRunnerOptions & CallOptions): Promise<Runner> {
    return calls.updateRunner(this.client, runnerId, options);
  }

  /** Returns a runner. */
  get(runnerId: number, options?: GetRunnerOptions & CallOptions): Promise<Runner> {
    return calls.getRunner(this.client, runnerId, options);
  }

  /** Lists runners by number. */
  list(options?: ListRunnersOptions & CallOptions): Promise<RunnerPage> {
    return calls.listRunners(this.client, options);
  }

  /**
   * Deletes a runner. Its jobs stay in their queue, and its number is never reused. Returns true.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  delete(runnerId: number, options?: DeleteRunnerOptions & CallOptions): Promise<boolean> {
    return calls.deleteRunner(this.client, runnerId, options);
  }
}

/**
 * Calls of `messages`: `send_message`, `get_message`, `list_messages`, `acknowledge_message`,
 * `delete_message`.
 */
export class MessagesCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Sends a message: the server stores it and delivers it in the background. The status of the
   * message shows its progress. Jobs of a message run at the other side, which sends back a message
   * of type `result` for each.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  send(options?: SendMessageOptions & CallOptions): Promise<Message> {
    return calls.sendMessage(this.client, options);
  }

  /** Returns a message. */
  get(
    callerId: number,
    messageId: number,
    options?: GetMessageOptions & CallOptions,
  ): Promise<Message> {
    return calls.getMessage(this.client, callerId, messageId, options);
  }

  /**
   * Lists received messages that were not fetched, or messages to be sent, in the order in which
   * they are taken; or messages of one status. A page may have fewer messages than `limit`, or
   * none, although more follow: only the last page has no `next_cursor`.
   */
  list(options?: ListMessagesOptions & CallOptions): Promise<MessagePage> {
    return calls.listMessages(this.client, options);
  }

  /**
   * Acknowledges a received message for its owner: it is no longer listed. Returns the message. The
   * other side acknowledges messages that are sent.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  acknowledge(
    callerId: number,
    messageId: number,
    options?: AcknowledgeMessageOptions & CallOptions,
  ): Promise<Message> {
    return calls.acknowledgeMessage(this.client, callerId, messageId, options);
  }

  /**
   * Deletes a message whose result nobody awaits. Returns true.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  delete(
    callerId: number,
    messageId: number,
    options?: DeleteMessageOptions & CallOptions,
  ): Promise<boolean> {
    return calls.deleteMessage(this.client, callerId, messageId, options);
  }
}

/** Calls of `nodes`: `ping_node`. */
export class NodesCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Pings the node at an address. Returns the route, the key of the node that answers, its clock,
   * and the time that the answer took. Nothing is stored. If nobody answers, `error` says why.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  ping(address: string, options?: PingNodeOptions & CallOptions): Promise<Pong> {
    return calls.pingNode(this.client, address, options);
  }
}

/** Calls of `actors`: `list_actors`. */
export class ActorsCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Lists the live actors, with their capabilities and their confinement. The list includes actors
   * of other programs that send heartbeats. After them come the script types for which this server
   * should have actors and cannot, each with the reason (`unavailable`).
   */
  list(options?: ListActorsOptions & CallOptions): Promise<Actor[]> {
    return calls.listActors(this.client, options);
  }
}

/** Calls of `functions`: `list_functions`. */
export class FunctionsCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Lists the functions that scripts have besides those of their language, with parameters, result
   * and an example.
   */
  list(options?: ListFunctionsOptions & CallOptions): Promise<ScriptFunction[]> {
    return calls.listFunctions(this.client, options);
  }
}

/** Calls of `scripts`: `check_script`. */
export class ScriptsCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Compiles a script without running it, and reports an error with its location. Unknown functions
   * are errors, too. A confined process compiles it, as for jobs. No error is found if the script
   * is neither Rhai nor HeroScript, if this server has no pool for its type, or if compiling takes
   * longer than 5 s.
   */
  check(script: string, options?: CheckScriptOptions & CallOptions): Promise<ScriptCheck> {
    return calls.checkScript(this.client, script, options);
  }
}

/** Calls of `queues`: `list_queues`, `pause_queue`, `resume_queue`. */
export class QueuesCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /** Lists the work queues, each with its number of waiting jobs and of actors. */
  list(options?: ListQueuesOptions & CallOptions): Promise<QueueInfo[]> {
    return calls.listQueues(this.client, options);
  }

  /**
   * Pauses a queue, in all priorities, until it is resumed. Returns true. Running jobs continue,
   * and new ones wait. The queue of a type is not that of its groups and instances: each is paused
   * by itself.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  pause(scriptType: string, options?: PauseQueueOptions & CallOptions): Promise<boolean> {
    return calls.pauseQueue(this.client, scriptType, options);
  }

  /**
   * Resumes a paused queue at once. Returns true, even if the queue was not paused. An unknown type
   * is refused.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  resume(scriptType: string, options?: ResumeQueueOptions & CallOptions): Promise<boolean> {
    return calls.resumeQueue(this.client, scriptType, options);
  }
}

/** Calls of `server`: `server_info`, `drain_server`. */
export class ServerCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /** Describes this server, its contexts and pools, the state of its store, and its limits. */
  info(options?: CallOptions): Promise<ServerDetails> {
    return calls.serverInfo(this.client, options);
  }

  /**
   * Stops taking jobs, and ends this server when the running ones have ended, for a restart that
   * disturbs nobody. From then on `/readyz` answers 503. New jobs wait for other servers, or for
   * this one to come back. Calls are answered until the end.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  drain(options?: DrainServerOptions & CallOptions): Promise<Draining> {
    return calls.drainServer(this.client, options);
  }
}

/** Calls of `events`: `subscribe_events`. */
export class EventsCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /**
   * Follows every change of the jobs that match a filter, from now on or from a cursor. Without a
   * cursor, the first item has the cursor where the subscription begins.
   */
  follow(
    options?: SubscribeEventsOptions & FollowOptions,
  ): Following<EventNotice | BeganNotice | LaggedNotice | EndedNotice> {
    return calls.followEvents(this.client, options);
  }
}
