import { RpcError } from "./errors.js";
import { MethodNotFound, table } from "./generated/errors.js";
import { version } from "./generated/limits.js";

type AnyClass = new (name: string, message: string, code: number, data: unknown, method: string) => RpcError;

/** Returns the error of an answer. */
export const rpcError = (error: unknown, method: string): RpcError => {
  const { code = 0, message, data } = Object(error) as { code?: number; message?: string; data?: unknown };
  const [, name, Class] = table.find(([known]) => known === code) ?? [0, "RpcError", RpcError];
  let text = String(message ?? code);
  if ((Class as unknown) === MethodNotFound) {
    text += `; is the server older than ${version}?`;
  }
  if (text.includes("Authorization")) text += "; give `token` or `login`, or set HERO_TOKEN";
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

/** Parses a message. Returns undefined if it is not JSON, and an object without these fields for any other value. */
export const parse = (text: string): Message | undefined => {
  try {
    return Object(JSON.parse(text)) as Message;
  } catch {
    return undefined;
  }
};

/** Finds the id of the call or subscription at the beginning of a message, where hero writes it. */
export const beginning = /^.{17,80}?"(?:id":(\d+)|subscription":"?([^",]+))/;
