import { version } from "./generated/version.js";

/** What advice needs of a client. */
export interface Asked {
  readonly url: string;
  call(method: "server_info", params: Record<string, never>, options: { callTimeout: number }): Promise<unknown>;
}

/** Calls during which the version of the server is not asked for: itself, and those of a login, before all others. */
const ALONE = ["server_info", "fetch_nonce", "authenticate"];

/** Returns the version of the server, if it gives one. */
const versionOf = async (client: Asked): Promise<string | undefined> => {
  const info = await client.call("server_info", {}, { callTimeout: 5 }).catch(() => undefined);
  const { version: said } = Object(info) as { version?: unknown };
  return typeof said === "string" && /^[\w.+-]{1,40}$/.test(said) ? said : undefined;
};

/** What to do about a login that is missing. */
const login = (url: string): string => {
  if (!("location" in globalThis)) return "give `token` or `login`, or set HERO_TOKEN";
  // Pages have no environment, and their WebSockets cannot show a token.
  return url.startsWith("ws") ? "log in with `login: wallet(…)`" : "give `token` or `login: wallet(…)`";
};

const textFor = async (client: Asked, method: string, { name, message }: Error): Promise<string> => {
  if (message.includes("Authorization")) return `${message}; ${login(client.url)}`;
  const theirs = ALONE.includes(method) ? undefined : await versionOf(client);
  if (name === "MethodNotFound") {
    return `the server at ${client.url} (${theirs ?? "of another version"}) has no method ${method}; this client was made for ${version}: install a newer server, or the client of its version`;
  }
  const differ = theirs === version ? `though both are ${version}` : `${theirs ?? "unknown"} and ${version}`;
  return `the server at ${client.url} answered ${method} with something else than this client knows: the versions of server and client differ (${differ})`;
};

/**
 * Gives an error the message that says what to do: about a login, a method that the server does not have, or an answer
 * of another shape. This file imports nothing that a connection needs, so that it is loaded separately.
 */
export const advise = async <E extends Error>(client: Asked, method: string, error: E): Promise<E> => {
  const text = await textFor(client, method, error);
  // The stack repeats the message.
  const stack = error.stack?.replace(error.message, () => text);
  return Object.assign(error, { message: text, stack });
};
