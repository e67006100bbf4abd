// The client when its server is absent, replaced, ended or silent.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import {
  CallTimeout,
  ClientClosed,
  connect,
  ConnectionFailed,
  createClient,
  type Ear,
  followLogs,
  getJob,
  LoginRefused,
  OutcomeUnknown,
  PermissionDenied,
  ping,
  ProtocolError,
  QueueFull,
  RequestTooLarge,
  RpcError,
  SocketClient,
  type Status,
  stopJob,
  TooManyCalls,
  wallet,
  type WebSocketClass,
} from "../src/index.js";
import { connectHttp } from "../src/http.js";
import { memory } from "../src/memory.js";
import { answer, failure, fake, item, quick, reaches, tcp } from "./support.js";

test("a server that is not there is told at once, with its address and what to do", async () => {
  const { url } = await fake(() => undefined).then(async (server) => (await server.close(), server));
  using hero = connect(url);
  const error = await failure(hero.ping());
  expect(error).toBeInstanceOf(ConnectionFailed);
  expect(error.message).toContain(url);
  expect(error.message).toMatch(/ECONNREFUSED.*hero serve/);
  expect(hero.status.state).toBe("down");
});

test("a server that starts while a page asks why no connection opens is not taken for one that refuses the page", async () => {
  await using server = await fake((request, socket) => {
    answer(socket, request, "pong");
  });
  let sockets = 0;
  const asked: string[] = [];
  const Class = function (url: string) {
    sockets += 1;
    // The first connection comes before the server is there.
    return new WebSocket(sockets === 1 ? "ws://127.0.0.1:9" : url);
  } as unknown as WebSocketClass;
  vi.stubGlobal("location", { origin: "http://page.test" });
  vi.stubGlobal("fetch", (_: string, { mode = "cors" }: RequestInit) => {
    asked.push(mode);
    if (asked.length === 1) return Promise.reject(new TypeError("Failed to fetch"));
    return Promise.resolve(new Response('{"jsonrpc":"2.0","id":1,"result":"pong"}'));
  });
  try {
    using hero = connect(server.url, { WebSocket: Class, reconnect: { firstAttempts: 3, minDelay: 0.01 } });
    expect(await hero.ping()).toBe("pong");
    expect(asked).toEqual(["cors", "no-cors", "cors"]);
  } finally {
    vi.unstubAllGlobals();
  }
});

test("a page that a server refuses is told so", async () => {
  vi.stubGlobal("location", { origin: "http://page.test" });
  vi.stubGlobal("fetch", (_: string, { mode }: RequestInit) =>
    mode === "no-cors" ? Promise.resolve(new Response()) : Promise.reject(new TypeError("Failed to fetch")),
  );
  try {
    using hero = connect("ws://127.0.0.1:9", { reconnect: { firstAttempts: Infinity } });
    const error = await failure(hero.ping());
    expect(error.message).toContain("takes no calls of pages of http://page.test: start it with --allowed-origins");
  } finally {
    vi.unstubAllGlobals();
  }
});

test("a server of something else is told from one that is not there", async () => {
  const web = createServer((_, response) => response.writeHead(404).end("Not here"));
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  using hero = connect(`ws://127.0.0.1:${(web.address() as AddressInfo).port}`, quick);
  const error = await failure(hero.ping());
  expect(error).toBeInstanceOf(ProtocolError);
  expect(error.message).toMatch(/no hero server \(HTTP 404: Not here\)/);
  web.closeAllConnections();
  web.close();
});

test("a server of WebSockets that speaks something else is shown with what it said", async () => {
  await using echo = await fake((request, socket) => {
    socket.send(JSON.stringify(request));
  });
  using hero = connect(echo.url, quick);
  const error = await failure(hero.ping());
  expect(error).toBeInstanceOf(ProtocolError);
  expect(error.message).toMatch(/this is no hero server: .*"ping"/);
  // What is no hero server has run nothing.
  expect(await failure(hero.run("1"))).toBeInstanceOf(ProtocolError);
  await using chat = await fake((_, socket) => {
    socket.send("Welcome!");
  });
  using other = connect(chat.url, quick);
  expect((await failure(other.ping())).message).toMatch(/Welcome!/);
});

test("a token that is not taken says so, and is not tried again", async () => {
  const web = createServer((_, response) =>
    response.writeHead(401).end('{"jsonrpc":"2.0","id":null,"error":{"code":1005,"message":"no such token"}}'),
  );
  let asked = 0;
  web.on("upgrade", (_, socket) => {
    asked += 1;
    socket.end("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n");
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  using hero = connect(`ws://127.0.0.1:${(web.address() as AddressInfo).port}`, { ...quick, token: "hero_old" });
  const error = await failure(hero.ping());
  expect(error).toBeInstanceOf(LoginRefused);
  expect(error.message).toMatch(/wrong, was revoked or has expired \(no such token\)/);
  expect(asked).toBe(1);
  web.closeAllConnections();
  web.close();
});

test("a token that ends on an open connection ends the calls, and is not shown again", async () => {
  await using server = await fake((_, socket) => {
    socket.close(1008, "the token was revoked or has expired");
  });
  using hero = connect(server.url, { ...quick, token: "hero_short" });
  const error = await failure(hero.jobs.get("a"));
  expect(error).toBeInstanceOf(LoginRefused);
  expect(error.message).toMatch(/give this client another token/);
  expect(server.connections).toBe(1);
});

test("a function that gives tokens is asked again after its token has ended", async () => {
  const shown: unknown[] = [];
  await using server = await fake((request, socket) => {
    if (shown.length === 1) socket.close(1008, "the token was revoked or has expired");
    else answer(socket, request, "pong");
  });
  using hero = connect(server.url, { ...quick, token: () => (shown.push(1), `hero_${shown.length}`) });
  expect(await hero.ping()).toBe("pong");
  expect(shown.length).toBe(2);
});

test.each([
  [undefined, "undefined"],
  [null, "null"],
  ["no", "no"],
  [{ code: 4001, message: "the user said no" }, "the user said no"],
])("a wallet that does not sign (%j) ends the calls at once, over a WebSocket and over HTTP", async (reason, why) => {
  await using server = await fake((request, socket) => {
    answer(socket, request, `hero:127.0.0.1:${server.port}:random:1795255200`);
  });
  const login = wallet({ publicKey: "04", sign: () => Promise.reject(reason) });
  using hero = connect(server.url, { reconnect: { ...quick.reconnect, attempts: 2 }, login });
  const error = await failure(hero.whoami());
  expect(error).toBeInstanceOf(LoginRefused);
  expect(error.message).toBe(`the login failed: ${why}`);
  expect(server.connections).toBe(1);
  const given: typeof fetch = (_, init) => {
    const { id } = JSON.parse(init?.body as string) as { id: number };
    return Promise.resolve(
      Response.json({ jsonrpc: "2.0", id, result: `hero:127.0.0.1:${server.port}:random:1795255200` }),
    );
  };
  using overHttp = connectHttp(server.url, { login, fetch: given });
  expect(await failure(overHttp.whoami())).toMatchObject({ name: "LoginRefused", message: error.message });
});

test("a server that ends each connection in the middle of the login is given up after as many attempts", async () => {
  await using server = await fake((request, socket) => {
    if (request.method === "authenticate") socket.terminate();
    else answer(socket, request, `hero:127.0.0.1:${server.port}:random:1795255200`);
  });
  const login = wallet({ publicKey: "04", sign: () => "signature" });
  using hero = connect(server.url, { reconnect: { attempts: 3, firstAttempts: 3, minDelay: 0.01 }, login });
  expect(await failure(hero.whoami())).toBeInstanceOf(ConnectionFailed);
  expect(server.connections).toBe(3);
});

test("a call that only reads is sent again when the server closes in the middle of it", async () => {
  await using server = await fake((request, socket, said) => {
    if (said === 1) socket.terminate();
    else answer(socket, request, { job_id: "a" });
  });
  using client = createClient(server.url, quick);
  expect(await getJob(client, "a")).toEqual({ job_id: "a" });
  expect(server.requests.map(({ method }) => method)).toEqual(["get_job", "get_job"]);
});

test("the first call of a client survives a server that ends before it has answered anything", async () => {
  const first = await fake((_, socket) => {
    socket.terminate();
    void first.close();
  });
  using hero = connect(first.url, { reconnect: { attempts: Infinity, minDelay: 0.01, maxDelay: 0.05 } });
  const ran = hero.run("sleep(4); 42");
  await reaches(hero, "waiting");
  await first.close();
  await using second = await fake((request, socket) => {
    answer(socket, request, { job_id: "j", status: "finished", value: 42, attempt: 1 });
  }, first.port);
  expect(await ran).toBe(42);
  const keys = [...first.requests, ...second.requests].map(({ params }) => params["idempotency_key"]);
  expect(keys).toEqual([keys[0], keys[0]]);
});

test("a call that changes something is not sent again: it fails with what is known", async () => {
  await using server = await fake((request, socket, said) => {
    if (said === 1) socket.terminate();
    else answer(socket, request, "pong");
  });
  using client = createClient(server.url, quick);
  const error = await failure(stopJob(client, "some-job"));
  expect(error).toBeInstanceOf(OutcomeUnknown);
  expect(error).toMatchObject({ method: "stop_job", params: { job_id: "some-job" } });
  expect(error.message).toMatch(/not known, so it was not sent again/);
  expect(await ping(client)).toBe("pong");
  expect(server.requests.filter(({ method }) => method === "stop_job").length).toBe(1);
});

test("a call that makes something is sent again with the same key", async () => {
  await using server = await fake((request, socket, said) => {
    if (said === 1) socket.terminate();
    else answer(socket, request, "made");
  });
  using hero = connect(server.url, quick);
  expect(await hero.jobs.create("1")).toBe("made");
  const keys = server.requests.map(({ params }) => params["idempotency_key"]);
  expect(keys[0]).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  expect(keys).toEqual([keys[0], keys[0]]);
});

test("a page without TLS, which has no randomUUID, has a key of its own for each call, too", async () => {
  await using server = await fake((request, socket) => answer(socket, request, "made"));
  using hero = connect(server.url, quick);
  vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
  try {
    await hero.jobs.create("1");
    await hero.jobs.create("1");
  } finally {
    vi.unstubAllGlobals();
  }
  const keys = server.requests.map(({ params }) => params["idempotency_key"]);
  for (const key of keys) expect(key).toMatch(/^(\d+,){3}\d+$/);
  expect(new Set(keys).size).toBe(2);
});

test("without a key a call that makes something is sent once", async () => {
  await using server = await fake((_, socket) => {
    socket.terminate();
  });
  using hero = connect(server.url, quick);
  expect(await failure(hero.jobs.create("1", { idempotency_key: null }))).toBeInstanceOf(OutcomeUnknown);
  expect(await failure(hero.jobs.run("1", { idempotency_key: null }))).toBeInstanceOf(OutcomeUnknown);
  expect(server.requests.length).toBe(2);
});

test("jobs that are made together get keys unless one of them may be named by others", async () => {
  await using server = await fake((request, socket, said) => {
    if (said === 1 || said === 3) socket.terminate();
    else answer(socket, request, ["a", "b"]);
  });
  using hero = connect(server.url, quick);
  expect(await hero.jobs.createMany([{ script: "1" }, { script: "2" }])).toEqual(["a", "b"]);
  expect(server.requests[0]?.params).toEqual(server.requests[1]?.params);
  const named = [
    { script: "1", job_id: "x" },
    { script: "2", prerequisites: ["x"] },
  ];
  expect(await failure(hero.jobs.createMany(named))).toBeInstanceOf(OutcomeUnknown);
});

test("jobs that are made together are started by the same call if that is asked for", async () => {
  await using server = await fake((request, socket) => answer(socket, request, ["a"]));
  using hero = connect(server.url, quick);
  await hero.jobs.createMany([{ script: "1" }], { start: true, callTimeout: 60 });
  await hero.jobs.createMany([{ script: "1" }]);
  const sent = server.requests.map(({ params }) => [Object.keys(params).sort(), params["start"]]);
  expect(sent).toEqual([
    [["jobs", "start"], true],
    [["jobs"], undefined],
  ]);
});

test("a call that its server does not survive is not sent for ever", async () => {
  await using server = await fake((_, socket) => {
    socket.terminate();
  });
  using client = createClient(server.url, {
    ...quick,
    reconnect: { ...quick.reconnect, attempts: Infinity, firstAttempts: Infinity },
  });
  const error = await failure(getJob(client, "a"));
  expect(error).toBeInstanceOf(ConnectionFailed);
  expect(server.requests.length).toBe(4);
});

test("the pauses grow until a message has arrived, not only a connection", async () => {
  await using server = await fake((request, socket, said) => {
    if (said < 4) socket.terminate();
    else answer(socket, request, "pong");
  });
  const delays: number[] = [];
  using client = createClient(server.url, { reconnect: { minDelay: 0.01, firstAttempts: 9 }, chance: () => 1 });
  client.onStatus((status) => {
    if (status.state === "waiting") delays.push(status.delay);
  });
  // The client repeats each call once after each connection; a new call keeps the cycle going.
  await ping(client);
  expect(delays).toEqual([0.01, 0.02, 0.04]);
  for (const socket of server.sockets) socket.terminate();
  await reaches(client, "waiting");
  expect(delays).toEqual([0.01, 0.02, 0.04, 0.01]);
});

test("a client gives up after as many attempts as it was told, and the next call tries again", async () => {
  const server = await fake((request, socket) => {
    answer(socket, request, "pong");
  });
  const { port } = server;
  using client = createClient(server.url, { reconnect: { attempts: 3, minDelay: 0.01 } });
  const states: string[] = [];
  client.onStatus((status: Status) => states.push(status.state));
  await ping(client);
  await server.close();
  const down = await reaches(client, "down");
  expect(down).toMatchObject({ error: { attempts: 3 } });
  expect(states.filter((state) => state === "connecting").length).toBe(3);
  await using again = await fake((request, socket) => {
    answer(socket, request, "pong");
  }, port);
  expect(await ping(client)).toBe("pong");
  expect(again.connections).toBe(1);
});

test("a call that is made as the client gives up begins another search, and gets its own answer", async () => {
  const there = memory({ ping: () => "pong" });
  let isThere = false;
  const transport = {
    url: "memory://late",
    open: (ear: Ear, signal: AbortSignal) =>
      isThere ? there.open(ear, signal) : Promise.reject(new Error("nobody is there")),
  };
  using client = new SocketClient(transport, { maxCalls: 1 });
  let second: Promise<unknown> | undefined;
  client.onStatus(({ state }) => {
    if (state !== "down") return;
    isThere = true;
    second = ping(client);
  });
  expect(await failure(ping(client))).toBeInstanceOf(ConnectionFailed);
  expect(await second).toBe("pong");
  expect(client.status.state).toBe("open");
});

test("a client that is closed while it logs in stays closed", async () => {
  let loggedIn: (() => void) | undefined;
  const login = () => new Promise<void>((resolve) => (loggedIn = resolve));
  // Its connection says nothing of its end.
  const silent = { url: "memory://silent", open: () => Promise.resolve({ send: vi.fn(), close: vi.fn() }) };
  const client = new SocketClient(silent, { login });
  const called = failure(ping(client));
  await vi.waitFor(() => expect(loggedIn).toBeDefined());
  client.close();
  loggedIn?.();
  expect(await called).toBeInstanceOf(ClientClosed);
  expect(client.status.state).toBe("closed");
});

test("a server that says nothing is asked by a ping, and left if it says nothing more", async () => {
  await using server = await fake((request, socket) => {
    if (server.connections > 1) answer(socket, request, { job_id: "a" });
  });
  using client = createClient(server.url, { ...quick, heartbeat: 0.1 });
  expect(await getJob(client, "a")).toEqual({ job_id: "a" });
  expect(server.requests.map(({ method }) => method).slice(0, 3)).toEqual(["get_job", "ping", "get_job"]);
});

test("a server that takes the connection and never opens it is told after connectTimeout", async () => {
  await using silent = await tcp(() => undefined);
  using client = createClient(`ws://127.0.0.1:${silent.port}`, { connectTimeout: 0.2 });
  expect(await failure(ping(client))).toBeInstanceOf(ConnectionFailed);
});

test.each(["heartbeat", "connectTimeout", "maxCalls", "maxMessage"])(
  "a client is not made with a %s that is no number from 0 on, nor with such numbers of reconnect",
  (name) => {
    for (const odd of [NaN, -1, "20", null]) {
      expect(() => createClient("ws://127.0.0.1:1", { [name]: odd })).toThrow(
        new TypeError(`${name} has to be a number from 0 on`),
      );
      for (const part of ["attempts", "firstAttempts", "minDelay", "maxDelay"])
        expect(() => connect("ws://127.0.0.1:1", { reconnect: { [part]: odd } })).toThrow(
          new TypeError(`${part} has to be a number from 0 on`),
        );
    }
  },
);

test("a client over HTTP is not made with numbers that are none", () => {
  for (const odd of [NaN, -1, "20"] as number[]) {
    expect(() => connectHttp("127.0.0.1:1", { maxMessage: odd })).toThrow(/^maxMessage has to be/);
    expect(() => connectHttp("127.0.0.1:1", { reconnect: { attempts: odd } })).toThrow(/^attempts has to be/);
  }
});

test.each([Infinity, 1e7])("times of %d s, longer than any timer, are no limits", async (most) => {
  const timers = vi.spyOn(globalThis, "setTimeout");
  const beats = vi.spyOn(globalThis, "setInterval");
  try {
    await using server = await fake((request, socket) => {
      if (server.connections === 1) socket.terminate();
      else answer(socket, request, "pong");
    });
    using client = createClient(server.url, {
      heartbeat: most,
      connectTimeout: most,
      maxCalls: most,
      maxMessage: most,
      reconnect: { minDelay: 0.01, maxDelay: most },
    });
    expect(await ping(client, { callTimeout: most })).toBe("pong");
    expect(client.delay(19)).toBeLessThanOrEqual(2e6);
    const set = [...timers.mock.calls, ...beats.mock.calls].map(([, milliseconds = 0]) => milliseconds);
    expect(set.filter((milliseconds) => milliseconds >= 2 ** 31)).toEqual([]);
    expect(beats).not.toHaveBeenCalled();
  } finally {
    vi.restoreAllMocks();
  }
});

test("a server that is not there is told also by a client that would wait for it for ever", async () => {
  await using server = await fake(() => undefined);
  await server.close();
  using client = createClient(server.url, { connectTimeout: Infinity });
  expect((await failure(ping(client))).message).toMatch(/nobody answers at .*ECONNREFUSED/);
});

test("a call whose answer is larger than allowed fails, and those beside it go on", async () => {
  await using server = await fake((request, socket) => {
    if (request.method === "get_job") return answer(socket, request, "x".repeat(10_000));
    // The server answers this after the large one.
    if (request.method === "ping") for (const each of server.requests.slice(1)) answer(socket, each, "pong");
  });
  using client = createClient(server.url, { ...quick, maxMessage: 1000 });
  const large = failure(getJob(client, "a"));
  const beside = [stopJob(client, "b".repeat(500)), ping(client)];
  const error = await large;
  expect(error).toBeInstanceOf(ProtocolError);
  expect(error.message).toMatch(/^get_job: an answer has \d+ characters, more than maxMessage$/);
  expect(await Promise.all(beside)).toEqual(["pong", "pong"]);
  expect(server.connections).toBe(1);
});

test("a message that is larger than allowed and that nobody waits for ends the connection, and blames no call", async () => {
  await using server = await fake((request, socket) => {
    if (server.connections > 1) return answer(socket, request, "pong");
    if (request.method === "ping") item(socket, "s", "x".repeat(10_000));
  });
  using client = createClient(server.url, { ...quick, maxMessage: 1000 });
  const changes = failure(stopJob(client, "b".repeat(500)));
  expect(await ping(client)).toBe("pong");
  expect(await changes).toBeInstanceOf(OutcomeUnknown);
  expect((await changes).message).toMatch(/an answer has \d+ characters, more than maxMessage/);
});

test("an item that is larger than allowed ends its subscription, there too, and what is beside it goes on", async () => {
  await using server = await fake((request, socket) => {
    answer(socket, request, request.method.startsWith("subscribe") ? "s" : "pong");
    if (request.method.startsWith("subscribe")) item(socket, "s", { type: "line", line: "x".repeat(10_000) });
  });
  using client = createClient(server.url, { ...quick, maxMessage: 1000 });
  const items = followLogs(client, "a");
  const error = await failure(items.next());
  expect(error).toBeInstanceOf(ProtocolError);
  expect(error.message).toMatch(/has \d+ characters, more than maxMessage/);
  expect(await ping(client)).toBe("pong");
  expect(server.connections).toBe(1);
  const said = server.requests.map(({ method, params }) => `${method} ${String(params["subscription"])}`);
  expect(said).toEqual([
    expect.stringMatching(/^subscribe_logs/),
    expect.stringMatching(/^unsubscribe_logs s$/),
    "ping undefined",
  ]);
});

test("a call that is too large for the server fails, and the small ones beside it go on", async () => {
  await using server = await fake((request, socket) => {
    if (request.method === "get_object") socket.close(1009);
    else if (server.connections > 1) answer(socket, request, "pong");
  });
  using hero = connect(server.url, quick);
  const small = hero.ping();
  const error = await failure(hero.objects.get("things", "x".repeat(1000)));
  expect(error).toBeInstanceOf(RequestTooLarge);
  expect(error).toMatchObject({ code: -32007, method: "get_object" });
  expect(error.message).toMatch(/\(1009\): get_object has \d+ characters, too many$/);
  expect(await small).toBe("pong");
});

test("a timeout and a signal end the wait of one call, and say whether it was sent", async () => {
  await using server = await fake((request, socket) => {
    if (request.method === "ping") answer(socket, request, "pong");
  });
  using client = createClient(server.url, quick);
  // A connected client sends at once.
  await ping(client);
  const late = await failure(getJob(client, "a", { callTimeout: 0.1 }));
  expect(late).toBeInstanceOf(CallTimeout);
  expect(late).toMatchObject({ method: "get_job", params: { job_id: "a" }, sent: true, seconds: 0.1 });
  // They may contain secrets, so nothing prints them by itself.
  expect(Object.keys(late)).not.toContain("params");
  const controller = new AbortController();
  const aborted = failure(getJob(client, "a", { signal: controller.signal }));
  controller.abort(new Error("enough"));
  expect((await aborted).message).toBe("enough");
  expect((await failure(getJob(client, "a", { signal: controller.signal }))).message).toBe("enough");
  expect(await ping(client)).toBe("pong");
});

test("no time is limited unless that is asked for", async () => {
  vi.useFakeTimers();
  try {
    let settle: (result: unknown) => void = () => undefined;
    const { connectMemory } = await import("../src/memory.js");
    const hero = connectMemory({ get_job: () => new Promise((resolve) => (settle = resolve)), ping: () => "pong" });
    const job = hero.jobs.get("a");
    await vi.advanceTimersByTimeAsync(86_400_000);
    settle({ job_id: "a" });
    expect(await job).toEqual({ job_id: "a" });
    hero.close();
  } finally {
    vi.useRealTimers();
  }
});

test("no more calls are held than maxCalls", async () => {
  await using server = await fake(() => undefined);
  using client = createClient(server.url, { maxCalls: 2 });
  const held = [failure(ping(client)), failure(ping(client))];
  expect(await failure(ping(client))).toBeInstanceOf(TooManyCalls);
  client.close();
  for (const error of await Promise.all(held)) expect(error).toBeInstanceOf(ClientClosed);
});

test("errors are told apart by class and by name, with their data", async () => {
  await using server = await fake(({ id }, socket, said) => {
    const errors = [
      { code: 1007, message: "full", data: { retry_after_ms: 250 } },
      { code: 1004, message: "no" },
      { code: 4711, message: "new" },
    ];
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, error: errors[said - 1] }));
  });
  using hero = connect(server.url);
  const full = await failure(hero.jobs.create("1"));
  expect(full).toBeInstanceOf(QueueFull);
  if (full instanceof QueueFull) expect(full.retryAfter).toBe(0.25);
  expect(await failure(hero.jobs.create("1"))).toBeInstanceOf(PermissionDenied);
  expect(await failure(hero.jobs.create("1"))).toMatchObject({ name: "RpcError", code: 4711, method: "create_job" });
  expect(full).toBeInstanceOf(RpcError);
});

test("nothing waits any more once the client is closed", async () => {
  await using server = await fake(() => undefined);
  const hero = connect(server.url);
  const waits = failure(hero.ping());
  hero.close();
  expect(await waits).toBeInstanceOf(ClientClosed);
  expect(await failure(hero.ping())).toBeInstanceOf(ClientClosed);
  expect(hero.status.state).toBe("closed");
});
