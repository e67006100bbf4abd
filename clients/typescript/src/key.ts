/** A new idempotency key. (`crypto.randomUUID` is missing in pages that came without TLS.) */
export const key = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
