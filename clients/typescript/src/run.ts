import { checker, type CheckOptions } from "./schema.js";
import type { CallOptions, Client, Sending } from "./client.js";
import { CallTimeout, NotStopped } from "./errors.js";
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
import { needNumbers, pause } from "./numbers.js";
import { rare } from "./rare.js";

/** The result of a job, with the type of its value. */
export type TypedResult<T> = Omit<JobResult, "value"> & {
  /** The value of the script as JSON, or its output as text if its engine returns no values. */
  value: T;
};

/** Options for a wait that is aborted. */
export interface StopOptions {
  /** Stops the job or flow when `signal` is aborted or `callTimeout` passes. Otherwise it goes on. */
  stopOnAbort?: boolean | undefined;
}

/** Options of a wait, besides the parameters of its call. `wait_timeout` has no maximum and may be `Infinity`. */
export type WaitOptions = CallOptions & StopOptions;

/** The parameters to send. `wait` sets their `wait_timeout`. */
interface Params {
  wait_timeout?: number;
  idempotency_key?: string | null;
  context_id?: number | undefined;
  [name: string]: unknown;
}

/** The parameters of `wait`. */
interface Parts extends WaitOptions {
  seconds: number;
}

/**
 * Waits for the end of a job or flow, with several calls if needed: a server that shuts down answers early, and one
 * call waits at most an hour. `params` create the job or flow if `first` is the call for that; otherwise they name it.
 */
const wait = async (
  client: Client,
  of: "job" | "flow",
  params: Params,
  { seconds, signal, callTimeout, stopOnAbort }: Parts,
  first?: keyof Methods,
): Promise<unknown> => {
  needNumbers({ wait_timeout: seconds, callTimeout });
  const begun = performance.now();
  const passed = () => (performance.now() - begun) / 1000;
  let method = first;
  let given = params;
  let sent = false;
  for (;;) {
    const slice = Math.min(client.longestWait, Math.max(0, seconds - passed()));
    const sending: Sending = {
      again: method ? params.idempotency_key !== null && "keyed" : !first || "begun",
      wait: slice,
      sign: `${of}_id`,
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
      // A shorter rest is not worth another wait.
      if (!(error instanceof WaitTimeout) || signal?.aborted || passed() > seconds - 0.05) throw error;
      if (method) {
        // The error has the id of the created job or flow.
        const id = error.data?.[`${of}_id`];
        if (id === undefined) throw error;
        given = { [`${of}_id`]: id, context_id: params.context_id };
        method = undefined;
      }
      // A server that shuts down answers each call at once.
      await pause(0.1);
    }
  }
};

/** Stops a job or flow after its wait was aborted. The code for that is loaded on demand. */
const stop = async (client: Client, of: "job" | "flow", params: Params, named: boolean): Promise<void> => {
  const failed = await rare().then(
    (loaded) => loaded.stop(client, of, params, named),
    (cause: unknown): { jobId?: string; cause: unknown } => ({ cause }),
  );
  if (failed) throw new NotStopped(failed.jobId, failed);
};

/** Separates the parameters to send from the options of the client. */
const split = <O extends WaitOptions & { wait_timeout?: number; schema?: unknown }>(options: O | undefined) => {
  // Most calls have no options, and taking an object apart costs more than everything else here.
  if (!options) return { params: {} as Omit<O, keyof WaitOptions>, seconds: defaultWait };
  const { signal, callTimeout, stopOnAbort, wait_timeout = defaultWait, schema: _, ...params } = options;
  return { params, seconds: wait_timeout, signal, callTimeout, stopOnAbort };
};

/**
 * Adds a key to the parameters of a create if the caller gave none. It changes `params`, because copying is expensive.
 */
const withKey = (params: Params, needed: object): Params => {
  if (params.idempotency_key === undefined) params.idempotency_key = key();
  return Object.assign(params, needed);
};

/** Types a result in place: nobody else uses it. */
const typed = async <T>(result: () => Promise<unknown>, schema: CheckOptions<T>["schema"]): Promise<TypedResult<T>> => {
  const check = schema && (await checker(schema));
  const job = (await result()) as JobResult;
  if (!("value" in job)) job.value = job.output;
  if (check) job.value = await check(job.value, `the value of job ${job.job_id}`);
  return job as TypedResult<T>;
};

/** Runs a script and returns the result of its job: its value, optionally typed and checked, and details of the run. */
export const runJob = <T = unknown>(
  client: Client,
  script: string,
  options?: RunAndWaitOptions & WaitOptions & CheckOptions<T>,
): Promise<TypedResult<T>> => {
  const { params, ...parts } = split(options);
  return typed(() => wait(client, "job", withKey(params, { script }), parts, "run_and_wait"), options?.schema);
};

/** Runs a script and returns its value. */
export const run = async <T = unknown>(
  client: Client,
  script: string,
  options?: RunAndWaitOptions & WaitOptions & CheckOptions<T>,
): Promise<T> => (await runJob<T>(client, script, options)).value;

/** Waits for the end of a job and returns its result. Throws if the job ends in error. */
export const waitJob = <T = unknown>(
  client: Client,
  jobId: string,
  options: WaitJobOptions & WaitOptions & CheckOptions<T> = {},
): Promise<TypedResult<T>> => {
  const { params, ...parts } = split(options);
  return typed(() => wait(client, "job", { job_id: jobId, context_id: params.context_id }, parts), options.schema);
};

/** Returns the result of a job that has ended. */
export const getResult = <T = unknown>(
  client: Client,
  jobId: string,
  options: GetResultOptions & CallOptions & CheckOptions<T> = {},
): Promise<TypedResult<T>> => {
  const { schema, signal, callTimeout, ...rest } = options;
  return typed(
    () => client.call("get_result", { ...rest, job_id: jobId }, { again: true, sign: "job_id", signal, callTimeout }),
    schema,
  );
};

/** Creates and starts a flow, waits for its end and returns all details of it. */
export const runFlow = (
  client: Client,
  jobs: Methods["run_flow_and_wait"]["params"]["jobs"],
  options?: RunFlowAndWaitOptions & WaitOptions,
): Promise<Flow> => {
  const { params, ...parts } = split(options);
  return wait(client, "flow", withKey(params, { jobs }), parts, "run_flow_and_wait") as Promise<Flow>;
};

/** Waits for the end of a flow and returns all details of it. Throws if the flow ends in error. */
export const waitFlow = (client: Client, flowId: number, options?: WaitFlowOptions & WaitOptions): Promise<Flow> => {
  const { params, ...parts } = split(options);
  return wait(client, "flow", { flow_id: flowId, context_id: params.context_id }, parts) as Promise<Flow>;
};
