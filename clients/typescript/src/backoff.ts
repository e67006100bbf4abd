import { LONGEST } from "./numbers.js";

/** How a client comes back after its connection has ended. */
export interface Reconnect {
  /** How often in a row it is tried without a message of the server before the client gives up. 20 by default, `Infinity` for ever. */
  attempts?: number | undefined;
  /** The same until a first connection was open. 1 by default, so that a wrong address is told at once. */
  firstAttempts?: number | undefined;
  /** The most seconds before the second attempt, doubling for each further one. 0.25 by default. */
  minDelay?: number | undefined;
  /** The most seconds between two attempts. 10 by default. */
  maxDelay?: number | undefined;
}

/** Chance from 0 to 1, of which tests may have their own. */
export type Chance = () => number;

/** How many seconds to wait after so many failures, with full jitter: anything from nothing to twice the last limit. */
export const backoff = (failures: number, { minDelay = 0.25, maxDelay = 10 }: Reconnect, chance: Chance): number =>
  chance() * Math.min(LONGEST, maxDelay, minDelay * 2 ** (failures - 1));
