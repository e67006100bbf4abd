import { after, needNumbers } from "./numbers.js";
import { rare } from "./rare.js";
import { type Channel, type Ear, Refusal, type Transport } from "./transport.js";

/** A token, or a function that returns the token for the next connection. */
export type Token = string | (() => string | Promise<string>);

/** Options for connections. */
export interface WebSocketOptions {
  /** The token to send at the handshake. Browsers cannot do that: use a wallet login or HTTP there. */
  token?: Token | undefined;
  /** Timeout for connecting in seconds, of which the last tenth is for finding out why nothing opens. 10 by default. */
  connectTimeout?: number | undefined;
  /** Maximum number of characters of one message. 64 million by default. */
  maxMessage?: number | undefined;
  /** The WebSocket class; by default that of the platform, or of the package `ws` if it has none. */
  WebSocket?: WebSocketClass | undefined;
}

/** The required members of a WebSocket. */
export interface WebSocketLike {
  send(data: string): void;
  close(code?: number, reason?: string): void;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
}

/** A class of WebSockets. The second argument is only given if there is a token. */
export type WebSocketClass = new (url: string, options?: never) => WebSocketLike;

/** Makes connections over WebSockets. Also accepts a bare `host:port`. */
export const webSocket = (address: string, options: WebSocketOptions = {}): Transport => {
  // Errors show the address. What stands before an @ may be a password.
  if (address.includes("@")) throw new TypeError("an address has no password: give `token`");
  const url = address.replace(/^(?!.*:\/\/)/s, "ws://");
  const { connectTimeout: seconds = 10, token: given } = options;
  const renews = typeof given === "function";
  needNumbers({ connectTimeout: seconds });
  return {
    url,
    renews,
    open: async (ear, signal) => {
      const token = renews ? await given() : given;
      const begun = performance.now();
      let failed: unknown;
      try {
        const { WebSocket: own } = globalThis as { WebSocket?: unknown };
        const Class =
          options.WebSocket ?? ((own ?? (await import("#ws")).limited(options.maxMessage)) as WebSocketClass);
        // In browsers the second argument can only be names of protocols.
        const socket = token
          ? new Class(url, { headers: { authorization: `Bearer ${token}` } } as never)
          : new Class(url);
        const channel = await opened(socket, ear, 0.9 * seconds, signal);
        if (channel) return channel;
      } catch (error) {
        failed = error;
      }
      // The code that finds the reason is loaded on demand. If a page cannot load it, that is the reason, too.
      throw await rare().then(
        ({ explain }) => explain(Refusal, url, token, seconds, begun, failed),
        (cause: unknown) => cause,
      );
    },
  };
};

/** Returns the channel once it is open, or undefined if it never is. */
const opened = (socket: WebSocketLike, ear: Ear, seconds: number, signal: AbortSignal): Promise<Channel | undefined> =>
  new Promise((resolve) => {
    let open = false;
    const fail = () => {
      settle();
      socket.close();
    };
    const timer = after(seconds, fail);
    const settle = (channel?: Channel) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", fail);
      resolve(channel);
    };
    signal.addEventListener("abort", fail);
    socket.onopen = () => {
      open = true;
      settle(socket);
    };
    socket.onmessage = (event: { data: unknown }) => {
      ear.message(event.data);
    };
    // The event adds nothing to `close`, but `ws` throws if there is no listener.
    socket.onerror = () => undefined;
    socket.onclose = ({ code, reason }: { code: number; reason: string }) => {
      settle();
      if (open) ear.closed(code, reason);
    };
  });
