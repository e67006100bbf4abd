import { ProtocolError, RpcError } from "./errors.js";
import { classes, codes } from "./generated/errors.js";
import type { Asked } from "./advice.js";
import { rare } from "./rare.js";

type AnyClass = new (name: string, message: string, code: number, data: unknown, method: string) => RpcError;

/** Returns the error of an answer. */
export const rpcError = (error: unknown, method: string): RpcError => {
  const { code = 0, message = code, data } = Object(error) as { code?: number; message?: unknown; data?: unknown };
  const at = Object.values<unknown>(codes).indexOf(code);
  const Class = (classes[at] ?? RpcError) as unknown as AnyClass;
  return new Class(Object.keys(codes)[at] ?? "RpcError", String(message), code, data, method);
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

/** Parses a message. Returns an object without these fields if it is not JSON, or any other value. */
export const parse = (text: string): Message => {
  try {
    return Object(JSON.parse(text)) as Message;
  } catch {
    return {};
  }
};

/** Finds the id of the call or subscription at the beginning of a message, where hero writes it. */
export const beginning = /^.{17,80}?"(?:id":(\d+)|subscription":"?([^",]+))/;

/** Whether a result is one of its call, by its sign: its `typeof`, or the name of a member. */
export const fits = (result: unknown, sign?: string): boolean =>
  !sign || typeof result === sign || (Object(result) as Record<string, unknown>)[sign] !== undefined;

/** The errors about which there is advice, by their names and messages. */
const ADVISED = /^MethodNotFound|^ProtocolError|Authorization/;

/**
 * Returns the error of a call that was answered with this error, or, without one, with a result of another shape. If
 * that is a matter of a login or of versions, it says what to do.
 */
export const failure = async (client: Asked, method: string, error: unknown): Promise<Error> => {
  const given = error === undefined ? new ProtocolError(`strange answer to ${method}`) : rpcError(error, method);
  return ADVISED.test(String(given))
    ? rare().then(
        ({ advise }) => advise(client, method, given),
        () => given,
      )
    : given;
};
