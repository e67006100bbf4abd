// Subscriptions over broken connections, with slow readers, and with servers that lose items.
import { expect, test } from "vitest";
import { connect, ConnectionFailed, createClient, followEvents, followLogs, PermissionDenied } from "../src/index.js";
import { answer, failure, fake, item, quick, type Request } from "./support.js";
import type { WebSocket } from "ws";

const line = (number: number) => ({ type: "line", cursor: String(number), level: "info", text: `line ${number}` });

/** A server whose log has `lines` lines. `sends` sets how far each subscription gets, by its number. */
const log = (lines: number, sends: (subscription: number, socket: WebSocket, id: string) => number) => {
  let subscriptions = 0;
  return (request: Request, socket: WebSocket) => {
    if (!request.method.startsWith("subscribe")) return answer(socket, request, true);
    const id = `s${++subscriptions}`;
    answer(socket, request, id);
    const from = Number(request.params["cursor"] ?? 0) + 1;
    let to = 0;
    const end = () => {
      to = sends(subscriptions, socket, id);
    };
    for (let at = from; at <= lines; at += 1) item(socket, id, line(at));
    end();
    if (to === lines) item(socket, id, { type: "ended" });
  };
};

const texts = async (items: AsyncIterable<{ type: string; text?: string }>) => {
  const seen: string[] = [];
  for await (const each of items) seen.push(each.text ?? each.type);
  return seen;
};

const whole = (lines: number) => [...Array.from({ length: lines }, (_, at) => `line ${at + 1}`), "ended"];

test("a log goes on after the last line that arrived, on another connection", async () => {
  await using server = await fake(({ method, params, id }, socket) => {
    if (method !== "subscribe_logs") return;
    answer(socket, { id, method, params }, "s");
    const from = Number(params["cursor"] ?? 0) + 1;
    // Each connection sends three lines and breaks.
    for (let at = from; at < from + 3 && at <= 10; at += 1) item(socket, "s", line(at));
    if (from + 3 > 10) item(socket, "s", { type: "ended" });
    else socket.close();
  });
  using client = createClient(server.url, quick);
  expect(await texts(followLogs(client, "a"))).toEqual(whole(10));
  expect(server.requests.map(({ params }) => params["cursor"])).toEqual([undefined, "3", "6", "9"]);
});

test("a slow reader is let go of and goes on later: nothing is lost, and no more waits here than was said", async () => {
  await using server = await fake(log(50, () => 50));
  using client = createClient(server.url, quick);
  const items = followLogs(client, "a", { buffer: 8 });
  await items.opened;
  expect(await texts(items)).toEqual(whole(50));
  const subscribed = server.requests
    .filter(({ method }) => method === "subscribe_logs")
    .map(({ params }) => params["cursor"]);
  expect(subscribed).toEqual([undefined, "8", "16", "24", "32", "40", "48"]);
  expect(server.requests.filter(({ method }) => method === "unsubscribe_logs").length).toBe(6);
});

test.each([0, -1, NaN])("a buffer of %d, in which nothing could ever wait, is refused at once", async (buffer) => {
  await using server = await fake((request, socket) => {
    answer(socket, request, "pong");
  });
  using client = createClient(server.url, quick);
  expect(() => followLogs(client, "a", { buffer })).toThrow(/^buffer has to be a number from 1 on$/);
  await client.call("ping", {});
  expect(server.requests.map(({ method }) => method)).toEqual(["ping"]);
});

test("lines that the server left out are asked for again, and only those that are gone are told as lagged", async () => {
  let opened = 0;
  await using server = await fake((request, socket) => {
    if (request.method !== "subscribe_logs") return answer(socket, request, true);
    answer(socket, request, `s${++opened}`);
    const id = `s${opened}`;
    if (opened === 1) {
      item(socket, id, line(1));
      // The server skipped the second line, which it still has.
      item(socket, id, { type: "lagged", cursor: "2" });
      item(socket, id, line(3));
    } else if (opened === 2) {
      item(socket, id, line(2));
      item(socket, id, { type: "lagged", cursor: "5" });
    } else {
      // The server no longer has these lines.
      item(socket, id, { type: "lagged", cursor: "5" });
      item(socket, id, line(6));
      item(socket, id, { type: "ended" });
    }
  });
  using client = createClient(server.url, quick);
  expect(await texts(followLogs(client, "a"))).toEqual(["line 1", "line 2", "lagged", "line 6", "ended"]);
  const cursors = server.requests
    .filter(({ method }) => method === "subscribe_logs")
    .map(({ params }) => params["cursor"]);
  expect(cursors).toEqual([undefined, "1", "2"]);
});

test("events from now on that break before the first one say that something may be missing", async () => {
  await using server = await fake((request, socket) => {
    answer(socket, request, "s");
    if (server.connections === 1) return socket.close();
    item(socket, "s", { type: "event", cursor: "7" });
  });
  using client = createClient(server.url, quick);
  const items = followEvents(client);
  expect((await items.next()).value).toEqual({ type: "lagged", cursor: "" });
  expect((await items.next()).value).toMatchObject({ type: "event", cursor: "7" });
  await items.return();
});

test("a flow without cursors says where it is after a gap", async () => {
  await using server = await fake((request, socket) => {
    answer(socket, request, "s");
    item(socket, "s", { type: "flow", flow_id: 1, status: server.connections === 1 ? "started" : "finished", open: 0 });
    if (server.connections === 1) socket.close();
    else item(socket, "s", { type: "ended" });
  });
  using hero = connect(server.url, quick);
  const seen: string[] = [];
  for await (const each of hero.flows.follow(1)) seen.push(each.type === "flow" ? each.status : each.type);
  expect(seen).toEqual(["started", "finished", "ended"]);
});

test("a flow with cursors goes on after the last one", async () => {
  await using server = await fake((request, socket) => {
    answer(socket, request, "s");
    const from = Number(request.params["cursor"] ?? 0);
    item(socket, "s", { type: "flow", cursor: String(from + 1), flow_id: 1, status: "started", open: 1 });
    if (from < 2) socket.close();
    else item(socket, "s", { type: "ended" });
  });
  using hero = connect(server.url, quick);
  let items = 0;
  for await (const each of hero.flows.follow(1)) if (each.type === "flow") items += 1;
  expect(items).toBe(3);
  expect(server.requests.map(({ params }) => params["cursor"])).toEqual([undefined, "1", "2"]);
});

test("a subscription that is ended because it is slow, or the store away, is opened again; one without the right is not", async () => {
  let opened = 0;
  await using server = await fake((request, socket) => {
    if (request.method !== "subscribe_logs") return answer(socket, request, true);
    const id = `s${++opened}`;
    const error = (code: number) => {
      socket.send(
        JSON.stringify({
          jsonrpc: "2.0",
          method: "logs",
          params: { subscription: id, error: { code, message: "no", data: { retry_after_ms: 1 } } },
        }),
      );
    };
    answer(socket, request, id);
    item(socket, id, line(opened));
    error([1006, 1009, 1004][opened - 1] ?? 1004);
  });
  using client = createClient(server.url, quick);
  const seen: string[] = [];
  const error = await failure(
    (async () => {
      for await (const each of followLogs(client, "a")) if (each.type === "line") seen.push(each.text);
    })(),
  );
  expect(seen).toEqual(["line 1", "line 2", "line 3"]);
  expect(error).toBeInstanceOf(PermissionDenied);
});

test("leaving the loop, and aborting, let go of the subscription", async () => {
  await using server = await fake((request, socket) => {
    answer(socket, request, request.method === "subscribe_logs" ? "s" : true);
    if (request.method === "subscribe_logs") item(socket, "s", line(1));
  });
  using client = createClient(server.url, quick);
  for await (const each of followLogs(client, "a")) if (each.type === "line") break;
  const controller = new AbortController();
  const items = followLogs(client, "a", { signal: controller.signal });
  await items.next();
  const next = failure(items.next());
  controller.abort(new Error("enough"));
  expect((await next).message).toBe("enough");
  expect(await items.next()).toEqual({ done: true, value: undefined });
  await client.call("ping", {});
  expect(server.requests.map(({ method }) => method)).toEqual([
    "subscribe_logs",
    "unsubscribe_logs",
    "subscribe_logs",
    "unsubscribe_logs",
    "ping",
  ]);
});

test("a subscription whose opening was aborted is let go of when the server has opened it", async () => {
  let open: () => void = () => undefined;
  await using server = await fake((request, socket) => {
    if (request.method !== "subscribe_logs") return answer(socket, request, true);
    open = () => {
      answer(socket, request, "late");
    };
  });
  using client = createClient(server.url, quick);
  const controller = new AbortController();
  const items = followLogs(client, "a", { signal: controller.signal });
  const next = failure(items.next());
  await client.call("ping", {});
  controller.abort(new Error("enough"));
  expect((await next).message).toBe("enough");
  open();
  await expect
    .poll(() => server.requests.find(({ method }) => method === "unsubscribe_logs")?.params)
    .toEqual({ subscription: "late" });
});

test("a subscription fails when its client has given up, and can go on from its cursor", async () => {
  const server = await fake((request, socket) => {
    answer(socket, request, "s");
    item(socket, "s", line(1));
  });
  using client = createClient(server.url, { reconnect: { attempts: 2, minDelay: 0.01 } });
  const items = followLogs(client, "a");
  await items.next();
  await server.close();
  expect(await failure(items.next())).toBeInstanceOf(ConnectionFailed);
  expect(items.cursor).toBe("1");
  expect(await items.next()).toEqual({ done: true, value: undefined });
});

test("the cursor is that of the last item that was read, however the reading ends and whatever waits", async () => {
  await using server = await fake(log(5, () => 5));
  using client = createClient(server.url, quick);
  /** Items of which all have arrived. */
  const arrived = async (cursor?: string, signal?: AbortSignal) => {
    const items = followLogs(client, "a", { cursor, signal });
    await items.opened;
    await client.call("ping", {});
    return items;
  };
  const left = await arrived();
  expect(left.cursor).toBeUndefined();
  for await (const each of left) if (each.type === "line" && each.text === "line 2") break;
  expect(left.cursor).toBe("2");
  const controller = new AbortController();
  const aborted = await arrived(undefined, controller.signal);
  await aborted.next();
  controller.abort();
  expect(aborted.cursor).toBe("1");
  const unread = await arrived("2");
  expect(unread.cursor).toBe("2");
  await unread.return();
  expect(unread.cursor).toBe("2");
  expect((await (await arrived(left.cursor)).next()).value).toMatchObject({ text: "line 3" });
});
