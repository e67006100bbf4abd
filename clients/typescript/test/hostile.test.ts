// Limits of the damage that a hostile or broken server can do to a client.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { expect, test, vi } from "vitest";
import {
  connect,
  createClient,
  followLogs,
  getJob,
  OutcomeUnknown,
  ping,
  ProtocolError,
  QueueFull,
  type Status,
  stopJob,
} from "../src/index.js";
import { connectHttp, createHttpClient } from "../src/http.js";
import { selfSigned } from "./certificate.js";
import { answer, failure, fake, item, quick, type Request, tcp } from "./support.js";

type Web = (request: Request, response: ServerResponse, message: IncomingMessage) => void;

/** An HTTP server. `said` holds the requests that arrived. */
const web = async (behave: Web) => {
  const said: Request[] = [];
  const server = createServer((message, response) => {
    let text = "";
    message.on("data", (bytes: Buffer) => (text += bytes.toString()));
    message.on("end", () => {
      const request = JSON.parse(text || "{}") as Request;
      said.push(request);
      behave(request, response, message);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    said,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};

const reply = (response: ServerResponse, { id }: Request, result: unknown) => {
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
};

/** An address where nothing listens. */
const nobody = async () => {
  const server = await web(() => undefined);
  server[Symbol.dispose]();
  return server.url;
};

const redirects = { reconnect: { attempts: 2, minDelay: 0.01 } };

/** An HTTP client with a login, and a server whose tokens expire at once. `logins` counts the logins. */
const loggedIn = async (ends: () => string) => {
  const shown: (string | undefined)[] = [];
  const server = await web((request, response, { headers }) => {
    shown.push(headers.authorization);
    reply(response, request, "pong");
  });
  let logins = 0;
  const login = () => {
    // A loop of logins would starve all timers, even that of the test.
    if (++logins > 9) throw new Error("it logs in again and again");
    return Promise.resolve({ identity_id: 1, token: `t${logins}`, expires_at: ends() });
  };
  const client = createHttpClient(server.url, { login });
  return { client, shown, logins: () => logins, [Symbol.dispose]: server[Symbol.dispose] };
};

test.each(["no date", new Date(0).toISOString()])(
  "a session whose end says nothing (%s) is shown until it is refused",
  async (end) => {
    using server = await loggedIn(() => end);
    for (let calls = 0; calls < 3; calls += 1) await ping(server.client);
    expect(server.shown).toEqual(["Bearer t1", "Bearer t1", "Bearer t1"]);
  },
);

test("a session that is short is shown, and renewed when a tenth of it is left", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    using server = await loggedIn(() => new Date(Date.now() + 30_000).toISOString());
    await ping(server.client);
    vi.setSystemTime(Date.now() + 26_000);
    await ping(server.client);
    expect(server.logins()).toBe(1);
    vi.setSystemTime(Date.now() + 2_000);
    await ping(server.client);
    expect(server.shown).toEqual(["Bearer t1", "Bearer t1", "Bearer t2"]);
  } finally {
    vi.useRealTimers();
  }
});

test.each([302, 307, 308])("a change that is sent on by %i arrives once, and says where to", async (status) => {
  const gone = await nobody();
  using server = await web((_, response) => response.writeHead(status, { location: gone }).end());
  const error = await failure(stopJob(createHttpClient(server.url, redirects), "a"));
  expect(error).toBeInstanceOf(OutcomeUnknown);
  expect(error.message).toContain(`sends to ${gone}`);
  expect(server.said.map(({ method }) => method)).toEqual(["stop_job"]);
});

test("neither a call nor a token goes to where an answer sends it", async () => {
  using other = await web((request, response) => {
    reply(response, request, "pong");
  });
  using server = await web((_, response) => response.writeHead(307, { location: other.url }).end());
  const error = await failure(connectHttp(server.url, { ...redirects, token: "hero_secret" }).jobs.run("secret()"));
  expect(error.message).toContain(`sends to ${other.url}`);
  expect(other.said).toEqual([]);
});

test("what finds out why no WebSocket opens goes nowhere else either", async () => {
  using other = await web((request, response) => {
    reply(response, request, "pong");
  });
  using server = await web((_, response) => response.writeHead(307, { location: other.url }).end());
  using hero = connect(server.url.replace("http", "ws"), { token: "hero_secret" });
  expect((await failure(hero.ping())).message).toContain(`sends to ${other.url}`);
  expect(other.said).toEqual([]);
});

/** Sends spaces until the reader disconnects or the limit is reached. Returns the number of bytes sent. */
const flood = (response: ServerResponse, most: number) =>
  new Promise<number>((resolve) => {
    const part = " ".repeat(65_536);
    let sent = 0;
    const more = () => {
      while (sent < most) {
        sent += part.length;
        if (!response.write(part)) return response.once("drain", more);
      }
      return response.end();
    };
    response.on("close", () => {
      resolve(sent);
    });
    more();
  });

test("an answer over HTTP that is larger than maxMessage is not read to its end", async () => {
  let sent: Promise<number> | undefined;
  using server = await web((_, response) => {
    sent = flood(response, 200e6);
  });
  const error = await failure(getJob(createHttpClient(server.url, { maxMessage: 100_000 }), "a"));
  expect(error).toBeInstanceOf(ProtocolError);
  expect(error.message).toMatch(/the answer to get_job has more than 100000 bytes, more than maxMessage/);
  expect(await sent).toBeLessThan(100e6);
});

test("an answer that is small on the wire and large when it is unpacked is refused as well", async () => {
  const bomb = gzipSync(Buffer.alloc(20e6, " "));
  using server = await web((_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(bomb));
  const error = await failure(getJob(createHttpClient(server.url, { maxMessage: 1e6 }), "a"));
  expect(error.message).toMatch(/more than maxMessage/);
});

test("an answer over HTTP of exactly maxMessage bytes is taken, in however many parts", async () => {
  const job = { job_id: "é".repeat(20_000) };
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, result: job });
  const bytes = Buffer.from(text);
  using server = await web((_, response) => {
    for (let at = 0; at < bytes.length; at += 777) response.write(bytes.subarray(at, at + 777));
    response.end();
  });
  expect(await getJob(createHttpClient(server.url, { maxMessage: bytes.length }), "a")).toEqual(job);
});

test.each([401, 403, 500, 503])("what a server says with %i controls no terminal", async (status) => {
  using server = await web((_, response) => response.writeHead(status).end("\x1b]0;pwned\x07\u202e"));
  const url = server.url.replace("http", "ws");
  for (const hero of [connect(url, { token: "t" }), connectHttp(server.url, { reconnect: { attempts: 1 } })]) {
    const error = await failure(hero.ping());
    expect(error.message).toContain("%1B]0;pwned%07%E2%80%AE");
    expect(inspect(error)).not.toContain("\x1b");
  }
});

test("what a job threw controls no terminal, and its data are as they are", async () => {
  const message = "two\n\tlines \x1b]0;pwned\x07\x9b\r";
  await using server = await fake(({ id }, socket) => {
    const data = { error: { kind: "script", message } };
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, error: { code: 1101, message, data } }));
  });
  using hero = connect(server.url, quick);
  const error = await failure(hero.run("1"));
  expect(error.message).toBe("two\n\tlines %1B]0;pwned%07%C2%9B%0D");
  expect(error).toMatchObject({ error: { message } });
});

test("the reason with which a server leaves controls no terminal", async () => {
  await using server = await fake((_, socket) => {
    socket.close(4000, "\x1b[2J");
  });
  using hero = connect(server.url, { reconnect: false });
  const error = await failure(hero.ping());
  expect(`${error.message} ${String(error.cause)}`).toContain("%1B[2J");
  expect(inspect(error)).not.toContain("\x1b");
});

test("what finds out why no WebSocket opens reads a few kilobytes", async () => {
  let sent: Promise<number> | undefined;
  using server = await web((_, response) => {
    sent = flood(response, 200e6);
  });
  using hero = connect(server.url.replace("http", "ws"));
  expect((await failure(hero.ping())).message).toMatch(/is no hero server/);
  expect(await sent).toBeLessThan(100e6);
});

test.each([
  [250, 0.25],
  [2 ** 40, 60],
  [-1, 1],
  ["soon", 1],
  [null, 1],
])("a pause of %s ms that the server asks for is one of %d s", (retry_after_ms, seconds) => {
  const data = { retry_after_ms } as { retry_after_ms: number };
  expect(new QueueFull("QueueFull", "full", 1007, data, "create_job").retryAfter).toBe(seconds);
});

test("a subscription that is ended with a pause of years is opened again after a minute, and not at once", async () => {
  let opened = 0;
  await using server = await fake((request, socket) => {
    answer(socket, request, `s${++opened}`);
    const params = {
      subscription: `s${opened}`,
      error: { code: 1006, message: "no", data: { retry_after_ms: 2 ** 40 } },
    };
    socket.send(JSON.stringify({ jsonrpc: "2.0", method: "logs", params }));
  });
  using client = createClient(server.url, quick);
  const timers = vi.spyOn(globalThis, "setTimeout");
  try {
    const items = followLogs(client, "a");
    const next = items.next();
    await expect.poll(() => timers.mock.calls.some(([, delay]) => delay === 60_000), { timeout: 30_000 }).toBe(true);
    expect(opened).toBe(1);
    await items.return();
    expect(await next).toEqual({ done: true, value: undefined });
  } finally {
    timers.mockRestore();
  }
});

test("items that wait for a slow reader have no more characters than one message, and none is lost", async () => {
  const LINES = 12;
  let opened = 0;
  const told: number[] = [];
  await using server = await fake((request, socket) => {
    if (request.method !== "subscribe_logs") return answer(socket, request, request.method === "ping" ? "pong" : true);
    const id = `s${++opened}`;
    const from = Number(request.params["cursor"] ?? 0);
    told.push(from);
    answer(socket, request, id);
    for (let at = from + 1; at <= LINES; at += 1)
      item(socket, id, { type: "line", cursor: String(at), level: "info", text: "x".repeat(3_000) });
    item(socket, id, { type: "ended" });
  });
  using client = createClient(server.url, { ...quick, maxMessage: 10_000 });
  const items = followLogs(client, "a");
  await items.opened;
  // Its answer comes after all items of the first subscription.
  await ping(client);
  const seen: string[] = [];
  for await (const each of items) seen.push(each.type === "line" ? each.cursor : each.type);
  expect(seen).toEqual([...Array.from({ length: LINES }, (_, at) => String(at + 1)), "ended"]);
  // Three lines almost fill one message; the fourth makes the client drop the subscription.
  expect(told.slice(0, 2)).toEqual([0, 3]);
});

test.each([null, 7, "text", [], {}])("an item that is none (%j) ends its subscription with an error", async (odd) => {
  await using server = await fake((request, socket) => {
    if (request.method !== "subscribe_logs") return;
    answer(socket, request, "s");
    item(socket, "s", odd);
  });
  using client = createClient(server.url, quick);
  const logs = followLogs(client, "job");
  expect((await failure(logs.next())).message).toBe("item has no type");
  expect(await logs.next()).toEqual({ done: true, value: undefined });
});

test("a server that speaks no TLS is told as such", async () => {
  using server = await web((request, response) => reply(response, request, "pong"));
  using client = connect(server.url.replace("http:", "wss:"), { reconnect: { attempts: 1, firstAttempts: 1 } });
  expect((await failure(client.ping())).message).toMatch(/speaks no TLS.*ws:\/\//);
});

test("a certificate that nobody vouches for is told as such", async () => {
  const server = createTlsServer(selfSigned).listen(0, "127.0.0.1");
  await new Promise((listens) => server.once("listening", listens));
  using client = connect(`wss://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    reconnect: { attempts: 1, firstAttempts: 1 },
  });
  expect((await failure(client.ping())).message).toContain("NODE_EXTRA_CA_CERTS");
  server.close();
});

const circle: Record<string, unknown> = {};
circle["itself"] = circle;

test.each([
  [1n, /BigInt/],
  [circle, /circular/],
])("what cannot be sent over HTTP (%#) is a TypeError, and nothing is sent", async (args, why) => {
  using server = await web((request, response) => reply(response, request, true));
  using client = createHttpClient(server.url, redirects);
  const error = await failure(client.call("set_object", { args } as never));
  expect(error).toBeInstanceOf(TypeError);
  expect(error.message).toMatch(why);
  expect(server.said).toEqual([]);
});

/** Sends a change over HTTP, and returns the number of attempts and the outcome. */
const changed = async (url: string) => {
  let tries = 0;
  const counted: typeof fetch = (...given) => {
    tries += 1;
    return fetch(...given);
  };
  using hero = connectHttp(url, { ...redirects, fetch: counted });
  const { name, message } = await failure(hero.jobs.stop("a"));
  return { tries, name, message };
};

test("a change that no TLS carries over HTTP was not sent, is not tried again, and says why", async () => {
  using plain = await web((request, response) => reply(response, request, true));
  const spoken = await changed(plain.url.replace("http:", "https:"));
  expect(spoken).toMatchObject({ name: "ConnectionFailed", tries: 1 });
  expect(spoken.message).toMatch(/speaks no TLS.*http:\/\//);
  const server = createTlsServer(selfSigned).listen(0, "127.0.0.1");
  await new Promise((listens) => server.once("listening", listens));
  const vouched = await changed(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(vouched).toMatchObject({ name: "ConnectionFailed", tries: 1 });
  expect(vouched.message).toContain("NODE_EXTRA_CA_CERTS");
  server.close();
});

test("a change that nobody takes over HTTP is tried again: it was not sent", async () => {
  for (const url of [await nobody(), "http://nowhere.invalid"])
    expect(await changed(url)).toMatchObject({ name: "ConnectionFailed", tries: 2 });
});

test.each([429, 502, 503, 504])("a WebSocket that is answered %i is tried again: that may pass", async (status) => {
  using server = await web((_, response) => response.writeHead(status).end("Not now"));
  const attempts: Status[] = [];
  using client = createClient(server.url.replace("http", "ws"), {
    reconnect: { ...quick.reconnect, firstAttempts: 2 },
  });
  client.onStatus((each) => attempts.push(each));
  const error = await failure(ping(client));
  expect(error.message).toMatch(status === 429 ? /takes no connection now.*Not now.*--max/ : /a proxy.*Not now/);
  expect(attempts.filter(({ state }) => state === "connecting").length).toBe(2);
});

test("a change that a server with too many connections answers 429 over HTTP is tried again: it was not carried out", async () => {
  using server = await web((request, response) => {
    if (server.said.length === 1) response.writeHead(429).end("Too many connections");
    else reply(response, request, "stopped");
  });
  using hero = connectHttp(server.url, redirects);
  expect(await hero.jobs.stop("a")).toBe("stopped");
  using busy = await web((_, response) => response.writeHead(429).end("Too many connections"));
  const { name, message } = await changed(busy.url);
  expect(name).toBe("ConnectionFailed");
  expect(message).toMatch(/takes no connection now \(HTTP 429: Too many connections\)/);
});

test("what speaks something else than HTTP is told from a server that is not there", async () => {
  await using ssh = await tcp((socket) => socket.once("data", () => socket.end("SSH-2.0-OpenSSH_9.6\r\n")));
  using hero = connect(`ws://127.0.0.1:${ssh.port}`);
  const error = await failure(hero.ping());
  expect(error).toBeInstanceOf(ProtocolError);
  expect(error.message).toMatch(/speaks no HTTP \(HPE_.*: SSH-2.0-OpenSSH_9.6\), so it is no hero server/);
  using overHttp = connectHttp(`http://127.0.0.1:${ssh.port}`, redirects);
  expect(await failure(overHttp.ping())).toMatchObject({
    name: "ProtocolError",
    message: error.message.replace("ws:", "http:"),
  });
  // As Redis does.
  await using silent = await tcp((socket) => socket.once("data", () => socket.end()));
  using other = connect(`ws://127.0.0.1:${silent.port}`);
  expect((await failure(other.ping())).message).toMatch(/^something answers at .* without a word of HTTP/);
});

test("a port that nothing calls over HTTP is told as such, and as one where nobody answers only if so", async () => {
  using nobody = connect("ws://127.0.0.1:1");
  expect((await failure(nobody.ping())).message).toMatch(
    /^nobody answers at ws:\/\/127.0.0.1:1 \(ECONNREFUSED\): is the/,
  );
  // A port of IRC, which `fetch` never calls.
  await using chat = await tcp((socket) => socket.end(), 6669);
  using hero = connect(`ws://127.0.0.1:${chat.port}`);
  expect((await failure(hero.ping())).message).toMatch(/^no WebSocket opens at .* \(bad port\): is that the address/);
  expect(await changed("http://127.0.0.1:22")).toMatchObject({
    name: "ConnectionFailed",
    tries: 1,
    message: expect.stringMatching(/of another protocol \(bad port\)$/) as string,
  });
});

test("a token that no header may have is told as such over a WebSocket, without itself", async () => {
  await using server = await fake(() => undefined);
  using hero = connect(server.url, { token: "hero_a\nb" });
  const error = await failure(hero.ping());
  expect(error.name).toBe("LoginRefused");
  expect(error.message).toMatch(/^the token has a line end/);
});

test("a page of somebody else is shown as one short line without tags", async () => {
  const page = `<!doctype html>\n<html>\n<head><title>It works!</title></head>\n<body>\n${"<p>Apache\n</p>".repeat(50)}</body>`;
  using server = await web((_, response) => response.end(page));
  const shown = /\(HTTP 200: ([^)]*)\)/;
  for (const hero of [connect(server.url.replace("http", "ws")), connectHttp(server.url)]) {
    const said = shown.exec((await failure(hero.ping())).message)?.[1];
    expect(said).toMatch(/^It works! Apache Apache/);
    expect(said?.length).toBeLessThanOrEqual(80);
    hero.close();
  }
});

test("a token over HTTP that no header may have is told as such, without itself", async () => {
  using server = await web((request, response) => reply(response, request, true));
  using hero = connectHttp(server.url, { ...redirects, token: "hero_a\nb" });
  const error = await failure(hero.jobs.stop("a"));
  expect(error.name).toBe("LoginRefused");
  expect(error.message).toMatch(/^the token has a line end/);
  expect(server.said).toEqual([]);
});

test("an error that is printed does not show what was sent, which its reader can still have", async () => {
  await using server = await fake((_, socket) => {
    socket.terminate();
  });
  using client = createClient(server.url, quick);
  const error = await failure(client.call("present_token", { token: "hero_secret" }));
  expect(error).toBeInstanceOf(OutcomeUnknown);
  expect(error).toMatchObject({ params: { token: "hero_secret" } });
  expect(inspect(error, { depth: 9 })).not.toContain("hero_secret");
  expect(JSON.stringify(error)).not.toContain("hero_secret");
  expect(Object.keys(error)).not.toContain("params");
});

test("a duration that is no whole number of milliseconds limits a call over HTTP as any other", async () => {
  using server = await web((request, response) => {
    reply(response, request, request.method === "ping" ? "pong" : { job_id: "j", value: 1 });
  });
  using hero = connectHttp(server.url);
  await hero.ping({ callTimeout: 1.001 });
  await hero.run("1", { wait_timeout: 2.3 }).catch(() => undefined);
  expect(server.said.map(({ method }) => method)).toEqual(["ping", "run_and_wait"]);
  using socket = connect(server.url, { connectTimeout: 1.001, reconnect: false });
  expect((await failure(socket.ping())).message).toMatch(/answers over HTTP, but no WebSocket opens/);
});
