import type { Client } from "./client.js";

/** Returns the name of a value that JSON cannot express, for people. */
const nameOf = (value: unknown): string => {
  if (typeof value === "number" || value === undefined) return String(value);
  if (typeof value === "string") return "a text with half a surrogate pair";
  if (typeof value === "object") return `of type ${Object.prototype.toString.call(value).slice(8, -1)}`;
  return `a ${typeof value}`;
};

/** Maximum depth of arrays and objects: 100 of `args`, which is all that the server takes, in one of several jobs. */
const DEPTH = 102;

/**
 * Throws a TypeError for the first value that `JSON.stringify` would change, omit or refuse. `asked` is the `toJSON`
 * that gave the value.
 */
const needJson = (value: unknown, path: string, above: unknown[], asked?: unknown): void => {
  const refuse = (what: string): never => {
    throw new TypeError(`${path || "the parameters"} cannot be sent as JSON: the value is ${what}`);
  };
  switch (typeof value) {
    case "boolean":
      return;
    case "number":
      return Number.isFinite(value) ? undefined : refuse(nameOf(value));
    case "string":
      return /\p{Surrogate}/u.test(value) ? refuse(nameOf(value)) : undefined;
    case "object":
      break;
    default:
      return refuse(nameOf(value));
  }
  if (value === null) return;
  if (above.includes(value)) return refuse("inside itself");
  const { toJSON } = value as { toJSON?: unknown };
  // `JSON.stringify` does not ask again what it was given.
  if (!asked && typeof toJSON === "function") {
    // An invalid Date says null.
    const json: unknown = toJSON.call(value, "");
    if (json === null) return refuse(`${nameOf(value)} without a valid value`);
    return needJson(json, path, above, toJSON);
  }
  // The parameters themselves are no level.
  if (above.length > DEPTH) return refuse(`inside more than ${DEPTH} arrays and objects`);
  if (Array.isArray(value)) {
    above.push(value);
    // By index: `forEach` skips holes.
    for (let at = 0; at < value.length; at += 1) needJson(value[at], `${path}[${at}]`, above);
  } else {
    // Maps, sets, buffers, promises, errors: their content would be lost.
    if (Object.prototype.toString.call(value) !== "[object Object]") return refuse(nameOf(value));
    above.push(value);
    for (const [name, member] of Object.entries(value) as [string, unknown][]) {
      // A `toJSON` that gave its own object is omitted.
      if (asked && member === asked) continue;
      const at = /^[A-Za-z_]\w*$/.test(name) ? `${path && `${path}.`}${name}` : `${path}[${JSON.stringify(name)}]`;
      needJson(name, at, []);
      // A member without a value is omitted, as an option that is not given.
      if (member !== undefined) needJson(member, at, above);
    }
  }
  above.pop();
};

/**
 * Returns a client that refuses parameters that JSON cannot express, before it sends anything: NaN, functions, maps,
 * typed arrays, half surrogate pairs. `connect` uses it. Without it such values are omitted or become `null` or `{}`,
 * as `JSON.stringify` does it.
 */
export const checked = (client: Client): Client => ({
  url: client.url,
  longestWait: client.longestWait,
  maxMessage: client.maxMessage,
  get status() {
    return client.status;
  },
  // Both are async so that a refusal rejects the promise.
  call: async (method, params, options) => {
    needJson(params, "", []);
    return client.call(method, params, options);
  },
  subscribe: async (method, unsubscribe, params, listener, options) => {
    needJson(params, "", []);
    return client.subscribe(method, unsubscribe, params, listener, options);
  },
  onStatus: (listener) => client.onStatus(listener),
  delay: (failures) => client.delay(failures),
  close: () => {
    client.close();
  },
  [Symbol.dispose]() {
    client.close();
  },
});
