import type { CallOptions, Client, Sending } from "./client.js";
import type { Methods } from "./generated/types.js";
import { key } from "./key.js";

type Given = (CallOptions & object) | undefined;

const split = <M extends keyof Methods>(
  client: Client,
  method: M,
  sign: string,
  needed: object,
  options: Given,
  again: Sending["again"],
): Promise<Methods[M]["result"]> => {
  if (!options) return client.call(method, needed, { again, sign });
  const { signal, callTimeout, ...rest } = options;
  // Without these keys a call costs less.
  const sending: Sending = signal || callTimeout !== undefined ? { again, sign, signal, callTimeout } : { again, sign };
  return client.call(method, { ...rest, ...needed }, sending);
};

/**
 * Sends a call that changes nothing. It is repeated if the connection ends before its answer. For `sign` see
 * {@link Sending}.
 */
export const read = <M extends keyof Methods>(
  client: Client,
  method: M,
  sign: string,
  needed: object,
  options?: Given,
) => split(client, method, sign, needed, options, true);

/**
 * Sends a call that creates something, with a new key: it may be repeated, and is carried out once. The caller may give
 * a key; with `null` the call has none and is sent once.
 */
export const create = <M extends keyof Methods>(
  client: Client,
  method: M,
  sign: string,
  needed: object,
  options?: Given & { idempotency_key?: string | null },
) => {
  const own = options?.idempotency_key;
  return split(
    client,
    method,
    sign,
    needed,
    own === undefined ? { ...options, idempotency_key: key() } : options,
    own !== null && "keyed",
  );
};

/** Sends a call that changes something. It is sent once. */
export const change = <M extends keyof Methods>(
  client: Client,
  method: M,
  sign: string,
  needed: object,
  options?: Given,
) => split(client, method, sign, needed, options, false);
