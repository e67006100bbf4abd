/** The text of an answer, as far as it has no more than so many bytes; `whole` says whether it has not. The rest is not read. */
export const readText = async (answer: Response, most: number): Promise<{ text: string; whole: boolean }> => {
  const reader = answer.body?.getReader();
  // Some platforms have no streams, and some answers no body.
  if (!reader) return { text: await answer.text(), whole: true };
  // One buffer, not a list: a server may send each byte as a chunk of its own.
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

/** What an answer of somebody else says, for people: one short line, without tags. */
export const oneLine = (text: string): string =>
  text
    .slice(0, 1000)
    .replace(/<[^>]*>|\s+/g, " ")
    .replace(/ +/g, " ")
    .trim()
    .slice(0, 80);

/** Where an answer sends this client instead of answering, if it does. Nobody goes there: neither calls nor tokens are for others. */
export const redirection = (answer: Response): string | undefined => {
  // A page is not told where to.
  if (answer.type === "opaqueredirect") return "another address";
  const to = answer.status >= 300 && answer.status < 400 ? answer.headers.get("location") : null;
  return to?.slice(0, 200);
};
