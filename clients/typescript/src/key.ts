/** Creates an idempotency key. Pages loaded without TLS have no `crypto.randomUUID`. */
export const key = (): string => crypto.getRandomValues(new Uint32Array(4)).join("-");
