import { checked, type CheckOptions } from "./schema.js";
import type { CallOptions, Client, Sending } from "./client.js";
import { CallTimeout, NotStopped, RpcError } from "./errors.js";
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
type Params = object & { wait_timeout?: number };

interface Wait {
  /** The call that starts it, or waits already. */
  first: keyof Methods;
  params: Params;
  /** The call that waits on. */
  then: keyof Methods;
  /** What that has to be given, of the error that says that the wait ran out, or from the start. */
  named: (error: RpcError) => Params | undefined;
  seconds: number;
  options: WaitOptions;
  /** Has it stop, although it may not be known yet. Gives the id of the job. */
  stop: () => Promise<unknown>;
  /** Whether the first call may not be sent again. */
  once?: boolean;
}

/** Waits for the end, by as many calls as that takes: a server that shuts down answers early, and one call waits an hour at most. */
const wait = async (
  client: Client,
  { first, params, then, named, seconds, options, stop, once }: Wait,
): Promise<unknown> => {
  const { signal, callTimeout, stopOnAbort } = options;
  const begun = Date.now();
  const passed = () => (Date.now() - begun) / 1000;
  let method = first;
  let given = params;
  let sent = false;
  const onSent = () => (sent = true);
  for (;;) {
    const slice = Math.min(client.longestWait, Math.max(0, seconds - passed()));
    const sending: Sending = { again: !once || method !== first, wait: slice };
    if (stopOnAbort) sending.onSent = onSent;
    if (signal) sending.signal = signal;
    if (callTimeout !== undefined) sending.callTimeout = Math.max(0, callTimeout - passed());
    try {
      given.wait_timeout = slice;
      return await client.call(method, given as never, sending);
    } catch (error) {
      const leaves = signal?.aborted || error instanceof CallTimeout;
      if (leaves && stopOnAbort && sent) await stop();
      const next = error instanceof WaitTimeout ? named(error) : undefined;
      // Less than that is no time to wait.
      if (!next || signal?.aborted || passed() > seconds - 0.05) throw error;
      method = then;
      given = next;
      // A server that shuts down says so at once, again and again.
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
};

/** How long a stop may take. */
const STOPPING: Sending = { again: true, callTimeout: 10 };

/** Stops something and says so if that fails. One that has ended already needs no stop. */
const stopping = async (
  client: Client,
  method: "stop_job" | "stop_flow",
  find: () => Promise<object>,
): Promise<void> => {
  let named: { job_id?: string } | undefined;
  try {
    named = await find();
    await client.call(method, named as never, STOPPING);
  } catch (cause) {
    if (cause instanceof RpcError && (cause.data as { status?: unknown } | undefined)?.status !== undefined) return;
    throw new NotStopped(named?.job_id, { cause });
  }
};

const unwaited = <P extends Params>(params: P): P => ({ ...params, wait_timeout: undefined });

/** What was made with a key, which the same call gives once more; or the id that the caller gave it. */
const made = <R>(params: { idempotency_key?: string | null }, again: () => Promise<R>, id?: R): Promise<R> => {
  if (params.idempotency_key !== null) return again();
  return id === undefined ? Promise.reject(new Error("without a key its id is not known")) : Promise.resolve(id);
};

/** What is sent, without what is only said to the client. */
const split = <O extends WaitOptions & { wait_timeout?: number; schema?: unknown }>(options: O | undefined) => {
  // Most have none, and taking an object apart costs more than all else here.
  if (!options) return { params: {} as Omit<O, keyof WaitOptions>, seconds: defaultWait, options: {} };
  const { signal, callTimeout, stopOnAbort, wait_timeout = defaultWait, schema: _, ...params } = options;
  return { params, seconds: wait_timeout, options: { signal, callTimeout, stopOnAbort } };
};

/** Gives what makes something a key, if the caller has not said which. */
const withKey = <P extends { idempotency_key?: string | null | undefined }>(params: P): P => {
  if (params.idempotency_key === undefined) params.idempotency_key = key();
  return params;
};

const place = ({ context_id }: { context_id?: number }): object => (context_id === undefined ? {} : { context_id });

/** Types a result, which nobody else has. */
const typed = async <T>(result: Promise<unknown>, schema: CheckOptions<T>["schema"]): Promise<TypedResult<T>> => {
  const job = (await result) as JobResult;
  if (!("value" in job)) job.value = job.output;
  if (schema) job.value = await checked(schema, job.value, `the value of job ${job.job_id}`);
  return job as TypedResult<T>;
};

/** Runs a script and gives the result of its job: its value, typed and checked if you say how, and what is known of the run. */
export const runJob = <T = unknown>(
  client: Client,
  script: string,
  options?: RunAndWaitOptions & WaitOptions & CheckOptions<T>,
): Promise<TypedResult<T>> => {
  const { params: given, seconds, options: own } = split(options);
  const params = withKey(Object.assign(given as RunAndWaitOptions, { script }));
  const result = wait(client, {
    seconds,
    options: own,
    first: "run_and_wait",
    params,
    then: "wait_job",
    named: (error) => (error.jobId ? { job_id: error.jobId, ...place(params) } : undefined),
    // The same key names the same job, whether the server has made it yet or not.
    stop: () =>
      stopping(client, "stop_job", async () => ({
        job_id: await made(params, () => client.call("create_job", unwaited(params), STOPPING), params.job_id),
        ...place(params),
      })),
    once: params.idempotency_key === null,
  });
  return typed(result, options?.schema);
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
  const { schema } = options;
  const parts = split(options);
  const named = { job_id: jobId, ...place(parts.params) };
  const stop = () => stopping(client, "stop_job", () => Promise.resolve(named));
  const result = wait(client, {
    ...parts,
    first: "wait_job",
    params: named,
    then: "wait_job",
    named: () => named,
    stop,
  });
  return typed(result, schema);
};

/** The result of a job that has ended. */
export const getResult = <T = unknown>(
  client: Client,
  jobId: string,
  options: GetResultOptions & CallOptions & CheckOptions<T> = {},
): Promise<TypedResult<T>> => {
  const { schema, signal, callTimeout, ...rest } = options;
  return typed(client.call("get_result", { ...rest, job_id: jobId }, { again: true, signal, callTimeout }), schema);
};

/** Makes a flow, starts it, waits for its end and gives all that is known of it. */
export const runFlow = (
  client: Client,
  jobs: Methods["run_flow_and_wait"]["params"]["jobs"],
  options?: RunFlowAndWaitOptions & WaitOptions,
): Promise<Flow> => {
  const parts = split(options);
  const params = withKey({ ...parts.params, jobs });
  const where = place(params);
  return wait(client, {
    ...parts,
    first: "run_flow_and_wait",
    params,
    then: "wait_flow",
    named: (error) => (error.flowId === undefined ? undefined : { flow_id: error.flowId, ...where }),
    stop: () =>
      stopping(client, "stop_flow", async () => ({
        flow_id: await made(params, () => client.call("create_flow", unwaited(params), STOPPING)),
        ...where,
      })),
    once: params.idempotency_key === null,
  }) as Promise<Flow>;
};

/** Waits for the end of a flow and gives all that is known of it. One that ends badly is an error. */
export const waitFlow = (client: Client, flowId: number, options?: WaitFlowOptions & WaitOptions): Promise<Flow> => {
  const parts = split(options);
  const named = { flow_id: flowId, ...place(parts.params) };
  const stop = () => stopping(client, "stop_flow", () => Promise.resolve(named));
  return wait(client, {
    ...parts,
    first: "wait_flow",
    params: named,
    then: "wait_flow",
    named: () => named,
    stop,
  }) as Promise<Flow>;
};
