/// <reference lib="esnext.disposable" preserve="true" />
import type { Methods } from "./generated/types.js";

/** Options of every call. */
export interface CallOptions {
  /** Ends the wait for the answer. A call that was sent may still be carried out. */
  signal?: AbortSignal | undefined;
  /** Timeout for the answer in seconds, including the time without a connection. No limit by default. */
  callTimeout?: number | undefined;
}

/** How a call is sent. The functions of this package set this for their calls. */
export interface Sending extends CallOptions {
  /**
   * Whether the call may be repeated if the connection ends before its answer: it changes nothing, or has a key. If it
   * is given up nevertheless, its outcome is unknown if it was sent and is `keyed`, or waits for what is `begun`.
   */
  again?: boolean | "keyed" | "begun" | undefined;
  /** Seconds that the server may wait before it answers: `wait_timeout`, which is reduced when the call is repeated. */
  wait?: number | undefined;
  /**
   * What shows that the result is one of this call: its `typeof`, or the name of a member. Otherwise the call fails with
   * a `ProtocolError`.
   */
  sign?: string | undefined;
  /** Called when the call is sent. Over HTTP that is known only once it has an answer, or may have had one. */
  onSent?: (() => void) | undefined;
}

/** The listener of a subscription. */
export interface Listener {
  /** The subscription is open: items may follow at once. */
  opened(): void;
  /** An item has arrived, in a message of `size` characters. */
  item(item: unknown, size: number): void;
  /** The server has ended the subscription with this error, or the connection has ended (no error). */
  ended(error?: Error): void;
}

/** An open subscription. */
export interface Subscribed {
  /** Ends the subscription. Its listener is not called any more. */
  end(): void;
}

/** The status of the connection to the server. */
export type Status =
  /** No call was made yet. */
  | { readonly state: "idle" }
  /** The client connects; `attempt` counts from 1 since the last message of the server. */
  | { readonly state: "connecting"; readonly attempt: number }
  /** Calls are sent. */
  | { readonly state: "open" }
  /** The connection ended or failed: the client tries again after `delay` seconds. */
  | { readonly state: "waiting"; readonly attempt: number; readonly delay: number; readonly error: Error }
  /** The client gave up. The next call tries again. */
  | { readonly state: "down"; readonly error: Error }
  /** `close()` was called. */
  | { readonly state: "closed" };

/** The client that all functions of this package use: over a WebSocket, over HTTP, or in memory. */
export interface Client {
  /** The address of the server. */
  readonly url: string;
  /** Maximum seconds that one call may wait; longer waits use several calls. */
  readonly longestWait: number;
  /** Maximum size of one message, and of all items together that wait for the reader of a subscription. */
  readonly maxMessage: number;
  /** The current status. */
  readonly status: Status;
  /** Calls a method by its name, with parameters by name. */
  call<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    options?: Sending,
  ): Promise<Methods[M]["result"]>;
  /** Opens a subscription on the current connection. It is not restored by itself: `follow` does that. */
  subscribe(
    method: string,
    unsubscribe: string,
    params: object,
    listener: Listener,
    options?: CallOptions,
  ): Promise<Subscribed>;
  /** Calls `listener` for each change of `status`. Returns a function that ends this. */
  onStatus(listener: (status: Status) => void): () => void;
  /** Returns the seconds before a failed subscription is opened again, or undefined if it must not be tried again. */
  delay(failures: number): number | undefined;
  /** Ends the connection and all pending calls. */
  close(): void;
  [Symbol.dispose](): void;
}
