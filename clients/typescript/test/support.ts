import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { connect as dial } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";
import type { Client, Status } from "../src/index.js";

/** No randomness: the client retries almost at once after a server ends. */
export const quick = { reconnect: { minDelay: 0.01, maxDelay: 0.05, firstAttempts: 20 }, chance: () => 0.5 };

export interface Request {
  id: number;
  method: string;
  params: Record<string, unknown>;
}

/** Handles a request to a fake server. `said` counts all requests, from 1. */
export type Behaviour = (request: Request, socket: WebSocket, said: number) => void;

export interface Fake {
  url: string;
  port: number;
  requests: Request[];
  connections: number;
  sockets: Set<WebSocket>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const answer = (socket: WebSocket, { id }: Request, result: unknown) => {
  socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
};

export const item = (socket: WebSocket, subscription: string, result: unknown) => {
  socket.send(JSON.stringify({ jsonrpc: "2.0", method: "items", params: { subscription, result } }));
};

/** A scripted WebSocket server. */
export const fake = async (behave: Behaviour, port = 0): Promise<Fake> => {
  const server = new WebSocketServer({ port, host: "127.0.0.1" });
  await new Promise((resolve) => server.once("listening", resolve));
  const it: Fake = {
    port: (server.address() as AddressInfo).port,
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    connections: 0,
    sockets: new Set(),
    close: async () => {
      for (const socket of it.sockets) socket.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
    [Symbol.asyncDispose]: () => it.close(),
  };
  server.on("connection", (socket) => {
    it.connections += 1;
    it.sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("message", (data) => {
      const request = JSON.parse((data as Buffer).toString()) as Request;
      it.requests.push(request);
      behave(request, socket, it.requests.length);
    });
  });
  return it;
};

/** A TCP server. */
export const tcp = async (
  serve: (socket: Socket) => void,
  port = 0,
): Promise<{ port: number; server: Server; [Symbol.asyncDispose](): Promise<void> }> => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    server,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** A proxy that ends each connection after it has passed a given number of bytes to the client. */
export const breaking = async (url: string, next: () => number) => {
  const target = new URL(url);
  let breaks = 0;
  const proxy = await tcp((near) => {
    let left = next();
    const far = dial(Number(target.port), target.hostname);
    far.on("error", () => near.destroy());
    near.on("data", (bytes) => far.write(bytes));
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
    far.on("data", (bytes) => {
      near.write(bytes.subarray(0, Math.max(0, left)));
      left -= bytes.length;
      if (left < 0) {
        breaks += 1;
        near.destroy();
      }
    });
  });
  return {
    url: `ws://127.0.0.1:${proxy.port}`,
    breaks: () => breaks,
    [Symbol.asyncDispose]: proxy[Symbol.asyncDispose],
  };
};

/** Pseudorandom numbers, the same in each run. */
export const numbers = (seed: number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
};

/** Waits until the client is in this state. */
export const reaches = (client: Client | { status: Status; onStatus: Client["onStatus"] }, state: Status["state"]) =>
  new Promise<Status>((resolve) => {
    if (client.status.state === state) return resolve(client.status);
    const end = client.onStatus((status) => {
      if (status.state !== state) return;
      end();
      resolve(status);
    });
  });

/** Returns the error that the promise rejects with. */
export const failure = async (promise: Promise<unknown>): Promise<Error> => {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error("it did not fail");
};
