/**
 * A server in memory, for tests of programs that use this client. It does not listen and sends nothing.
 *
 * @module
 */
import { checked } from "./checked.js";
import { RpcError } from "./errors.js";
import { type CallError, codes } from "./generated/errors.js";
import type { Methods } from "./generated/types.js";
import { Hero } from "./hero.js";
import type { SocketOptions } from "./options.js";
import { SocketClient } from "./socket.js";
import type { Ear, Transport } from "./transport.js";

/** A connection of a client to a server in memory. */
export interface Peer {
  /** Sends an item of a subscription. */
  item(subscription: string, item: unknown): void;
  /** Ends a subscription with an error. */
  fail(subscription: string, error: RpcError): void;
  /** Ends the connection, as a server that shuts down does. */
  drop(code?: number, reason?: string): void;
}

/** Answers calls. Its return value is the result; a thrown {@link RpcError} is the error. */
export type Answer = (method: string, params: Record<string, unknown>, peer: Peer) => unknown;

/** Answers by method name. Other methods are answered as by an older server that does not have them. */
export type Answers = { [M in keyof Methods]?: (params: Methods[M]["params"], peer: Peer) => unknown };

/** Creates an error of a server: `throw refusal("QueueFull", "the queue is full", { retry_after_ms: 100 })`. */
export const refusal = (name: CallError["name"], message: string, data?: unknown): RpcError =>
  new RpcError(name, message, codes[name], data, "");

/** Connections to a server in memory. */
export const memory = (answers: Answer | Answers): Transport => ({
  url: "memory://hero",
  open: (ear) => Promise.resolve(channel(ear, typeof answers === "function" ? answers : byName(answers))),
});

const byName =
  (answers: Answers): Answer =>
  (method, params, peer) => {
    const answer = (answers as Record<string, ((params: object, peer: Peer) => unknown) | undefined>)[method];
    if (!answer) throw refusal("MethodNotFound", `there is no ${method}`);
    return answer(params, peer);
  };

const channel = (ear: Ear, answer: Answer) => {
  let open = true;
  const say = (message: object) => {
    // As over a network, the answer never arrives within the call itself.
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    queueMicrotask(() => {
      if (open) ear.message(text);
    });
  };
  const end = (code = 1006, reason = "") => {
    if (!open) return;
    open = false;
    ear.closed(code, reason);
  };
  const peer: Peer = {
    item: (subscription, result) => {
      say({ method: "items", params: { subscription, result } });
    },
    fail: (subscription, { code, message, data }) => {
      say({ method: "items", params: { subscription, error: { code, message, data } } });
    },
    drop: end,
  };
  const hear = async (text: string) => {
    const { id, method, params } = JSON.parse(text) as { id: number; method: string; params: Record<string, unknown> };
    try {
      say({ id, result: (await answer(method, params, peer)) ?? null });
    } catch (error) {
      const { code, message, data } =
        error instanceof RpcError ? (error as RpcError) : refusal("InternalError", String(error));
      say({ id, error: { code, message, data } });
    }
  };
  return {
    send: (text: string) => void hear(text),
    close: (code?: number, reason?: string) => {
      end(code ?? 1000, reason);
    },
  };
};

/** Returns the object with all calls, to a server in memory: `connectMemory({ run_and_wait: () => ({ … }) })`. */
export const connectMemory = (answers: Answer | Answers, options?: SocketOptions): Hero =>
  new Hero(checked(new SocketClient(memory(answers), options)));
