import type { Sending } from "./client.js";
import { CallTimeout, ConnectionFailed, OutcomeUnknown, ProtocolError } from "./errors.js";

/** How a call is sent that opens a subscription. */
export interface Opening extends Sending {
  adopt(id: unknown): void;
  unsubscribe: string;
}

/** A call that is under way. */
export interface Call {
  id: number;
  method: string;
  params: object;
  options: (Sending & Partial<Opening>) | undefined;
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
  /** On which connection it was sent; 0 if on none. */
  sentOn: number;
  /** How often in a row it was lost on a connection that said nothing more once it was sent. */
  lost: number;
  /** How many messages the connection had said when it was sent. */
  heardBefore: number;
  size: number;
  /** When its wait is over; never if it is none. */
  until: number;
  clear?: () => void;
}

/** How often a call is sent to a server that ends the connection without another word. */
const MOST_LOST = 4;
/** How many seconds more than its wait a call may take to be answered. */
export const GRACE = 30;

/** A call that was not sent yet. */
export const newCall = (
  id: number,
  method: string,
  params: object,
  options: Sending | undefined,
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
  until: Date.now() + (options?.wait ?? Infinity) * 1000,
});

/** What is sent of a call: of a wait that was sent before, or waited for a connection, with what is left of its time. */
export const encode = ({ id, method, params, options, until }: Call): string => {
  const left = (until - Date.now()) / 1000;
  const given = left < (options?.wait ?? 0) - 0.01 ? { ...params, wait_timeout: Math.max(0, left) } : params;
  return JSON.stringify({ jsonrpc: "2.0", id, method, params: given });
};

/** Why a call that was sent on a connection that ended is not sent again, if it is not. */
export const whyNot = (
  { method, params, options, lost, size }: Call,
  why: string,
  tooLarge: boolean,
  last: boolean,
  url: string,
): Error | undefined => {
  if (tooLarge) return new ProtocolError(`${why}: ${method} may be too large (${size} characters)`);
  const before = `${why} before the answer to ${method}`;
  if (!options?.again) {
    const what = `${before}: whether it was done is not known, so it was not sent again`;
    return new OutcomeUnknown(what, method, params as Record<string, unknown>);
  }
  return last || lost >= MOST_LOST ? new ConnectionFailed(`${before}, ${lost} times`, url, lost) : undefined;
};

/** Why nobody waits for the answer to a call any more. */
export const late = ({ method, sentOn }: Call, seconds: number, state: string): CallTimeout => {
  const now = sentOn ? "whether it was done is not known" : `it was not sent (${state})`;
  return new CallTimeout(`no answer to ${method} within ${seconds} s; ${now}`, method, sentOn > 0);
};
