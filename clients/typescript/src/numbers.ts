/** The most seconds that a timer takes, nearly. What is longer is no limit. */
export const LONGEST = 2e6;

/** Refuses what is no duration and no bound, as a program without types may give it: it would lift the bound, or be waited for for ever. */
export const needNumbers = (given: object): void => {
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    if (value !== undefined && !(typeof value === "number" && value >= 0))
      throw new TypeError(`${name} has to be a number from 0 on`);
  }
};

/** Does something after so many seconds; never if that is more than a timer takes. */
export const after = (seconds: number, act: () => void): ReturnType<typeof setTimeout> | undefined =>
  seconds < LONGEST ? setTimeout(act, seconds * 1000) : undefined;
