/// <reference lib="esnext.disposable" preserve="true" />
import type { Methods } from "./generated/types.js";

/** What every call takes beside its parameters. */
export interface CallOptions {
  /** Ends the wait for the answer. What was sent may be carried out all the same. */
  signal?: AbortSignal | undefined;
  /** The most seconds to wait for the answer, the time without a connection included. Nothing limits it by default. */
  callTimeout?: number | undefined;
}

/** How a call is sent. The functions of this package know it of their calls. */
export interface Sending extends CallOptions {
  /** Whether it may be sent again after a connection that ended before its answer: it changes nothing, or carries a key. */
  again?: boolean | undefined;
  /** How many seconds the server may wait before it answers: `wait_timeout`, which is less when it is sent again. */
  wait?: number | undefined;
  /** Is told when it is sent. */
  onSent?: (() => void) | undefined;
}

/** Who listens to a subscription. */
export interface Listener {
  /** It is open: items may follow at once. */
  opened(): void;
  /** An item has arrived, in a message of so many characters. */
  item(item: unknown, size: number): void;
  /** The server has ended it with this error, or the connection has ended (no error). */
  ended(error?: Error): void;
}

/** A subscription that is open. */
export interface Subscribed {
  /** Lets go of it. Nothing is told to its listener any more. */
  end(): void;
}

/** Where a client stands with its server. */
export type Status =
  /** Nothing was asked yet. */
  | { readonly state: "idle" }
  /** A connection is being made; `attempt` counts from 1 since the last message of the server. */
  | { readonly state: "connecting"; readonly attempt: number }
  /** Calls are sent. */
  | { readonly state: "open" }
  /** The connection ended or could not be made: it is tried again after `delay` seconds. */
  | { readonly state: "waiting"; readonly attempt: number; readonly delay: number; readonly error: Error }
  /** It was tried often enough. The next call tries again. */
  | { readonly state: "down"; readonly error: Error }
  /** `close()` was called. */
  | { readonly state: "closed" };

/** What all functions of this package go through: over a WebSocket, over HTTP, or in memory. */
export interface Client {
  /** Where the server is. */
  readonly url: string;
  /** How many seconds one call may wait here; longer waits are made of several. */
  readonly longestWait: number;
  /** How large one message may be, and all items together that wait for the reader of a subscription. */
  readonly maxMessage: number;
  /** Where it stands now. */
  readonly status: Status;
  /** Calls a method by its name, with parameters by name. */
  call<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    options?: Sending,
  ): Promise<Methods[M]["result"]>;
  /** Opens a subscription on the present connection, and never again by itself: `follow` does that. */
  subscribe(
    method: string,
    unsubscribe: string,
    params: object,
    listener: Listener,
    options?: CallOptions,
  ): Promise<Subscribed>;
  /** Has `listener` told of each change of `status`. Gives what ends that. */
  onStatus(listener: (status: Status) => void): () => void;
  /** How a subscription waits before it is opened again after failures, or nothing if it was often enough. */
  delay(failures: number): number | undefined;
  /** Ends the connection, and all that waits. */
  close(): void;
  [Symbol.dispose](): void;
}
