/**
 * The client of hero, a job server for scripts.
 *
 * `connect` returns one object with all calls. For smaller bundles, use `createClient` and single functions: `run`,
 * `followLogs`, `getJob` ….
 *
 * @module
 */
export { connect, Flows, Hero, Jobs, Objects } from "./hero.js";
export { type ClientOptions, createClient } from "./create.js";
export { checked } from "./checked.js";
export type { CallOptions, Client, Listener, Sending, Status, Subscribed } from "./client.js";
export type { Reconnect } from "./backoff.js";
export type { Login, SocketOptions } from "./options.js";
export { SocketClient } from "./socket.js";
export { type Channel, type Ear, Refusal, type Transport } from "./transport.js";
export { type Token, webSocket, type WebSocketClass, type WebSocketLike, type WebSocketOptions } from "./websocket.js";
export { type Wallet, wallet } from "./wallet.js";
export { follow, Following, type FollowOptions } from "./follow.js";
export {
  getResult,
  run,
  runFlow,
  runJob,
  type StopOptions,
  type TypedResult,
  waitFlow,
  waitJob,
  type WaitOptions,
} from "./run.js";
export { createJobs, findObjects, getObject } from "./several.js";
export type { CheckOptions, Schema } from "./schema.js";
export * from "./errors.js";
export * from "./generated/errors.js";
export * from "./generated/groups.js";
export * from "./generated/limits.js";
export * from "./generated/methods.js";
export type * from "./generated/types.js";
