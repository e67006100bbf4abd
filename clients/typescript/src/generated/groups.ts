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
   * Stores a job, and starts it if `start` is set. Gives its id. The same `idempotency_key` with
   * the same parameters gives the same job again.
   */
  create(script: string, options?: CreateJobOptions & CallOptions): Promise<string> {
    return calls.createJob(this.client, script, options);
  }

  /**
   * Starts a job that was created. Gives the status it has then.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  start(jobId: string, options?: StartJobOptions & CallOptions): Promise<JobStatus> {
    return calls.startJob(this.client, jobId, options);
  }

  /**
   * Stops a job that has not ended. Gives the status it has then. A running script gets one second
   * to obey before the call returns; it is stopped in any case.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  stop(jobId: string, options?: StopJobOptions & CallOptions): Promise<JobStatus> {
    return calls.stopJob(this.client, jobId, options);
  }

  /**
   * Runs a job again that has ended. Gives the status it has then. Its attempts count on, its
   * retries begin anew, and what it gave before is gone. A job in error that others waited for does
   * not bring those back.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  retry(jobId: string, options?: RetryJobOptions & CallOptions): Promise<JobStatus> {
    return calls.retryJob(this.client, jobId, options);
  }

  /** Gives the status of a job. */
  status(jobId: string, options?: GetStatusOptions & CallOptions): Promise<JobStatus> {
    return calls.getStatus(this.client, jobId, options);
  }

  /** Gives everything that is known of a job. */
  get(jobId: string, options?: GetJobOptions & CallOptions): Promise<Job> {
    return calls.getJob(this.client, jobId, options);
  }

  /**
   * Gives log lines of a job, the oldest first. A page ends after about a megabyte, too: it may
   * have fewer lines than asked for and not be the last, if it has any. A page without lines has a
   * `next_cursor` too as long as the job can log more: ask again with it, or use `subscribe_logs`.
   */
  logs(jobId: string, options?: GetLogsOptions & CallOptions): Promise<LogPage> {
    return calls.getLogs(this.client, jobId, options);
  }

  /**
   * Lists jobs, the newest first. A page can have fewer jobs than asked for, or none, and still not
   * be the last: that one has no `next_cursor`. A list is for finding jobs: what is long of one is
   * cut after 1 KB or left out, `truncated` says what, and `get_job` gives all of it.
   */
  list(options?: ListJobsOptions & CallOptions): Promise<JobPage> {
    return calls.listJobs(this.client, options);
  }

  /**
   * Has a job be seen in Redis as the coordinator's specification has it, too. Gives the key:
   * `job:{caller}:{n}`. Each change of the job is written there from now on, and the hash goes with
   * the job. A job that has such a key keeps it.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  number(jobId: string, options?: NumberJobOptions & CallOptions): Promise<string> {
    return calls.numberJob(this.client, jobId, options);
  }

  /**
   * Deletes a job that does not run, with its log. Gives true.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  delete(jobId: string, options?: DeleteJobOptions & CallOptions): Promise<boolean> {
    return calls.deleteJob(this.client, jobId, options);
  }

  /**
   * Says why a job does not run now, or how it ended: in a word, in a sentence, and with the facts
   * behind them.
   */
  explain(jobId: string, options?: ExplainJobOptions & CallOptions): Promise<Explanation> {
    return calls.explainJob(this.client, jobId, options);
  }

  /** Follows a job to its end. Without a cursor the first item is the present state. */
  follow(
    jobId: string,
    options?: SubscribeJobOptions & FollowOptions,
  ): Following<EventNotice | BeganNotice | LaggedNotice | EndedNotice> {
    return calls.followJob(this.client, jobId, options);
  }

  /**
   * Follows the log of a job, from its first line or from a cursor. Ends when the job has ended and
   * its last line was sent.
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
   * Makes a flow: jobs by their names, which wait for each other as `depends_on` says. Gives its
   * number. Nothing runs before `start_flow`. Either the whole flow is made, or nothing. A script
   * sees what the jobs gave that it depends on as `inputs.NAME`. A call whose answer was lost can
   * be repeated where it had an `idempotency_key`: it gives the same flow.
   */
  create(
    jobs: Record<string, FlowJobSpec>,
    options?: CreateFlowOptions & CallOptions,
  ): Promise<number> {
    return calls.createFlow(this.client, jobs, options);
  }

  /**
   * Starts a flow that was made. Gives its status.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  start(flowId: number, options?: StartFlowOptions & CallOptions): Promise<FlowStatus> {
    return calls.startFlow(this.client, flowId, options);
  }

  /**
   * Gives all that is known of a flow: its status, each of its jobs with its times, what they gave,
   * and the graph of them for Mermaid.
   */
  get(flowId: number, options?: GetFlowOptions & CallOptions): Promise<Flow> {
    return calls.getFlow(this.client, flowId, options);
  }

  /**
   * Lists flows, the newest first. A page can have fewer flows than asked for, or none, and still
   * not be the last: that one has no `next_cursor`.
   */
  list(options?: ListFlowsOptions & CallOptions): Promise<FlowPage> {
    return calls.listFlows(this.client, options);
  }

  /**
   * Stops all jobs of a flow that have not ended. Gives the status of the flow, whose running
   * scripts may not have obeyed yet.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  stop(flowId: number, options?: StopFlowOptions & CallOptions): Promise<FlowStatus> {
    return calls.stopFlow(this.client, flowId, options);
  }

  /**
   * Runs those jobs of a flow again that ended in error, with all that never ran because of them.
   * Gives the status of the flow.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  retry(flowId: number, options?: RetryFlowOptions & CallOptions): Promise<FlowStatus> {
    return calls.retryFlow(this.client, flowId, options);
  }

  /**
   * Deletes a flow that does not run, with its jobs. Gives true.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  delete(flowId: number, options?: DeleteFlowOptions & CallOptions): Promise<boolean> {
    return calls.deleteFlow(this.client, flowId, options);
  }

  /**
   * Follows a flow to its end. The first item is where it is, then comes one for each change of a
   * job, then its end, and `ended` last. With a cursor the changes after it come first. One without
   * a `job` says where the flow is now, also where changes of jobs were lost because the subscriber
   * reads too slowly.
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
   * Has a job run again and again, by `cron` or `every` so many seconds. Gives the schedule, with
   * its next runs. It belongs to the context of its job. Each run is a job of its own, with the
   * labels `schedule` and `slot`, the time it was due at. A call whose answer was lost can be
   * repeated where it had an `idempotency_key`: it gives the same schedule. Whatever servers run or
   * die, a run has one job. When the queue is full, the run waits for room. A time of day that the
   * clock leaves out is met when it goes on, and one that it shows twice is met once. A script that
   * does not compile is refused (-32602, with `error` as a failed job has it) if this server has a
   * pool for its type.
   */
  create(job: JobSpecInput, options?: CreateScheduleOptions & CallOptions): Promise<Schedule> {
    return calls.createSchedule(this.client, job, options);
  }

  /**
   * Lists schedules in the order of their next runs. A schedule that runs meanwhile may be on two
   * pages; none is left out. A page can have fewer schedules than asked for, or none, and still not
   * be the last: that one has no `next_cursor`.
   */
  list(options?: ListSchedulesOptions & CallOptions): Promise<SchedulePage> {
    return calls.listSchedules(this.client, options);
  }

  /**
   * Deletes a schedule. Jobs that it has made stay. Gives true.
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
   * Stores an object in a collection, in place of one with the same id. Gives its id. The id is its
   * field `id`; without that it gets a new one. The object and what stands in indexes for it are
   * written in one step. A collection is there as soon as it has an object. An object that does not
   * fit the schema of its collection is refused (-32602), and so is one of more than 240 KB (1008).
   * A call without an id that is repeated after an answer was lost stores a second object.
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
   * Deletes an object. Gives whether there was one.
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

  /**
   * Lists the collections of objects in the order of their names, each with how many objects it
   * has, and its indexes.
   */
  list(options?: ListCollectionsOptions & CallOptions): Promise<Collection[]> {
    return calls.listCollections(this.client, options);
  }

  /**
   * Deletes a collection with all its objects and indexes. Gives how many objects there were;
   * `null` if there was no such collection.
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
   * Makes an identity: somebody who may be given tokens, and rights in contexts.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  create(options?: CreateIdentityOptions & CallOptions): Promise<Identity> {
    return calls.createIdentity(this.client, options);
  }

  /**
   * Changes an identity: what is given takes the place of what was there.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  update(identityId: number, options?: UpdateIdentityOptions & CallOptions): Promise<Identity> {
    return calls.updateIdentity(this.client, identityId, options);
  }

  /**
   * Gives an identity. Where callers log in: yourself, or one that has a role in a context in which
   * you have one.
   */
  get(identityId: number, options?: CallOptions): Promise<Identity> {
    return calls.getIdentity(this.client, identityId, options);
  }

  /**
   * Lists identities in the order of their numbers. Where callers log in: yourself, and those that
   * have a role in a context in which you have one. A page may hold fewer than asked for and still
   * have a next.
   */
  list(options?: ListIdentitiesOptions & CallOptions): Promise<IdentityPage> {
    return calls.listIdentities(this.client, options);
  }

  /**
   * Deletes an identity with its tokens: whoever has shown one is logged out. Its number is never
   * given again. Gives true.
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

  /** Tells who makes the call, and what it may do. */
  whoami(options?: CallOptions): Promise<Who> {
    return calls.whoami(this.client, options);
  }

  /**
   * Gives a nonce to sign, with which `authenticate` logs in: `hero:{host}:{random}:{expiry}`. It
   * is good for one login within five minutes, with this public key, under the name by which the
   * server was reached. Look whether that is the one that you meant before you sign. The answer is
   * the same whether or not there is an identity with this key.
   */
  fetchNonce(pubkey: string, options?: CallOptions): Promise<string> {
    return calls.fetchNonce(this.client, pubkey, options);
  }

  /**
   * Logs in by a nonce that was signed, as an Ethereum personal message. Gives a token, which goes
   * into `Authorization: Bearer …`. On a WebSocket where callers have to log in, the connection is
   * that identity from then on. The token ends by itself; of one identity at most 50 of these last,
   * of which the first to end gives way.
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
   * Gives an identity a role in a context. Gives who may do what there now. It holds at once on
   * this server, and within half a second on others.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  grant(identityId: number, role: Role, options?: GrantOptions & CallOptions): Promise<Context> {
    return calls.grant(this.client, identityId, role, options);
  }

  /**
   * Takes a role in a context from an identity. Gives who may do what there now. It holds at once
   * on this server, and within half a second on others.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  revoke(identityId: number, role: Role, options?: RevokeOptions & CallOptions): Promise<Context> {
    return calls.revoke(this.client, identityId, role, options);
  }

  /**
   * Answers `pong`. Keeps a connection alive where WebSocket pings cannot be sent, and measures the
   * way.
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
   * Makes a token of an identity. Its `secret` is told only now: it goes into `Authorization:
   * Bearer …`. An identity may make tokens of its own, 100 at once and one a second from then on:
   * they end with that by which it has logged in, when it expires or is revoked, at the latest. The
   * operator makes those of all. There are at most 100 of one identity.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  create(identityId: number, options?: CreateTokenOptions & CallOptions): Promise<NewToken> {
    return calls.createToken(this.client, identityId, options);
  }

  /**
   * Has the connection go on with this token: a new one, before that by which it has logged in
   * ends. On a WebSocket where callers have to log in, the connection is from then on whoever the
   * token stands for, as after `authenticate`: what it waits for and follows goes on as far as that
   * one may, and ends with an error (1004) where it may not. A token that is none changes nothing.
   * Over HTTP each request has its own token, so there, and where nobody has to log in, this only
   * tells whose token it is.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  present(token: string, options?: CallOptions): Promise<Presented> {
    return calls.presentToken(this.client, token, options);
  }

  /** Lists the tokens of an identity that have not ended, the oldest first. */
  list(identityId: number, options?: CallOptions): Promise<Token[]> {
    return calls.listTokens(this.client, identityId, options);
  }

  /**
   * Revokes a token: whoever has shown it is logged out at once, also on connections that are open.
   * Gives true. An identity may revoke tokens of its own, the operator all.
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
   * Makes a context: a tenant with a database, jobs, objects and files of its own. It takes calls
   * at once, and those of other servers within a second.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  create(options?: CreateContextOptions & CallOptions): Promise<Context> {
    return calls.createContext(this.client, options);
  }

  /**
   * Changes a context. What is not given stays. Limits are the operator's to set; 0 takes one away.
   * It holds at once on this server, and within a second on others. Roles are changed by `grant`
   * and `revoke`.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  update(options?: UpdateContextOptions & CallOptions): Promise<Context> {
    return calls.updateContext(this.client, options);
  }

  /** Gives a context: who may do what in it, and what may be used there. */
  get(options?: GetContextOptions & CallOptions): Promise<Context> {
    return calls.getContext(this.client, options);
  }

  /**
   * Lists contexts in the order of their numbers: those in which the caller has a role, or all for
   * the operator.
   */
  list(options?: ListContextsOptions & CallOptions): Promise<ContextPage> {
    return calls.listContexts(this.client, options);
  }

  /**
   * Deletes a context with everything in it, for good. Its number is never given again. Gives true:
   * it takes no calls from then on, and what it holds goes in the background.
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
   * Makes a runner: it runs the jobs of its script type whose `group` is `runner{runner_id}`. A
   * local one is a pool of the context; the jobs of another one are sent as messages to its
   * address.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  create(scriptType: string, options?: CreateRunnerOptions & CallOptions): Promise<Runner> {
    return calls.createRunner(this.client, scriptType, options);
  }

  /**
   * Changes a runner: what is given takes the place of what was there.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  update(runnerId: number, options?: UpdateRunnerOptions & CallOptions): Promise<Runner> {
    return calls.updateRunner(this.client, runnerId, options);
  }

  /** Gives a runner. */
  get(runnerId: number, options?: GetRunnerOptions & CallOptions): Promise<Runner> {
    return calls.getRunner(this.client, runnerId, options);
  }

  /** Lists runners in the order of their numbers. */
  list(options?: ListRunnersOptions & CallOptions): Promise<RunnerPage> {
    return calls.listRunners(this.client, options);
  }

  /**
   * Deletes a runner. Its jobs stay in their queue, and its number is never given again. Gives
   * true.
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
   * Sends a message: it is stored and brought to the other side in the background, and its status
   * says what became of it. Jobs of a message run at the other side, and for each a message of type
   * `result` comes back.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  send(options?: SendMessageOptions & CallOptions): Promise<Message> {
    return calls.sendMessage(this.client, options);
  }

  /** Gives a message. */
  get(
    callerId: number,
    messageId: number,
    options?: GetMessageOptions & CallOptions,
  ): Promise<Message> {
    return calls.getMessage(this.client, callerId, messageId, options);
  }

  /**
   * Lists messages that came and were not fetched, or that are to go out, those that are taken
   * first first; or those of a status. A page can have fewer messages than asked for, or none, and
   * still not be the last: that one has no `next_cursor`.
   */
  list(options?: ListMessagesOptions & CallOptions): Promise<MessagePage> {
    return calls.listMessages(this.client, options);
  }

  /**
   * Notes that the owner of a message that came has it: it is not listed any more. Gives the
   * message. One that is to go out the other side acknowledges.
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
   * Deletes a message whose result nobody awaits. Gives true.
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
   * Asks who is at an address: the way there, the key of the node that answers, its clock, and how
   * long the answer took. Nothing is stored of it, and where nobody answers `error` says why.
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
   * Lists the live actors, with what each may do and how it is confined. Actors of other programs
   * that say that they live are among them. Behind them come the script types of which this server
   * was to offer actors and cannot, each with why (`unavailable`).
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
   * Lists the functions that scripts have besides those of their language, with what each takes and
   * gives, and an example.
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
   * Compiles a script without running it, and says what is wrong with it, and where, unknown
   * functions included. It is compiled in a confined process, as the scripts of jobs are. Nothing
   * is found in scripts that are not Rhai or HeroScript, or for whose type this server has no pool,
   * and where compiling takes longer than 5 s.
   */
  check(script: string, options?: CheckScriptOptions & CallOptions): Promise<ScriptCheck> {
    return calls.checkScript(this.client, script, options);
  }
}

/** Calls of `queues`: `list_queues`, `pause_queue`, `resume_queue`. */
export class QueuesCalls {
  /** Creates calls that use this client. */
  constructor(readonly client: Client) {}

  /** Lists the work queues, with how many jobs wait in each and how many actors take from it. */
  list(options?: ListQueuesOptions & CallOptions): Promise<QueueInfo[]> {
    return calls.listQueues(this.client, options);
  }

  /**
   * Has nothing taken from one queue, in any priority, until it is resumed. Gives true. Running
   * jobs go on, and new ones wait. The queue of a type is not that of its groups and instances:
   * each is paused by itself.
   *
   * The client does not repeat this call if the connection ends before the answer: see {@link
   * OutcomeUnknown}.
   */
  pause(scriptType: string, options?: PauseQueueOptions & CallOptions): Promise<boolean> {
    return calls.pauseQueue(this.client, scriptType, options);
  }

  /**
   * Has a paused queue served again, at once. Gives true, also if it was not paused; a type that
   * nobody knows is refused.
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

  /** Tells what this server is, what it serves, how its store is and which limits hold. */
  info(options?: CallOptions): Promise<ServerDetails> {
    return calls.serverInfo(this.client, options);
  }

  /**
   * Has this server take no jobs any more and end when those that run here have ended, for a
   * restart that disturbs nobody. `/readyz` says 503 from now on. What is created meanwhile waits
   * for other servers, or for this one to come back; calls are answered until the end.
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
   * Follows every change of the jobs that fit a filter, from now on or from a cursor. Without a
   * cursor the first item says where it begins.
   */
  follow(
    options?: SubscribeEventsOptions & FollowOptions,
  ): Following<EventNotice | BeganNotice | LaggedNotice | EndedNotice> {
    return calls.followEvents(this.client, options);
  }
}
