/** Reads at most `most` bytes of an answer as text. `whole` is false if there was more, which is not read. */
export const readText = async (answer: Response, most: number): Promise<{ text: string; whole: boolean }> => {
  const reader = answer.body?.getReader();
  // Some platforms have no streams, and some answers have no body.
  if (!reader) return { text: await answer.text(), whole: true };
  // One buffer instead of a list: a server may send each byte as a chunk of its own.
  let held = new Uint8Array(Math.min(most, 4096));
  let length = 0;
  let whole = most > 0;
  while (whole) {
    const { done, value } = await reader.read();
    if (done) break;
    whole = length + value.length <= most;
    const part = value.subarray(0, most - length);
    if (length + part.length > held.length) {
      const larger = new Uint8Array(Math.min(most, 2 * (length + part.length)));
      larger.set(held);
      held = larger;
    }
    held.set(part, length);
    length += part.length;
  }
  if (!whole) reader.cancel().catch(() => undefined);
  return { text: new TextDecoder().decode(held.subarray(0, length)), whole };
};

/** Returns the text of a foreign answer for people: one short line, without tags. */
export const oneLine = (text: string): string =>
  text
    .slice(0, 1000)
    .replace(/<[^>]*>|\s+/g, " ")
    .replace(/ +/g, " ")
    .trim()
    .slice(0, 80);

/**
 * Returns the target of a redirect, if the answer is one. It is never followed: calls and tokens are not for others.
 */
export const redirection = (answer: Response): string | undefined => {
  // Browsers hide the target.
  if (answer.type === "opaqueredirect") return "another address";
  const to = answer.status >= 300 && answer.status < 400 ? answer.headers.get("location") : null;
  return to?.slice(0, 200);
};
