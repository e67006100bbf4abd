import type { Chance, Reconnect } from "./backoff.js";

/** Logs in with calls that are made on a new connection before all others. */
export type Login = (call: (method: string, params: object) => Promise<unknown>, host: string) => Promise<unknown>;

/** Options of a client. All have defaults. All times are in seconds. */
export interface SocketOptions {
  /** Options for reconnecting; `false` for never. */
  reconnect?: Reconnect | false | undefined;
  /**
   * Seconds of silence before a `ping`; after as many more without a message the connection ends. 20 by default; 0 for
   * never.
   */
  heartbeat?: number | undefined;
  /** Maximum number of pending calls. 10,000 by default. */
  maxCalls?: number | undefined;
  /** Maximum number of characters of one message. 64 million by default. */
  maxMessage?: number | undefined;
  /** Logs in on each new connection: `wallet(…)`. */
  login?: Login | undefined;
  /** The source of random numbers, for tests. */
  chance?: Chance | undefined;
}
