import { type Check, checker, type CheckOptions, type Schema } from "./schema.js";
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

/** What callers may give to `wait`. */
interface Given extends WaitOptions {
  wait_timeout?: number;
  schema?: Schema<unknown> | undefined;
}

/**
 * Waits for the end of a job or flow, with several calls if needed: a server that shuts down answers early, and one
 * call waits at most an hour. `params` create the job or flow if `first` is the call for that; otherwise they name it.
 */
const wait = async (
  client: Client,
  of: "job" | "flow",
  params: Params,
  options: Given | null | undefined,
  first?: keyof Methods,
): Promise<never> => {
  const { wait_timeout: seconds = defaultWait, signal, callTimeout, stopOnAbort, schema } = options ?? {};
  needNumbers({ wait_timeout: seconds, callTimeout });
  const check = schema && (await checker(schema));
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
    let result;
    try {
      given.wait_timeout = slice;
      result = await client.call(method ?? `wait_${of}`, given, sending);
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
      continue;
    }
    return (of === "job" ? typed(result as JobResult, check) : result) as never;
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

/**
 * The parameters of a create: `needed`, and those among the options of the caller, without the options of the client.
 * It adds a key if the caller gave none.
 */
const creating = (needed: object, options?: Given): Params => {
  // Most calls have no options, and taking an object apart costs more than everything else here.
  if (!options) return { idempotency_key: key(), ...needed };
  const { signal, callTimeout, stopOnAbort, wait_timeout, schema, ...params } = options as Given & Params;
  if (params.idempotency_key === undefined) params.idempotency_key = key();
  return Object.assign(params, needed);
};

/** Types a result in place: nobody else uses it. Only a check takes time. */
const typed = (job: JobResult, check: Check<unknown> | undefined): unknown => {
  if (!("value" in job)) job.value = job.output;
  return check ? checked(job, check) : job;
};

const checked = async (job: JobResult, check: Check<unknown>): Promise<unknown> => {
  job.value = await check(job.value, `the value of job ${job.job_id}`);
  return job;
};

/** Runs a script and returns the result of its job: its value, optionally typed and checked, and details of the run. */
export const runJob = <T = unknown>(
  client: Client,
  script: string,
  options?: RunAndWaitOptions & WaitOptions & CheckOptions<T>,
): Promise<TypedResult<T>> => wait(client, "job", creating({ script }, options), options, "run_and_wait");

const valueOf = (job: TypedResult<unknown>): never => job.value as never;

/** Runs a script and returns its value. */
export const run = <T = unknown>(
  client: Client,
  script: string,
  options?: RunAndWaitOptions & WaitOptions & CheckOptions<T>,
): Promise<T> => runJob<T>(client, script, options).then(valueOf);

/** Waits for the end of a job and returns its result. Throws if the job ends in error. */
export const waitJob = <T = unknown>(
  client: Client,
  jobId: string,
  options?: WaitJobOptions & WaitOptions & CheckOptions<T>,
): Promise<TypedResult<T>> => wait(client, "job", { job_id: jobId, context_id: options?.context_id }, options);

/** Returns the result of a job that has ended. */
export const getResult = async <T = unknown>(
  client: Client,
  jobId: string,
  options: GetResultOptions & CallOptions & CheckOptions<T> = {},
): Promise<TypedResult<T>> => {
  const { schema, signal, callTimeout, ...rest } = options;
  const check = schema && (await checker(schema));
  const sending: Sending = { again: true, sign: "job_id", signal, callTimeout };
  return typed(await client.call("get_result", { ...rest, job_id: jobId }, sending), check) as TypedResult<T>;
};

/** Creates and starts a flow, waits for its end and returns all details of it. */
export const runFlow = (
  client: Client,
  jobs: Methods["run_flow_and_wait"]["params"]["jobs"],
  options?: RunFlowAndWaitOptions & WaitOptions,
): Promise<Flow> => wait(client, "flow", creating({ jobs }, options), options, "run_flow_and_wait");

/** Waits for the end of a flow and returns all details of it. Throws if the flow ends in error. */
export const waitFlow = (client: Client, flowId: number, options?: WaitFlowOptions & WaitOptions): Promise<Flow> =>
  wait(client, "flow", { flow_id: flowId, context_id: options?.context_id }, options);
