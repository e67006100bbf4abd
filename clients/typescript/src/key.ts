/** Creates an idempotency key. Pages loaded without TLS have no `crypto.randomUUID`. */
export const key = (): string =>
  (crypto as Partial<Crypto>).randomUUID?.() ??
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
