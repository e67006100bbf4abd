import { checker, type CheckOptions } from "./schema.js";
import type { CallOptions, Client, Sending } from "./client.js";
import { CallTimeout, NotStopped, ProtocolError } from "./errors.js";
import { WaitTimeout } from "./generated/errors.js";
import { defaultWait } from "./generated/limits.js";
import type {
  Flow,
  GetResultOptions,
  JobResult,
  Methods,
  RunAndWaitOptions,
  RunFlowAndWaitOptions,
  WaitFlowOptions,
  WaitJobOptions,
} from "./generated/types.js";
import { key } from "./key.js";
import { needNumbers } from "./numbers.js";

/** The result of a job, with the type of its value. */
export type TypedResult<T> = Omit<JobResult, "value"> & {
  /** What the script gave: as JSON where the engine gives that, else its output as text. */
  value: T;
};

/** What is done with what is waited for when nobody waits any more. */
export interface StopOptions {
  /** Stops it when `signal` is aborted or `callTimeout` is over. Otherwise it goes on. */
  stopOnAbort?: boolean | undefined;
}

/** How a wait goes, beside the parameters of its call. `wait_timeout` may be as long as you like, also `Infinity`. */
export type WaitOptions = CallOptions & StopOptions;

/** What is sent; how long to wait is written into it. */
interface Params {
  wait_timeout?: number;
  idempotency_key?: string | null;
  context_id?: number | undefined;
  [name: string]: unknown;
}

/** How long to wait, and how. */
interface Parts {
  seconds: number;
  options: WaitOptions;
}

/**
 * Waits for the end, by as many calls as that takes: a server that shuts down answers early, and one call waits an hour at most. `params` make
 * what is waited for if `first` is the call that does so, else they name it.
 */
const wait = async (
  client: Client,
  of: "job" | "flow",
  params: Params,
  { seconds, options }: Parts,
  first?: keyof Methods,
): Promise<unknown> => {
  const { signal, callTimeout, stopOnAbort } = options;
  needNumbers({ wait_timeout: seconds, callTimeout });
  const begun = Date.now();
  const passed = () => (Date.now() - begun) / 1000;
  let method = first;
  let given = params;
  let sent = false;
  for (;;) {
    const slice = Math.min(client.longestWait, Math.max(0, seconds - passed()));
    const sending: Sending = {
      again: !method || params.idempotency_key !== null,
      wait: slice,
      signal,
      callTimeout: callTimeout && Math.max(0, callTimeout - passed()),
      onSent: () => (sent = true),
    };
    try {
      given.wait_timeout = slice;
      return await client.call(method ?? `wait_${of}`, given, sending);
    } catch (error) {
      const leaves = signal?.aborted || error instanceof CallTimeout;
      if (leaves && stopOnAbort && sent) await stop(client, of, params, !first);
      // Less than that is no time to wait.
      if (!(error instanceof WaitTimeout) || signal?.aborted || passed() > seconds - 0.05) throw error;
      if (method) {
        // The error names what was made.
        const id = error.data?.[`${of}_id`];
        if (id === undefined) throw error;
        given = { [`${of}_id`]: id, context_id: params.context_id };
        method = undefined;
      }
      // A server that shuts down says so at once, again and again.
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
};

/** Stops what nobody waits for any more. What does so is loaded only where it is needed. */
const stop = async (client: Client, of: "job" | "flow", params: Params, named: boolean): Promise<void> => {
  const failed = await import("./stop.js").then(
    (loaded) => loaded.stop(client, of, params, named),
    (cause: unknown) => ({ jobId: undefined, cause }),
  );
  if (failed) throw new NotStopped(failed.jobId, failed);
};

/** What is sent, without what is only said to the client. */
const split = <O extends WaitOptions & { wait_timeout?: number; schema?: unknown }>(options: O | undefined) => {
  // Most have none, and taking an object apart costs more than all else here.
  if (!options) return { params: {} as Omit<O, keyof WaitOptions>, seconds: defaultWait, options: {} };
  const { signal, callTimeout, stopOnAbort, wait_timeout = defaultWait, schema: _, ...params } = options;
  return { params, seconds: wait_timeout, options: { signal, callTimeout, stopOnAbort } };
};

/** What makes something, with a key if the caller has not said which. It takes `params` as they are: copying costs more than all else here. */
const withKey = (params: object, needed: object): Params => {
  const whole = Object.assign(params, needed) as Params;
  if (whole.idempotency_key === undefined) whole.idempotency_key = key();
  return whole;
};

/** Types a result, which nobody else has. */
const typed = async <T>(result: () => Promise<unknown>, schema: CheckOptions<T>["schema"]): Promise<TypedResult<T>> => {
  const check = schema && (await checker(schema));
  const job = (await result()) as JobResult;
  if (typeof job !== "object" || !job) throw new ProtocolError("the result of a job is no object");
  if (!("value" in job)) job.value = job.output;
  if (check) job.value = await check(job.value, `the value of job ${job.job_id}`);
  return job as TypedResult<T>;
};

/** Runs a script and gives the result of its job: its value, typed and checked if you say how, and what is known of the run. */
export const runJob = <T = unknown>(
  client: Client,
  script: string,
  options?: RunAndWaitOptions & WaitOptions & CheckOptions<T>,
): Promise<TypedResult<T>> => {
  const { params, ...parts } = split(options);
  return typed(() => wait(client, "job", withKey(params, { script }), parts, "run_and_wait"), options?.schema);
};

/** Runs a script and gives its value. */
export const run = async <T = unknown>(
  client: Client,
  script: string,
  options?: RunAndWaitOptions & WaitOptions & CheckOptions<T>,
): Promise<T> => (await runJob<T>(client, script, options)).value;

/** Waits for the end of a job and gives its result. A job that ends badly is an error. */
export const waitJob = <T = unknown>(
  client: Client,
  jobId: string,
  options: WaitJobOptions & WaitOptions & CheckOptions<T> = {},
): Promise<TypedResult<T>> => {
  const { params, ...parts } = split(options);
  return typed(() => wait(client, "job", { job_id: jobId, context_id: params.context_id }, parts), options.schema);
};

/** The result of a job that has ended. */
export const getResult = <T = unknown>(
  client: Client,
  jobId: string,
  options: GetResultOptions & CallOptions & CheckOptions<T> = {},
): Promise<TypedResult<T>> => {
  const { schema, signal, callTimeout, ...rest } = options;
  return typed(
    () => client.call("get_result", { ...rest, job_id: jobId }, { again: true, signal, callTimeout }),
    schema,
  );
};

/** Makes a flow, starts it, waits for its end and gives all that is known of it. */
export const runFlow = (
  client: Client,
  jobs: Methods["run_flow_and_wait"]["params"]["jobs"],
  options?: RunFlowAndWaitOptions & WaitOptions,
): Promise<Flow> => {
  const { params, ...parts } = split(options);
  return wait(client, "flow", withKey(params, { jobs }), parts, "run_flow_and_wait") as Promise<Flow>;
};

/** Waits for the end of a flow and gives all that is known of it. One that ends badly is an error. */
export const waitFlow = (client: Client, flowId: number, options?: WaitFlowOptions & WaitOptions): Promise<Flow> => {
  const { params, ...parts } = split(options);
  return wait(client, "flow", { flow_id: flowId, context_id: params.context_id }, parts) as Promise<Flow>;
};
