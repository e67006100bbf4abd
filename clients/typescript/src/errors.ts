import type { ErrorKind, FailedJob, JobError } from "./generated/types.js";

/**
 * The base of all errors of this client, except the reasons of aborted signals. `name` distinguishes them. In a
 * `message`, characters that control a terminal are escaped, as `%1B`; tabs and line ends stay.
 */
export abstract class HeroError<N extends string = string> extends Error {
  /** Distinguishes the errors, also where `instanceof` cannot. */
  override readonly name: N;

  constructor(name: N, message: string, options?: ErrorOptions) {
    // C0 and C1, line separators, and directions of writing.
    super(message.replace(/(?![\t\n])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]/gu, encodeURIComponent), options);
    this.name = name;
  }
}

/** The server answered a call with an error. The classes of the codes extend this one. */
export class RpcError<N extends string = string, D = unknown> extends HeroError<N> {
  constructor(
    name: N,
    message: string,
    /** The code of JSON-RPC. */
    readonly code: number,
    /** The data of the error, for programs; any member may be missing. */
    readonly data: D | undefined,
    /** The method that was called. */
    readonly method: string,
  ) {
    super(name, message);
  }

  /** The job of the error, if the server names one. */
  get jobId(): string | undefined {
    return (this.data as { job_id?: string } | undefined)?.job_id;
  }

  /** The flow of the error, if the server names one. */
  get flowId(): number | undefined {
    return (this.data as { flow_id?: number } | undefined)?.flow_id;
  }
}

/** The same call may succeed later. */
export class RetryLater<
  N extends string = string,
  D extends { retry_after_ms?: number } = { retry_after_ms?: number },
> extends RpcError<N, D> {
  /** Seconds to wait before the next attempt: at most 60, whatever the server says, and 1 if it says nothing usable. */
  get retryAfter(): number {
    const ms = this.data?.retry_after_ms ?? 1000;
    return ms >= 0 ? Math.min(60, ms / 1000) : 1;
  }
}

/** A job or a flow ended in error. `error` has all details; the other members are shortcuts. */
export class BadEnd<
  N extends string = string,
  D extends { error?: JobError; attempt?: number; failed?: FailedJob[] } = {
    error?: JobError;
    attempt?: number;
    failed?: FailedJob[];
  },
> extends RpcError<N, D> {
  /** The jobs of a flow that ended in error by themselves; empty for a job. */
  get failed(): readonly FailedJob[] {
    return this.data?.failed ?? [];
  }

  /** The error of the job, or of the first failed job of a flow. */
  get error(): JobError | undefined {
    return this.data?.error ?? this.failed[0]?.error;
  }

  /** The kind of the error. */
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

  /** The script functions that were running, innermost first. (`stack` is the stack of this error in JavaScript.) */
  get scriptStack(): readonly string[] {
    return this.error?.stack ?? [];
  }

  /** The value that the script threw, unless it was a text. */
  get thrown(): unknown {
    return this.error?.data;
  }

  /** The number of the failed attempt. */
  get attempt(): number | undefined {
    return this.data?.attempt;
  }
}

/** The server could not be reached, or refused this client. Calls that had not been sent were not carried out. */
export class ConnectionFailed extends HeroError<"ConnectionFailed"> {
  constructor(
    message: string,
    /** The address that was tried. */
    readonly url: string,
    /** The number of attempts in a row. */
    readonly attempts: number,
    options?: ErrorOptions,
  ) {
    super("ConnectionFailed", message, options);
  }
}

/** The server refused the token or the login of this client. Another token is needed. */
export class LoginRefused extends HeroError<"LoginRefused"> {
  constructor(message: string, options?: ErrorOptions) {
    super("LoginRefused", message, options);
  }
}

/** A call: the method and its parameters. */
interface Asking {
  readonly method: string;
  readonly params: object;
}

/** A call without an answer: `OutcomeUnknown` and `CallTimeout`. */
export abstract class Unanswered<N extends string = string> extends HeroError<N> {
  readonly #params: object;
  /** The method that was called. */
  readonly method: string;

  constructor(name: N, message: string, { method, params }: Asking, options?: ErrorOptions) {
    super(name, message, options);
    this.method = method;
    this.#params = params;
  }

  /**
   * The parameters of the call, with the key of a create. They may contain secrets, so printing the error does not print
   * them.
   */
  get params(): Readonly<Record<string, unknown>> {
    return this.#params as Record<string, unknown>;
  }
}

/**
 * A call that changes something was sent and got no answer: the connection ended, or the client gave up trying to
 * reconnect or to log in, or the call was refused when it was repeated, or what came is no answer or is larger than
 * `maxMessage` (`cause`). It may or may not have been carried out. A call with a key (`run`, what creates a job or a
 * flow) may be made again with the same `params`: `client.call(error.method, error.params)`.
 */
export class OutcomeUnknown extends Unanswered<"OutcomeUnknown"> {
  constructor(message: string, call: Asking, options?: ErrorOptions) {
    super("OutcomeUnknown", message, call, options);
  }
}

/** No answer arrived within the time that the caller or the wait of the call allows. */
export class CallTimeout extends Unanswered<"CallTimeout"> {
  constructor(
    message: string,
    call: Asking,
    /** Whether the call was sent, so that it may still be carried out. */
    readonly sent: boolean,
    /** How long it was waited for, in seconds. */
    readonly seconds: number,
  ) {
    super("CallTimeout", message, call);
  }
}

/** `close()` was called. */
export class ClientClosed extends HeroError<"ClientClosed"> {
  constructor(message = "this client was closed") {
    super("ClientClosed", message);
  }
}

/**
 * What answers is no hero server, or one of another version: it sent something other than JSON-RPC, or an answer of
 * another shape. Or a message was too large.
 */
export class ProtocolError extends HeroError<"ProtocolError"> {
  constructor(message: string, options?: ErrorOptions) {
    super("ProtocolError", message, options);
  }
}

/** Too many calls are pending (`maxCalls`). Nothing was sent. */
export class TooManyCalls extends HeroError<"TooManyCalls"> {
  constructor(limit: number) {
    super("TooManyCalls", `${limit} calls are under way (maxCalls)`);
  }
}

/** A result does not match the schema of the caller. The job has finished nevertheless. */
export class SchemaMismatch extends HeroError<"SchemaMismatch"> {
  constructor(
    message: string,
    /** The issues that the schema found. */
    readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[],
    /** The value that was checked. */
    readonly value: unknown,
  ) {
    super("SchemaMismatch", message);
  }
}

/** A wait was aborted, and stopping its job failed, so the job may still run. `cause` has the reason. */
export class NotStopped extends HeroError<"NotStopped"> {
  constructor(
    /** The job, if its id is known. */
    readonly jobId: string | undefined,
    options: ErrorOptions,
  ) {
    super("NotStopped", `job ${jobId ?? "of unknown id"} was not stopped`, options);
  }
}

/** The errors that this client throws by itself; `name` distinguishes them. */
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
