// Calls that are given up after they were sent: the caller can make them again with the same key.
import { expect, test } from "vitest";
import { connect, ConnectionFailed, createClient, LoginRefused, OutcomeUnknown, ProtocolError } from "../src/index.js";
import { createJob, getJob, run, stopJob } from "../src/index.js";
import { connectHttp, createHttpClient } from "../src/http.js";
import { answer, failure, fake, quick } from "./support.js";

const twice = { reconnect: { attempts: 2, firstAttempts: 2, minDelay: 0.01 } };

test("a run that was sent and whose server is gone for good has an unknown outcome, with its key", async () => {
  const server = await fake((request, socket) => {
    if (request.method === "ping") return answer(socket, request, "pong");
    // The server has taken the call, and does not come back.
    if (server.requests.length > 3) void server.close();
  });
  using hero = connect(server.url, twice);
  await hero.ping();
  const calls = [failure(hero.run("40 + 2")), failure(hero.jobs.create("1")), failure(hero.jobs.get("a"))];
  const [ran, made, read] = await Promise.all(calls);
  for (const [error, method] of [
    [ran, "run_and_wait"],
    [made, "create_job"],
  ] as const) {
    const sent = server.requests.find((request) => request.method === method);
    expect(error).toBeInstanceOf(OutcomeUnknown);
    expect(error).toMatchObject({ method, params: { idempotency_key: sent?.params["idempotency_key"] } });
    expect(error?.message).toMatch(/was done is not known, so repeat it with its `params`/);
    expect(error?.cause).toBeInstanceOf(ConnectionFailed);
  }
  // What only reads, and what was never sent, has no outcome.
  expect(read).toBeInstanceOf(ConnectionFailed);
  expect(await failure(hero.run("1"))).toBeInstanceOf(ConnectionFailed);
});

test("so has a run without reconnecting, one that its server does not survive, and jobs that are made together", async () => {
  await using server = await fake((_, socket) => {
    socket.terminate();
  });
  using once = connect(server.url, { reconnect: false });
  expect(await failure(once.run("1"))).toBeInstanceOf(OutcomeUnknown);
  using often = connect(server.url, quick);
  expect(await failure(often.run("1"))).toBeInstanceOf(OutcomeUnknown);
  const error = await failure(often.jobs.createMany([{ script: "1" }]));
  expect(error).toMatchObject({ name: "OutcomeUnknown", method: "create_jobs" });
  expect(await failure(often.jobs.get("a"))).toBeInstanceOf(ConnectionFailed);
});

test("a run whose server shuts down for good during its wait names the job that it began", async () => {
  const server = await fake(({ id }, socket) => {
    const data = { job_id: "j", status: "started" };
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, error: { code: 1102, message: "the wait ran out", data } }));
    void server.close();
  });
  using hero = connect(server.url, twice);
  const error = await failure(hero.run("1"));
  expect(error).toMatchObject({ name: "OutcomeUnknown", method: "wait_job", params: { job_id: "j" } });
  expect(await failure(hero.jobs.wait("j"))).toBeInstanceOf(ConnectionFailed);
});

test("what was sent before the token expired has an unknown outcome, because of the refusal", async () => {
  await using server = await fake((_, socket) => {
    if (server.requests.length === 4) socket.close(1008, "the token was revoked or has expired");
  });
  using client = createClient(server.url, { ...quick, token: "hero_short" });
  const calls = [run(client, "1"), createJob(client, "1"), stopJob(client, "a"), getJob(client, "a")];
  const [ran, made, stopped, read] = await Promise.all(calls.map((call) => failure(call)));
  for (const [error, method] of [
    [ran, "run_and_wait"],
    [made, "create_job"],
  ] as const) {
    expect(error).toMatchObject({ name: "OutcomeUnknown", method });
    expect(error).toMatchObject({ params: { idempotency_key: expect.any(String) as string } });
    expect(error?.cause).toBeInstanceOf(LoginRefused);
  }
  expect(stopped).toMatchObject({ name: "OutcomeUnknown", method: "stop_job", params: { job_id: "a" } });
  expect(read).toBeInstanceOf(LoginRefused);
});

test.each([1003, 1006, 1007, 1009])(
  "a create that was lost and then refused (%i) has an unknown outcome, one that was only refused has none",
  async (code) => {
    await using server = await fake(({ id }, socket, said) => {
      if (said === 1) return socket.terminate();
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: "not now" } }));
    });
    using client = createClient(server.url, quick);
    const lost = await failure(run(client, "1"));
    expect(lost).toMatchObject({ name: "OutcomeUnknown", method: "run_and_wait", cause: { code } });
    expect(lost).toMatchObject({ params: { idempotency_key: server.requests[0]?.params["idempotency_key"] } });
    expect(server.requests.length).toBe(2);
    expect(await failure(createJob(client, "1"))).toMatchObject({ code });
  },
);

test.each([1010, 1101, 1103])("an error of the job itself (%i) is that of a run that was sent again", async (code) => {
  await using server = await fake(({ id }, socket, said) => {
    if (said === 1) return socket.terminate();
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: "it says so", data: { job_id: "j" } } }));
  });
  using client = createClient(server.url, quick);
  expect(await failure(run(client, "1"))).toMatchObject({ code, jobId: "j" });
});

test("over HTTP, too: a run that may have arrived has an unknown outcome, one that did not arrive has none", async () => {
  const failing = (code: string) => Object.assign(new TypeError("fetch failed"), { cause: { code } });
  const hero = (...answers: (() => Promise<Response>)[]) => {
    const given = () => (answers.shift() ?? (() => Promise.reject(failing("ECONNREFUSED"))))();
    return connectHttp("http://h:1", { fetch: given, token: "t", reconnect: { attempts: 2, minDelay: 0.01 } });
  };
  const broken = () => Promise.reject(failing("ECONNRESET"));
  const lost = await failure(hero(broken).run("1"));
  const params = { idempotency_key: expect.any(String) as string };
  expect(lost).toMatchObject({ name: "OutcomeUnknown", method: "run_and_wait", params });
  const refusal = { jsonrpc: "2.0", id: null, error: { code: 1005, message: "the token has expired" } };
  const refused = await failure(hero(broken, () => Promise.resolve(Response.json(refusal))).run("1"));
  expect(refused).toMatchObject({ name: "OutcomeUnknown", cause: { name: "LoginRefused" } });
  const saying = (code: number) => () =>
    Promise.resolve(Response.json({ jsonrpc: "2.0", id: null, error: { code, message: "not now" } }));
  for (const code of [1006, 1007, 1009]) {
    const refused = await failure(hero(broken, saying(code)).run("1"));
    expect(refused).toMatchObject({ name: "OutcomeUnknown", params, cause: { code } });
    expect(await failure(hero(saying(code)).run("1"))).toMatchObject({ code });
    expect(await failure(hero(broken, saying(code)).jobs.get("a"))).toMatchObject({ code });
  }
  expect(await failure(hero(broken, saying(1101)).run("1"))).toMatchObject({ code: 1101 });
  expect(await failure(hero().run("1"))).toBeInstanceOf(ConnectionFailed);
  expect(await failure(hero(broken).jobs.get("a"))).toBeInstanceOf(ConnectionFailed);
});

test("an answer that `ws` does not take, because it is far larger than maxMessage, is not asked for again", async () => {
  const large = "x".repeat(2_000_000);
  await using server = await fake((request, socket) => {
    answer(socket, request, request.method === "ping" ? "pong" : { job_id: large });
  });
  // Node.js uses `ws` where it has no WebSocket of its own.
  const { limited } = await import("../src/ws-node.js");
  const options = { ...quick, maxMessage: 1_000, WebSocket: limited(1_000) as never };
  using client = createClient(server.url, options);
  const calls = [failure(getJob(client, "a")), failure(stopJob(client, "a")), failure(createJob(client, "1"))];
  const [read, changed, made] = await Promise.all(calls);
  expect(read).toBeInstanceOf(ProtocolError);
  expect(read?.message).toMatch(/more than maxMessage/);
  expect(changed).toBeInstanceOf(OutcomeUnknown);
  const params = { idempotency_key: expect.any(String) as string };
  expect(made).toMatchObject({
    name: "OutcomeUnknown",
    method: "create_job",
    params,
    cause: { name: "ProtocolError" },
  });
  expect(await client.call("ping", {})).toBe("pong");
  expect(server.requests.filter(({ method }) => method === "get_job").length).toBe(1);
});

test("an answer that cannot be read leaves the outcome of a change unknown, with its call, over HTTP and a WebSocket", async () => {
  const large = JSON.stringify({ jsonrpc: "2.0", id: 1, result: "x".repeat(2_000) });
  const [params, keyed] = [{ job_id: "a" }, { script: "1", idempotency_key: "k" }];
  for (const odd of ["<html>", '{"jsonrpc":"2.0","result":1}', large]) {
    const fetch = () => Promise.resolve(new Response(odd));
    using overHttp = createHttpClient("http://h:1", { fetch, maxMessage: 1_000 });
    await using server = await fake((request, socket) => {
      if (request.method === "ping") return answer(socket, request, "pong");
      socket.send(odd.replace('"id":1', `"id":${request.id}`));
    });
    using socket = createClient(server.url, { reconnect: { attempts: 2, minDelay: 0.01 }, maxMessage: 1_000 });
    await socket.call("ping", {});
    for (const client of [overHttp, socket]) {
      const made = await failure(client.call("create_job", keyed, { again: "keyed" }));
      expect(made).toMatchObject({ name: "OutcomeUnknown", method: "create_job", params: keyed });
      expect(made.message).toMatch(/whether create_job was done is not known, so repeat it/);
      const deleted = await failure(client.call("delete_job", params));
      expect(deleted).toMatchObject({ name: "OutcomeUnknown", method: "delete_job", params });
      expect(deleted.message).toMatch(/not sent again$/);
      const begun = await failure(client.call("wait_job", params, { again: "begun" }));
      expect(begun).toMatchObject({ name: "OutcomeUnknown", method: "wait_job", params });
    }
    const causes = [
      failure(overHttp.call("delete_job", params)),
      failure(overHttp.call("get_job", params, { again: true })),
    ];
    const [deleted, read] = await Promise.all(causes);
    expect(deleted?.cause).toBeInstanceOf(ProtocolError);
    expect(read).toBeInstanceOf(ProtocolError);
    expect(overHttp.status).toEqual({ state: "idle" });
  }
});

test("a call over HTTP that did not arrive is not told as sent, and nothing is made to be stopped", async () => {
  const failing = (code: string) => Promise.reject(Object.assign(new TypeError("fetch failed"), { cause: { code } }));
  const stopping = { stopOnAbort: true, callTimeout: 0.2 };
  for (const [code, sent] of [
    ["ECONNREFUSED", false],
    ["ECONNRESET", true],
  ] as const) {
    const asked: string[] = [];
    const fetch = (_: unknown, init?: RequestInit) => {
      asked.push((JSON.parse(init?.body as string) as { method: string }).method);
      return failing(code);
    };
    using hero = connectHttp("http://h:1", { fetch, reconnect: { attempts: 100, minDelay: 0.05, maxDelay: 0.05 } });
    const error = await failure(hero.jobs.create("1", { callTimeout: 0.2 }));
    expect(error).toMatchObject({ name: "CallTimeout", sent });
    expect(error.message).toMatch(sent ? /whether it was carried out is not known$/ : /it was not sent$/);
    asked.length = 0;
    const ran = await failure(hero.run("1", sent ? { stopOnAbort: false, callTimeout: 0.2 } : stopping));
    expect(ran).toMatchObject({ name: "CallTimeout", sent });
    expect(new Set(asked)).toEqual(new Set(["run_and_wait"]));
  }
});

test("a call over HTTP that waits for a login without an answer was not sent", async () => {
  const fetch = () => Promise.reject(Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNRESET" } }));
  const login = async (call: (method: string, params: object) => Promise<unknown>) =>
    call("fetch_nonce", { pubkey: "04" });
  const reconnect = { attempts: 2, minDelay: 0.01 };
  using hero = connectHttp("http://h:1", { fetch, login: login, reconnect });
  expect(await failure(hero.run("1"))).toBeInstanceOf(ConnectionFailed);
  using odd = connectHttp("http://h:1", {
    fetch: () => Promise.resolve(new Response("<html>")),
    login: login,
  });
  expect(await failure(odd.run("1"))).toBeInstanceOf(ProtocolError);
});
