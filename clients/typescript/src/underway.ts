import type { Sending } from "./client.js";
import { CallTimeout, ConnectionFailed, OutcomeUnknown, ProtocolError } from "./errors.js";
import { MOST_LOST } from "./numbers.js";

/** How a subscribe call is sent. */
export interface Opening extends Sending {
  adopt(id: unknown): void;
  unsubscribe: string;
}

/** A pending call. */
export interface Call {
  id: number;
  method: string;
  params: object;
  options: Sending & Partial<Opening>;
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
  /** The number of the connection on which it was sent; 0 if it was not sent. */
  sentOn: number;
  /** The number of times in a row that it was lost on a connection without a further message of the server. */
  lost: number;
  /** The number of messages that had arrived when it was sent. */
  heardBefore: number;
  size: number;
  /** When its wait ends, by `performance.now()`; infinite if it does not wait. */
  until: number;
  clear?: () => void;
}

/** Creates a call that was not sent yet. */
export const newCall = (
  id: number,
  method: string,
  params: object,
  options: Sending,
  resolve: Call["resolve"],
  reject: Call["reject"],
): Call => ({
  id,
  method,
  params,
  options,
  resolve,
  reject,
  sentOn: 0,
  lost: 0,
  heardBefore: 0,
  size: 0,
  until: performance.now() + (options.wait ?? Infinity) * 1000,
});

/** Writes a call. A wait that was sent before, or that waited for a connection, gets the rest of its time. */
export const encode = ({ id, method, params, options, until }: Call): string => {
  const left = (until - performance.now()) / 1000;
  const given = left < (options.wait ?? 0) - 0.01 ? { ...params, wait_timeout: Math.max(0, left) } : params;
  return JSON.stringify({ jsonrpc: "2.0", id, method, params: given });
};

/** Returns the error of a call whose connection ended, or undefined if it is repeated. */
export const whyNot = (
  { method, params, options, lost, size }: Call,
  why: string,
  tooLarge: boolean,
  last: boolean,
  url: string,
): Error | undefined => {
  if (tooLarge) return new ProtocolError(`${why}: ${method} may be too large (${size} characters)`);
  const before = `${why} before the answer to ${method}`;
  if (!options.again) {
    const what = `${before}: whether it was done is not known, so it was not sent again`;
    return new OutcomeUnknown(what, method, params as Record<string, unknown>);
  }
  return last || lost >= MOST_LOST ? new ConnectionFailed(`${before}, ${lost} times`, url, lost) : undefined;
};

/** Returns the error of a call whose time is over. */
export const late = ({ method, sentOn }: Call, seconds: number, state: string): CallTimeout => {
  const now = sentOn ? "whether it was done is not known" : `it was not sent (${state})`;
  return new CallTimeout(`no answer to ${method} within ${seconds} s; ${now}`, method, sentOn > 0);
};
