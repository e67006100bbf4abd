// Tests against a real server.
import { createServer } from "node:net";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, inject, test, vi } from "vitest";
import { connect, createClient, JobFailed, JobNotFound, LoginRefused, run, wallet } from "../src/index.js";
import { connectHttp } from "../src/http.js";
import { serve } from "../src/testing.js";
import { signer } from "./signer.js";
import { breaking, failure, numbers, quick, reaches } from "./support.js";

const url = inject("url");

afterEach(() => vi.unstubAllEnvs());

test("a script runs, and its value comes back", async () => {
  using hero = connect(url);
  expect(await hero.run("args.a + args.b", { args: { a: 40, b: 2 } })).toBe(42);
  const failed = await failure(hero.run("let x = 1;\nthrow #{ message: `no`, a: 1 }"));
  expect(failed).toBeInstanceOf(JobFailed);
  expect(failed).toMatchObject({ kind: "script", line: 2, thrown: { message: "no", a: 1 } });
  expect(await failure(hero.jobs.get("6f1c4d1e-0000-4c7e-9d0a-2b3c4d5e6f70"))).toBeInstanceOf(JobNotFound);
});

test("the functions do alone what the object does", async () => {
  using client = createClient(url);
  expect(await run(client, "40 + 2")).toBe(42);
});

test("jobs are made, started, followed, listed and deleted", async () => {
  using hero = connect(url);
  const name = `listed ${Date.now()}`;
  const id = await hero.jobs.create('print("one"); print("two"); 3', { name });
  const lines = hero.jobs.followLogs(id);
  const changes = hero.jobs.follow(id);
  await hero.jobs.start(id);
  const texts: string[] = [];
  for await (const line of lines) texts.push(line.type === "line" ? line.text : line.type);
  expect(texts).toEqual(["one", "two", "ended"]);
  let last = "";
  for await (const change of changes) if (change.type === "event") last = change.status;
  expect(last).toBe("finished");
  expect((await hero.jobs.wait<number>(id)).value).toBe(3);
  expect((await hero.jobs.result(id)).output).toBe("3");
  expect((await hero.jobs.logs(id)).lines.map(({ text }) => text)).toEqual(["one", "two"]);
  const listed = (await hero.jobs.list()).jobs.filter((job) => job.name === name);
  expect(listed.map(({ job_id }) => job_id)).toEqual([id]);
  expect(await hero.jobs.delete(id)).toBe(true);
});

test("flows, schedules, objects and contexts are reached", async () => {
  using hero = connect(url);
  const flow = await hero.flows.run({ a: { script: "1" }, b: { script: "inputs.a + 1", depends_on: ["a"] } });
  expect(flow.result).toEqual({ a: "1", b: "2" });
  const failed = await failure(hero.flows.run({ a: { script: "throw 1" } }));
  expect(failed).toBeInstanceOf(JobFailed);
  expect(failed).toMatchObject({ failed: [{ job: "a" }] });
  const schedule = await hero.schedules.create({ script: "1" }, { every: 3600 });
  expect((await hero.schedules.list()).schedules.map(({ schedule_id }) => schedule_id)).toContain(schedule.schedule_id);
  expect(await hero.schedules.delete(schedule.schedule_id)).toBe(true);
  const id = await hero.objects.set("plums", { name: "plum", price: 3 });
  expect(await hero.objects.get<{ price: number }>("plums", id)).toMatchObject({ price: 3 });
  expect((await hero.objects.find("plums")).objects.length).toBe(1);
  expect((await hero.contexts.get()).context_id).toBe(0);
  expect((await hero.messages.list()).messages).toEqual([]);
});

test("aborting a run stops its job on the server", async () => {
  using hero = connect(url);
  const name = `stopped ${Date.now()}`;
  const leaving = new AbortController();
  const ran = failure(hero.run("loop { }", { name, signal: leaving.signal, stopOnAbort: true }));
  const job = async () => (await hero.jobs.list()).jobs.find((each) => each.name === name);
  // A call that was never sent needs no stop.
  await expect.poll(job, { timeout: 30_000 }).toBeDefined();
  leaving.abort();
  expect((await ran).name).toBe("AbortError");
  await expect.poll(async () => (await job())?.error?.kind, { timeout: 30_000 }).toBe("stopped");
});

test("no line is missing and none comes twice over a connection that breaks again and again", async () => {
  const LINES = 400;
  const chance = numbers(25);
  await using proxy = await breaking(url, () => 500 + Math.floor(chance() * 12_000));
  using straight = connect(url);
  using hero = connect(proxy.url, {
    ...quick,
    reconnect: { ...quick.reconnect, attempts: Infinity, firstAttempts: Infinity },
  });
  const id = await straight.jobs.create("for n in 0..args { print(`line ${n}`); }", { args: LINES });
  const lines = hero.jobs.followLogs(id, { buffer: 64 });
  await straight.jobs.start(id);
  const seen: string[] = [];
  for await (const line of lines) seen.push(line.type === "line" ? line.text : line.type);
  expect(seen).toEqual([...Array.from({ length: LINES }, (_, at) => `line ${at}`), "ended"]);
  expect(proxy.breaks()).toBeGreaterThan(3);
});

test("a flow over a connection that breaks again and again is followed to its end", async () => {
  const chance = numbers(11);
  await using proxy = await breaking(url, () => 300 + Math.floor(chance() * 900));
  using straight = connect(url);
  using hero = connect(proxy.url, {
    ...quick,
    reconnect: { ...quick.reconnect, attempts: Infinity, firstAttempts: Infinity },
  });
  const names = Array.from({ length: 12 }, (_, at) => `job${at}`);
  const id = await straight.flows.create(Object.fromEntries(names.map((name) => [name, { script: name.slice(3) }])));
  const [broken, whole] = [hero.flows.follow(id), straight.flows.follow(id)];
  await Promise.all([broken.opened, whole.opened]);
  await straight.flows.start(id);
  const collect = async (items: typeof whole) => {
    const [changes, last] = [[] as string[], [] as string[]];
    let cursors = true;
    for await (const item of items) {
      if (item.type === "flow" && item.job) changes.push(`${item.job} ${item.job_status ?? ""}`);
      if (item.type === "flow") cursors = cursors && "cursor" in item;
      last.push(item.type === "flow" ? item.status : item.type);
    }
    return { changes, end: last.slice(-2), cursors };
  };
  const [seen, all] = await Promise.all([collect(broken), collect(whole)]);
  expect(seen.end).toEqual(["finished", "ended"]);
  expect(all.end).toEqual(["finished", "ended"]);
  // Without a server cursor, the client does not report the events of a gap, only the state of the flow after it.
  if (all.cursors) expect(seen.changes.sort()).toEqual(all.changes.sort());
  expect(proxy.breaks()).toBeGreaterThan(0);
});

test("runs over a connection that breaks again and again run once each", async () => {
  const chance = numbers(7);
  const name = `once ${Date.now()}`;
  await using proxy = await breaking(url, () => 100 + Math.floor(chance() * 2_000));
  using straight = connect(url);
  using hero = connect(proxy.url, {
    ...quick,
    reconnect: { ...quick.reconnect, attempts: Infinity, firstAttempts: Infinity },
  });
  for (let round = 0; round < 5; round += 1) {
    const values = await Promise.all(Array.from({ length: 10 }, (_, at) => hero.run("args * 2", { args: at, name })));
    expect(values).toEqual(Array.from({ length: 10 }, (_, at) => at * 2));
  }
  expect(proxy.breaks()).toBeGreaterThan(3);
  const jobs = (await straight.jobs.list({ limit: 1000 })).jobs.filter((job) => job.name === name);
  expect(jobs.length).toBe(50);
  expect(jobs.every(({ attempt }) => attempt === 1)).toBe(true);
});

const freePort = async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
};

test("a run and a log go on when the server is killed and comes back", async () => {
  const data = await mkdtemp(join(tmpdir(), "hero-"));
  const listen = `127.0.0.1:${await freePort()}`;
  const first = await serve({ data, listen });
  using hero = connect(first.url, { reconnect: { attempts: Infinity, maxDelay: 0.5 } });
  const idempotency_key = "survives";
  const script = "for n in 0..40 { print(`line ${n}`); sleep(0.1); } 42";
  const id = await hero.jobs.create(script, { idempotency_key, retries: 3, timeout: 60 });
  const lines = hero.jobs.followLogs(id);
  const ran = hero.run(script, { idempotency_key, retries: 3, timeout: 60 });
  const seen = [(await lines.next()).value, (await lines.next()).value].map((line) =>
    line?.type === "line" ? line.text : "",
  );
  await first.stop("SIGKILL");
  await reaches(hero, "waiting");
  await using second = await serve({ data, listen });
  expect(await ran).toBe(42);
  for await (const line of lines) if (line.type === "line") seen.push(line.text);
  // The job runs again from its start, as its log shows. Each line of the log appears once.
  const { lines: all } = await hero.jobs.logs(id, { limit: 1000 });
  expect(seen).toEqual(all.map(({ text }) => text));
  await second.stop();
  await rm(data, { recursive: true, force: true });
});

test("a server with too many connections says so, and takes who waits once another has gone", async () => {
  await using server = await serve({ args: ["--max-per-address", "2"] });
  using first = connect(server.url);
  using second = connect(server.url);
  await Promise.all([first.ping(), second.ping()]);
  using third = connect(server.url);
  expect((await failure(third.ping())).message).toMatch(/takes no connection now/);
  using patient = connect(server.url, {
    reconnect: { ...quick.reconnect, firstAttempts: Infinity, attempts: Infinity },
  });
  const pong = patient.ping();
  await reaches(patient, "waiting");
  second.close();
  expect(await pong).toBe("pong");
});

test("a token and a wallet log in, and a wrong token says so", async () => {
  await using server = await serve({ args: ["--login"] });
  const { program } = server;
  const at = ["--server", `unix://${server.data}/hero.sock`];
  const say = async (...args: string[]) => (await promisify(execFile)(program, [...args, ...at])).stdout.trim();
  const keyFile = join(server.data, "wallet.key");
  const pubkey = (await promisify(execFile)(program, ["identity", "key", keyFile])).stdout.trim();
  const identity = await say("identity", "create", "--pubkey", pubkey);
  await say("rights", "grant", identity, "caller");
  const token = await say("token", "create", identity);

  using shown = connect(server.url, { token });
  expect((await shown.whoami()).identity_id).toBe(Number(identity));
  expect(await shown.run("40 + 2")).toBe(42);
  for (const nobody of [connect(server.url), connectHttp(server.url)]) {
    const error = await failure(nobody.jobs.list());
    expect(error.name).toBe("NotAuthenticated");
    expect(error.message).toMatch(/give `token` or `login`, or set HERO_TOKEN$/);
    nobody.close();
  }
  using wrong = connect(server.url, { token: "hero_wrong" });
  expect(await failure(wrong.ping())).toBeInstanceOf(LoginRefused);
  using overHttp = connectHttp(server.url.replace("ws", "http"), { token });
  expect(await overHttp.run("40 + 2")).toBe(42);
  using wrongOverHttp = connectHttp(server.url.replace("ws", "http"), { token: "hero_wrong" });
  expect(await failure(wrongOverHttp.ping())).toBeInstanceOf(LoginRefused);

  const login = wallet(await signer(keyFile));
  using signed = connect(server.url, { ...quick, login });
  expect((await signed.whoami()).identity_id).toBe(Number(identity));
  let logins = 0;
  let wrongs = 1;
  const counted = wallet({ ...(await signer(keyFile)), onLogin: () => (logins += 1) });
  // A session that the server no longer knows, as after a revocation.
  const spoiling: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    if (headers.has("authorization") && wrongs-- > 0) headers.set("authorization", "Bearer hero_wrong");
    return fetch(input, { ...init, headers });
  };
  using signedOverHttp = connectHttp(server.url, { login: counted, fetch: spoiling });
  expect((await signedOverHttp.whoami()).identity_id).toBe(Number(identity));
  expect(logins).toBe(2);
  wrongs = 2;
  expect((await failure(signedOverHttp.whoami())).message).toMatch(/nor one of a new login/);
  expect(logins).toBe(3);
});

test("calls over HTTP do what those over a WebSocket do, but following", async () => {
  using hero = connectHttp(url.replace("ws", "http"));
  expect(await hero.run("40 + 2")).toBe(42);
  expect(await failure(hero.run("throw 1"))).toBeInstanceOf(JobFailed);
  expect((await failure(hero.jobs.follow("a").next())).message).toMatch(/needs a WebSocket/);
  using nobody = connectHttp("http://127.0.0.1:9", { reconnect: { attempts: 2, minDelay: 0.01 } });
  expect((await failure(nobody.ping())).name).toBe("ConnectionFailed");
});

test("a server for tests has none of the settings of who runs them, only those that the test gives", async () => {
  vi.stubEnv("HERO_LOGIN", "true");
  await using open = await serve();
  using hero = connect(open.url);
  expect((await hero.jobs.list()).jobs).toEqual([]);
  await using closed = await serve({ env: { HERO_LOGIN: "true" } });
  using refused = connect(closed.url);
  expect((await failure(refused.jobs.list())).name).toBe("NotAuthenticated");
});

test("the program of a server for tests is HERO_BIN, otherwise HERO", async () => {
  vi.stubEnv("HERO_BIN", "/nowhere/bin");
  vi.stubEnv("HERO", "/nowhere/hero");
  expect((await failure(serve())).message).toMatch(/^\/nowhere\/bin cannot be started .*HERO_BIN/);
  vi.stubEnv("HERO_BIN", "");
  expect((await failure(serve())).message).toMatch(/^\/nowhere\/hero cannot be started/);
});
