// Servers of another version, servers that want a login, and what is no hero server at all.
import { afterEach, expect, test, vi } from "vitest";
import { connect, ConnectionFailed, createClient, listJobs, ProtocolError, run, version } from "../src/index.js";
import { connectHttp } from "../src/http.js";
import { connectMemory, refusal } from "../src/memory.js";
import { answer, failure, fake, tcp } from "./support.js";

afterEach(() => vi.unstubAllGlobals());

/** A `fetch` that answers like this. */
const answering =
  (result: (method: string) => object): typeof fetch =>
  (_, init) => {
    const { id, method } = JSON.parse(init?.body as string) as { id: number; method: string };
    return Promise.resolve(Response.json({ jsonrpc: "2.0", id, ...result(method) }));
  };

test.each([{ nonsense: 1 }, null, "text", 42, []])(
  "an answer of another shape (%j) is told with the call and both versions, not given as undefined",
  async (odd) => {
    const result = (method: string) => (method === "server_info" ? { version: "0.0.9" } : odd);
    await using server = await fake((request, socket) => {
      answer(socket, request, result(request.method));
    });
    using client = createClient(server.url);
    using hero = connect(server.url);
    using overHttp = connectHttp("http://h:1", { fetch: answering((method) => ({ result: result(method) })) });
    const calls = {
      run_and_wait: [() => run(client, "1"), () => hero.run("1"), () => overHttp.run("1")],
      wait_job: [() => hero.jobs.wait("j"), () => overHttp.jobs.wait("j")],
      get_result: [() => hero.jobs.result("j")],
      list_jobs: [() => listJobs(client), () => hero.jobs.list(), () => overHttp.jobs.list()],
      find_objects: [() => hero.objects.find("things")],
      run_flow_and_wait: [() => hero.flows.run({})],
    };
    for (const [method, each] of Object.entries(calls)) {
      for (const call of each) {
        const error = await failure(call());
        expect(error).toBeInstanceOf(ProtocolError);
        expect(error.message).toContain(`answered ${method} with something else`);
        expect(error.message).toContain(`versions of server and client differ (0.0.9 and ${version})`);
        expect(error.stack).toContain(error.message);
      }
    }
  },
);

test("an id of a subscription that is none is told, too", async () => {
  using hero = connectMemory(() => ({ nonsense: 1 }));
  expect((await failure(hero.jobs.followLogs("j").next())).message).toContain("answered subscribe_logs");
});

test("a call that the server does not have is told with the version of the server, which it is asked for", async () => {
  const info = { version: "0.0.9" };
  const missing = { error: { code: -32601, message: "no such method" } };
  await using old = await fake((request, socket) => {
    if (request.method === "server_info") return answer(socket, request, info);
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: request.id, ...missing }));
  });
  using hero = connect(old.url);
  const fetch = answering((method) => (method === "server_info" ? { result: info } : missing));
  using overHttp = connectHttp("http://h:1", { fetch });
  const calls = [() => hero.functions.list(), () => hero.jobs.followLogs("j").next(), () => overHttp.functions.list()];
  for (const call of calls) {
    const error = await failure(call());
    expect(error.name).toBe("MethodNotFound");
    expect(error.message).toMatch(
      /\(0\.0\.9\) has no method (list_functions|subscribe_logs); this client was made for \d.*: install a newer server/,
    );
    expect(error).toMatchObject({ code: -32601 });
  }
});

test.each([{ version: "\x1b[2J" }, { version: 9 }, null, undefined])(
  "a server whose version is none (%j) is of another one",
  async (info) => {
    using hero = connectMemory((method) => {
      if (method === "server_info" && info !== undefined) return info;
      throw refusal("MethodNotFound", "no such method");
    });
    expect((await failure(hero.functions.list())).message).toContain("(of another version) has no method");
    expect((await failure(hero.server.info())).name).toMatch(info === undefined ? "MethodNotFound" : "ProtocolError");
  },
);

test("a login that is missing is asked for in words that fit a program, and others that fit a page", async () => {
  const refused = () => {
    throw refusal("NotAuthenticated", "no token in Authorization");
  };
  using hero = connectMemory(refused);
  const error = { code: 1005, message: "no token in Authorization" };
  using overHttp = connectHttp("http://h:1", { fetch: answering(() => ({ error })) });
  await using server = await fake(({ id }, socket) => {
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, error }));
  });
  using socket = connect(server.url);
  for (const each of [hero, overHttp, socket])
    expect((await failure(each.whoami())).message).toMatch(/; give `token` or `login`, or set HERO_TOKEN$/);
  vi.stubGlobal("location", { origin: "http://page.test" });
  expect((await failure(socket.whoami())).message).toMatch(/; log in with `login: wallet\(…\)`$/);
  expect((await failure(overHttp.whoami())).message).toMatch(/; give `token` or `login: wallet\(…\)`$/);
});

test.each([
  "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: no\r\n\r\n",
  "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
  "220 mail.test ESMTP\r\n",
])("what answers a handshake with %j is no hero server, which is told from nobody", async (said) => {
  await using other = await tcp((socket) => socket.once("data", () => socket.end(said)));
  using hero = connect(`ws://127.0.0.1:${other.port}`);
  const error = await failure(hero.run("1"));
  expect(error).toBeInstanceOf(ProtocolError);
  expect(error.message).toMatch(/^what answers at .* no hero server/);
});

test("a listener that says nothing is given connectTimeout once, and told as silent", async () => {
  await using silent = await tcp(() => undefined);
  using hero = connect(`ws://127.0.0.1:${silent.port}`, { connectTimeout: 2 });
  const begun = performance.now();
  const error = await failure(hero.ping());
  expect(performance.now() - begun).toBeLessThan(3_500);
  expect(error).toBeInstanceOf(ConnectionFailed);
  expect(error.message).toContain("did not answer within 2 s");
});
