import { after, needNumbers } from "./numbers.js";
import { type Channel, type Ear, Refusal, type Transport } from "./transport.js";

/** A token, or what gives the one to show on the next connection. */
export type Token = string | (() => string | Promise<string>);

/** How connections are made. */
export interface WebSocketOptions {
  /** Shown at the handshake. A browser cannot do that: there a wallet logs in, or calls go over HTTP. */
  token?: Token | undefined;
  /** The most seconds that making a connection may take. 10 by default. */
  connectTimeout?: number | undefined;
  /** The WebSocket to use; that of the platform by default, or of the package `ws` where there is none. */
  WebSocket?: WebSocketClass | undefined;
}

/** What is needed of a WebSocket. */
export interface WebSocketLike {
  send(data: string): void;
  close(code?: number, reason?: string): void;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
}

/** The class of WebSockets. The second argument is only given where there is a token. */
export type WebSocketClass = new (url: string, options?: never) => WebSocketLike;

/** Connections over WebSockets. */
export const webSocket = (url: string, options: WebSocketOptions = {}): Transport => {
  const { connectTimeout: seconds = 10 } = options;
  needNumbers({ connectTimeout: seconds });
  return {
    url,
    renews: typeof options.token === "function",
    open: async (ear, signal) => {
      const token = typeof options.token === "function" ? await options.token() : options.token;
      let failed: unknown;
      try {
        const Class = options.WebSocket ?? (await platform());
        // A browser takes no second argument but names of protocols.
        const socket = token
          ? new Class(url, { headers: { authorization: `Bearer ${token}` } } as never)
          : new Class(url);
        const channel = await new Promise<Channel | undefined>((resolve) => {
          listen(socket, ear, resolve, seconds, signal);
        });
        if (channel) return channel;
      } catch (error) {
        failed = error;
      }
      // What finds out why is loaded only when it is needed.
      throw await import("./explain.js").then(
        ({ explain }) => explain(Refusal, url, token, seconds, failed),
        (cause: unknown) => new Error(`no connection to ${url}`, { cause }),
      );
    },
  };
};

const platform = async (): Promise<WebSocketClass> =>
  ((globalThis as { WebSocket?: unknown }).WebSocket ?? (await import("#ws")).default) as WebSocketClass;

/** Gives the channel once it is open, or nothing if it never is. */
const listen = (
  socket: WebSocketLike,
  ear: Ear,
  resolve: (channel: Channel | undefined) => void,
  seconds: number,
  signal: AbortSignal,
): void => {
  let open = false;
  const fail = () => {
    settle(undefined);
    socket.close();
  };
  const timer = after(seconds, fail);
  const settle = (channel: Channel | undefined) => {
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
  // The event says nothing that `close` does not say, and `ws` throws where nobody listens.
  socket.onerror = () => undefined;
  socket.onclose = ({ code, reason }: { code: number; reason: string }) => {
    settle(undefined);
    if (open) ear.closed(code, reason);
  };
};
