import { RpcError } from "./errors.js";
import { MethodNotFound, table } from "./generated/errors.js";
import { version } from "./generated/limits.js";

type AnyClass = new (name: string, message: string, code: number, data: unknown, method: string) => RpcError;

/** Returns the error of an answer. */
export const rpcError = (error: unknown, method: string): RpcError => {
  const { code = NaN, message, data } = (error ?? {}) as { code?: number; message?: string; data?: unknown };
  const [, name, Class] = table.find(([known]) => known === code) ?? [0, "RpcError", RpcError];
  let text = message ?? `${method} was refused (${code})`;
  if ((Class as unknown) === MethodNotFound) {
    text += `; is the server older than this client (for ${version})?`;
  }
  if (text.includes("send `Authorization")) text += "; give `token` or `login`, or set HERO_TOKEN";
  return new (Class as unknown as AnyClass)(name, text, code, data, method);
};

/** A message of JSON-RPC. Its fields are not checked. */
export interface Message {
  jsonrpc?: unknown;
  id?: unknown;
  method?: unknown;
  params?: unknown;
  result?: unknown;
  error?: unknown;
}

/** Parses a message. Returns undefined if it is not a JSON object. */
export const parse = (text: string): Message | undefined => {
  try {
    const value = JSON.parse(text) as Message | null;
    return typeof value === "object" && value ? value : undefined;
  } catch {
    return undefined;
  }
};

/** Finds the id of the call or subscription at the beginning of a message, where hero writes it. */
export const beginning = /^.{17,80}?"(?:id":(\d+)|subscription":"?([^",]+))/;
