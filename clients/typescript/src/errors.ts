import type { ErrorKind, FailedJob, JobError } from "./generated/types.js";

/** Whatever this client throws, but for the reason of a signal that was aborted. `name` tells one from another. */
export abstract class HeroError<N extends string = string> extends Error {
  /** Tells the errors apart, also where `instanceof` cannot. */
  override readonly name: N;

  constructor(name: N, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = name;
  }
}

/** The server answered a call with an error. The classes of single codes are derived from this one. */
export class RpcError<N extends string = string, D = unknown> extends HeroError<N> {
  constructor(
    name: N,
    message: string,
    /** The code of JSON-RPC. */
    readonly code: number,
    /** What the server says of it to programs; any member may be missing. */
    readonly data: D | undefined,
    /** The call that was answered so. */
    readonly method: string,
  ) {
    super(name, message);
  }

  /** The job that it is about, if the server names one. */
  get jobId(): string | undefined {
    return (this.data as { job_id?: string } | undefined)?.job_id;
  }

  /** The flow that it is about, if the server names one. */
  get flowId(): number | undefined {
    return (this.data as { flow_id?: number } | undefined)?.flow_id;
  }
}

/** The same call may succeed later. */
export class RetryLater<
  N extends string = string,
  D extends { retry_after_ms?: number } = { retry_after_ms?: number },
> extends RpcError<N, D> {
  /** After how many seconds to try again: 60 at most, whatever the server says, and 1 if it says nothing of use. */
  get retryAfter(): number {
    const seconds = (this.data?.retry_after_ms ?? 1000) / 1000;
    return seconds >= 0 ? Math.min(60, seconds) : 1;
  }
}

/** A job, or a flow, ended badly. `error` has everything; the members beside it are the same, nearer. */
export class BadEnd<
  N extends string = string,
  D extends { error?: JobError; attempt?: number; failed?: FailedJob[] } = {
    error?: JobError;
    attempt?: number;
    failed?: FailedJob[];
  },
> extends RpcError<N, D> {
  /** The jobs of a flow that ended badly by themselves; none if this is about a job. */
  get failed(): readonly FailedJob[] {
    return this.data?.failed ?? [];
  }

  /** How and where the job went wrong, or the first one of a flow. */
  get error(): JobError | undefined {
    return this.data?.error ?? this.failed[0]?.error;
  }

  /** Why it ended. */
  get kind(): ErrorKind | undefined {
    return this.error?.kind;
  }

  /** The line of the script, from 1. */
  get line(): number | undefined {
    return this.error?.line;
  }

  /** The column of the script, from 1. */
  get column(): number | undefined {
    return this.error?.column;
  }

  /** The script functions that were running, innermost first. (`stack` is that of this error in JavaScript.) */
  get scriptStack(): readonly string[] {
    return this.error?.stack ?? [];
  }

  /** What the script threw, unless that was a text. */
  get thrown(): unknown {
    return this.error?.data;
  }

  /** The attempt that ended so. */
  get attempt(): number | undefined {
    return this.data?.attempt;
  }
}

/** Nobody could be reached, or who answered is no hero server that lets this client in. Calls that had not been sent were not carried out. */
export class ConnectionFailed extends HeroError<"ConnectionFailed"> {
  constructor(
    message: string,
    /** Where it was tried. */
    readonly url: string,
    /** How often it was tried in a row. */
    readonly attempts: number,
    options?: ErrorOptions,
  ) {
    super("ConnectionFailed", message, options);
  }
}

/** The server does not take the token of this client, or the login. Another token is needed. */
export class LoginRefused extends HeroError<"LoginRefused"> {
  constructor(message: string, options?: ErrorOptions) {
    super("LoginRefused", message, options);
  }
}

/** A call that changes something was sent, and the connection ended before its answer: it was carried out, or not. It was not sent again. */
export class OutcomeUnknown extends HeroError<"OutcomeUnknown"> {
  readonly #params: Readonly<Record<string, unknown>>;

  constructor(
    message: string,
    /** The call. */
    readonly method: string,
    params: Readonly<Record<string, unknown>>,
    options?: ErrorOptions,
  ) {
    super("OutcomeUnknown", message, options);
    this.#params = params;
  }

  /** What was sent with it. It may have secrets: whoever prints the error does not print this. */
  get params(): Readonly<Record<string, unknown>> {
    return this.#params;
  }
}

/** No answer came within the time that the caller, or the wait of the call, allows. */
export class CallTimeout extends HeroError<"CallTimeout"> {
  constructor(
    message: string,
    /** The call. */
    readonly method: string,
    /** Whether it may be carried out although nobody waits for its answer. */
    readonly sent: boolean,
  ) {
    super("CallTimeout", message);
  }
}

/** `close()` was called. */
export class ClientClosed extends HeroError<"ClientClosed"> {
  constructor(message = "this client was closed") {
    super("ClientClosed", message);
  }
}

/** What arrived is no JSON-RPC, or more than this client takes. */
export class ProtocolError extends HeroError<"ProtocolError"> {
  constructor(message: string, options?: ErrorOptions) {
    super("ProtocolError", message, options);
  }
}

/** More calls are under way than this client holds (`maxCalls`). Nothing was sent. */
export class TooManyCalls extends HeroError<"TooManyCalls"> {
  constructor(limit: number) {
    super("TooManyCalls", `${limit} calls are under way, as many as maxCalls`);
  }
}

/** A result is not what the schema of the caller says. The job has finished all the same. */
export class SchemaMismatch extends HeroError<"SchemaMismatch"> {
  constructor(
    message: string,
    /** What the schema found. */
    readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[],
    /** What was checked. */
    readonly value: unknown,
  ) {
    super("SchemaMismatch", message);
  }
}

/** A wait was aborted and its job was to be stopped, which failed: it may still run. `cause` says why. */
export class NotStopped extends HeroError<"NotStopped"> {
  constructor(
    /** The job, if its id is known. */
    readonly jobId: string | undefined,
    options: ErrorOptions,
  ) {
    super("NotStopped", `job ${jobId ?? "of unknown id"} was to be stopped and may still run`, options);
  }
}

/** What this client throws by itself; `name` tells them apart. */
export type ClientError =
  | ConnectionFailed
  | LoginRefused
  | OutcomeUnknown
  | CallTimeout
  | ClientClosed
  | ProtocolError
  | TooManyCalls
  | SchemaMismatch
  | NotStopped;
