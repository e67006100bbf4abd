import type { Client } from "./client.js";
import type { SocketOptions } from "./options.js";
import { SocketClient } from "./socket.js";
import { webSocket, type WebSocketOptions } from "./websocket.js";

/** Options of a client. */
export type ClientOptions = SocketOptions & WebSocketOptions;

/**
 * Creates a client over a WebSocket, for the functions of this package. It connects with its first call. It sends
 * parameters as `JSON.stringify` writes them; `checked(client)` refuses those that JSON cannot express.
 *
 * @throws TypeError if `url` has a name or a password in it.
 */
export const createClient = (url: string, options?: ClientOptions): Client =>
  new SocketClient(webSocket(url, options), options);
