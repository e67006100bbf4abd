import { rpcError } from "./answer.js";
import type { Sending } from "./client.js";
import { CallTimeout, ConnectionFailed, OutcomeUnknown } from "./errors.js";
import { MOST_LOST } from "./numbers.js";

/** How a call is sent that opens a subscription, or that comes `first` on a new connection, before the login is over. */
export interface Special extends Sending {
  adopt?: (id: unknown) => void;
  unsubscribe?: string;
  first?: boolean;
}

/** A pending call. */
export interface Call {
  id: number;
  method: string;
  params: object;
  options: Special;
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
  /** The number of the connection on which it was sent; 0 if it was not sent. */
  sentOn: number;
  /** The number of times in a row that it was lost on a connection without a further message of the server. */
  lost: number;
  /** The number of messages that had arrived when it was sent. */
  heard: number;
  size: number;
  /** When its wait ends, by `performance.now()`; infinite if it does not wait. */
  until: number;
  clear?: () => void;
}

/** Writes a call. A wait that was sent before, or that waited for a connection, gets the rest of its time. */
export const encode = ({ id, method, params, options, until }: Call): string => {
  const left = (until - performance.now()) / 1000;
  const isLess = left < (options.wait ?? 0) - 0.01;
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    method,
    params: isLess ? { ...params, wait_timeout: Math.max(0, left) } : params,
  });
};

/** Returns the error of a call whose connection ended, or undefined if it is repeated. */
export const whyNot = (call: Call, why: string, tooLarge: boolean, url: string): Error | undefined => {
  const { method, options, lost, size } = call;
  if (tooLarge)
    return rpcError({ code: -32007, message: `${why}: ${method} has ${size} characters, too many` }, method);
  return !options.again || lost >= MOST_LOST
    ? givenUp(call, new ConnectionFailed(`${why} before the answer to ${method}`, url, lost))
    : undefined;
};

/** Whether an error is about what its call created: IdempotencyReused, or JobFailed and those after it. */
export const isFinal = ({ code = 0 }: Error & { code?: number }): boolean => code === 1010 || code > 1100;

/** Returns the error of a call that is given up, or was refused, for this reason. What was sent may have been done. */
export const givenUp = (call: Call, cause: Error): Error => {
  const { again } = call.options;
  if (again === true || !(again === "begun" || call.sentOn) || isFinal(cause)) return cause;
  const next = again ? "repeat it with its `params`" : "it was not sent again";
  const told = `${cause.message}: whether ${call.method} was done is not known, so ${next}`;
  return new OutcomeUnknown(told, call, { cause });
};

/** Returns the error of a call whose time is over. */
export const late = (call: Call, seconds: number, state: string): CallTimeout => {
  const { method, sentOn } = call;
  const now = sentOn ? `whether ${method} was done is not known` : `it was not sent (${state})`;
  return new CallTimeout(`no answer to ${method} within ${seconds} s: ${now}`, call, sentOn > 0, seconds);
};
