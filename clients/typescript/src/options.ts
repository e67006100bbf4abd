import type { Chance, Reconnect } from "./backoff.js";

/** Shows who is calling, by calls that are made on a new connection before all others. */
export type Login = (call: (method: string, params: object) => Promise<unknown>, host: string) => Promise<unknown>;

/** How a client behaves. Everything has a default. All times are in seconds. */
export interface SocketOptions {
  /** How it comes back after its connection has ended; `false` never. */
  reconnect?: Reconnect | false | undefined;
  /** A connection that says nothing for so long is asked by `ping`, and is over if it says nothing for as long again. 20 by default; 0 never asks. */
  heartbeat?: number | undefined;
  /** The most calls under way at once. 10,000 by default. */
  maxCalls?: number | undefined;
  /** The most characters of one message. 64 million by default. */
  maxMessage?: number | undefined;
  /** Logs in on each new connection: `wallet(…)`. */
  login?: Login | undefined;
  /** Chance, for tests. */
  chance?: Chance | undefined;
}
