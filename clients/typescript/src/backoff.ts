import { LONGEST } from "./numbers.js";

/** Options for reconnecting. */
export interface Reconnect {
  /** Maximum number of attempts in a row without a message of the server. 20 by default, `Infinity` for no limit. */
  attempts?: number | undefined;
  /** The same before the first connection was open. 1 by default, so that a wrong address is reported at once. */
  firstAttempts?: number | undefined;
  /** Maximum seconds before the second attempt, doubled for each further one. 0.25 by default. */
  minDelay?: number | undefined;
  /** Maximum seconds between two attempts. 10 by default. */
  maxDelay?: number | undefined;
}

/** Returns a random number from 0 to 1. Tests may replace it. */
export type Chance = () => number;

/** Returns the seconds to wait after a number of failures, with full jitter: from 0 to a limit that doubles. */
export const backoff = (failures: number, { minDelay = 0.25, maxDelay = 10 }: Reconnect, chance: Chance): number =>
  chance() * Math.min(LONGEST, maxDelay, minDelay * 2 ** (failures - 1));
