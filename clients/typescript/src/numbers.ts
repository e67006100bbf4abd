/** Maximum seconds of a timer, approximately. Longer times mean no limit. */
export const LONGEST = 2e6;
/** Seconds that the answer to a call may take beyond its wait. */
export const GRACE = 30;
/** Maximum number of times that a call is sent to a server that ends the connection without a further message. */
export const MOST_LOST = 4;

/**
 * Refuses invalid durations and limits of programs without types. They would remove a limit, or cause an endless wait.
 */
export const needNumbers = (given: object, least = 0): void => {
  // Without `Object.entries`, which takes as long as the rest of a call.
  for (const name of Object.keys(given)) {
    const value = (given as Record<string, unknown>)[name];
    if (value !== undefined && !(typeof value === "number" && value >= least))
      throw new TypeError(`${name} has to be a number from ${least} on`);
  }
};

/** Waits for a number of seconds that a timer accepts. `begun` is given what ends the pause. */
export const pause = (seconds: number, begun?: (end: () => void) => void): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, seconds * 1000);
    begun?.(() => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Calls `act` after a number of seconds, or never if that is more than a timer accepts. */
export const after = (seconds: number, act: () => void): ReturnType<typeof setTimeout> | undefined =>
  seconds < LONGEST ? setTimeout(act, seconds * 1000) : undefined;
