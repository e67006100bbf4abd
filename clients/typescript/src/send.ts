import type { CallOptions, Client, Sending } from "./client.js";
import type { Methods } from "./generated/types.js";
import { key } from "./key.js";

type Given = (CallOptions & object) | undefined;

const split = <M extends keyof Methods>(
  client: Client,
  method: M,
  needed: object,
  options: Given,
  again: boolean,
): Promise<Methods[M]["result"]> => {
  if (!options) return client.call(method, needed, { again });
  const { signal, callTimeout, ...rest } = options;
  // Without those keys a call costs less.
  const sending: Sending = signal || callTimeout !== undefined ? { again, signal, callTimeout } : { again };
  return client.call(method, { ...rest, ...needed }, sending);
};

/** A call that changes nothing: it is sent again after a connection that ended before its answer. */
export const read = <M extends keyof Methods>(client: Client, method: M, needed: object, options?: Given) =>
  split(client, method, needed, options, true);

/**
 * A call that makes something, with a key that is made here: it is sent again, and carried out once. The caller may name a key; with `null`
 * it has none, and is sent once.
 */
export const create = <M extends keyof Methods>(
  client: Client,
  method: M,
  needed: object,
  options?: Given & { idempotency_key?: string | null },
) => {
  const own = options?.idempotency_key;
  return split(
    client,
    method,
    needed,
    own === undefined ? { ...options, idempotency_key: key() } : options,
    own !== null,
  );
};

/** A call that changes something: it is sent once. */
export const change = <M extends keyof Methods>(client: Client, method: M, needed: object, options?: Given) =>
  split(client, method, needed, options, false);
