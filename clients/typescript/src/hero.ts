import { addressOf, withToken } from "./address.js";
import { checked } from "./checked.js";
import type { CallOptions, Client, Status } from "./client.js";
import type { CheckOptions } from "./schema.js";
import { type ClientOptions, createClient } from "./create.js";
import {
  ActorsCalls,
  CollectionsCalls,
  ContextsCalls,
  EventsCalls,
  FlowsCalls,
  FunctionsCalls,
  IdentitiesCalls,
  JobsCalls,
  MessagesCalls,
  NodesCalls,
  ObjectsCalls,
  PlainCalls,
  QueuesCalls,
  RunnersCalls,
  SchedulesCalls,
  ScriptsCalls,
  ServerCalls,
  TokensCalls,
} from "./generated/groups.js";
import type {
  CreateJobsOptions,
  FindObjectsOptions,
  FlowJobSpec,
  GetObjectOptions,
  GetResultOptions,
  JobSpecInput,
  RunAndWaitOptions,
  RunFlowAndWaitOptions,
  WaitFlowOptions,
  WaitJobOptions,
} from "./generated/types.js";
import { getResult, run, runFlow, runJob, waitFlow, waitJob, type WaitOptions } from "./run.js";
import { createJobs, findObjects, getObject } from "./several.js";

/** Jobs: scripts that run once. */
export class Jobs extends JobsCalls {
  /**
   * Runs a script and returns the result of its job: its value, optionally typed and checked, and details of the run.
   */
  run<T = unknown>(script: string, options?: RunAndWaitOptions & WaitOptions & CheckOptions<T>) {
    return runJob<T>(this.client, script, options);
  }

  /** Waits for the end of a job and returns its result. Throws if the job ends in error. */
  wait<T = unknown>(jobId: string, options?: WaitJobOptions & WaitOptions & CheckOptions<T>) {
    return waitJob<T>(this.client, jobId, options);
  }

  /** Returns the result of a job that has ended. */
  result<T = unknown>(jobId: string, options?: GetResultOptions & CallOptions & CheckOptions<T>) {
    return getResult<T>(this.client, jobId, options);
  }

  /** Creates several jobs, all or none. See {@link createJobs}. */
  createMany(jobs: JobSpecInput[], options?: CreateJobsOptions & CallOptions) {
    return createJobs(this.client, jobs, options);
  }
}

/** Flows: groups of jobs that wait for each other. */
export class Flows extends FlowsCalls {
  /** Creates and starts a flow, waits for its end and returns all details of it. */
  run(jobs: Record<string, FlowJobSpec>, options?: RunFlowAndWaitOptions & WaitOptions) {
    return runFlow(this.client, jobs, options);
  }

  /** Waits for the end of a flow and returns all details of it. Throws if the flow ends in error. */
  wait(flowId: number, options?: WaitFlowOptions & WaitOptions) {
    return waitFlow(this.client, flowId, options);
  }
}

/** Objects that scripts and callers have stored. */
export class Objects extends ObjectsCalls {
  /** Returns an object of a collection, optionally typed and checked. */
  get<T = unknown>(collection: string, id: string, options?: GetObjectOptions & CallOptions & CheckOptions<T>) {
    return getObject<T>(this.client, collection, id, options);
  }

  /** Returns some objects of a collection, in order; `next_cursor` is the cursor of the next page. */
  find<T = unknown>(collection: string, options?: FindObjectsOptions & CallOptions & CheckOptions<T>) {
    return findObjects<T>(this.client, collection, options);
  }
}

/** All calls, over one client. `connect` creates one. */
export class Hero extends PlainCalls {
  readonly jobs: Jobs;
  readonly flows: Flows;
  readonly schedules: SchedulesCalls;
  readonly objects: Objects;
  readonly collections: CollectionsCalls;
  readonly contexts: ContextsCalls;
  readonly messages: MessagesCalls;
  readonly runners: RunnersCalls;
  readonly nodes: NodesCalls;
  readonly identities: IdentitiesCalls;
  readonly tokens: TokensCalls;
  readonly actors: ActorsCalls;
  readonly queues: QueuesCalls;
  readonly functions: FunctionsCalls;
  readonly scripts: ScriptsCalls;
  readonly events: EventsCalls;
  readonly server: ServerCalls;

  constructor(client: Client) {
    super(client);
    this.jobs = new Jobs(client);
    this.flows = new Flows(client);
    this.schedules = new SchedulesCalls(client);
    this.objects = new Objects(client);
    this.collections = new CollectionsCalls(client);
    this.contexts = new ContextsCalls(client);
    this.messages = new MessagesCalls(client);
    this.runners = new RunnersCalls(client);
    this.nodes = new NodesCalls(client);
    this.identities = new IdentitiesCalls(client);
    this.tokens = new TokensCalls(client);
    this.actors = new ActorsCalls(client);
    this.queues = new QueuesCalls(client);
    this.functions = new FunctionsCalls(client);
    this.scripts = new ScriptsCalls(client);
    this.events = new EventsCalls(client);
    this.server = new ServerCalls(client);
  }

  /** Runs a script and returns its value. `jobs.run` also returns details of the run. */
  run<T = unknown>(script: string, options?: RunAndWaitOptions & WaitOptions & CheckOptions<T>): Promise<T> {
    return run<T>(this.client, script, options);
  }

  /** The status of the connection to the server. */
  get status(): Status {
    return this.client.status;
  }

  /** Calls `listener` for each change of `status`. Returns a function that ends this. */
  onStatus(listener: (status: Status) => void): () => void {
    return this.client.onStatus(listener);
  }

  /** Ends the connection and all pending calls. */
  close(): void {
    this.client.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/**
 * Connects to a server: `const hero = connect("ws://127.0.0.1:8700", { token })`. It connects with the first call. The
 * defaults are `HERO_SERVER` and `HERO_TOKEN` of the environment, otherwise `ws://127.0.0.1:8700` and no token.
 *
 * @throws TypeError if `url` is not an address.
 */
export const connect = (url?: string, options?: ClientOptions): Hero =>
  new Hero(checked(createClient(addressOf(url), withToken(options))));
