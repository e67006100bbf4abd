/** Refuses what is no duration, as a program without types may give it: it would be waited for for ever, or not at all. */
export const needSeconds = (...given: unknown[]): void => {
  for (const value of given) {
    if (value !== undefined && !(typeof value === "number" && value >= 0))
      throw new TypeError("wait_timeout and callTimeout have to be a number of seconds");
  }
};
