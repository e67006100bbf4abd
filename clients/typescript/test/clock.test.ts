// Waits on a machine whose clock is set.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { connectHttp } from "../src/http.js";
import { connect, WaitTimeout } from "../src/index.js";
import { connectMemory, refusal } from "../src/memory.js";
import { answer, failure, fake, quick, type Request } from "./support.js";

const finished = { job_id: "j", status: "finished" as const, output: "42", value: 42, attempt: 1 };

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

const setClock = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

test("a wait is no longer than was said where the clock is set back", async () => {
  using hero = connectMemory({
    run_and_wait: async ({ wait_timeout = 0 }) => {
      await new Promise((resolve) => setTimeout(resolve, wait_timeout * 1000));
      setClock(-3600);
      throw refusal("WaitTimeout", "the wait ran out", { job_id: "j" });
    },
    wait_job: () => finished,
  });
  expect(await failure(hero.run("1", { wait_timeout: 0.2 }))).toBeInstanceOf(WaitTimeout);
});

test("an answer in time is taken where the clock is set forward", async () => {
  let end: ((result: typeof finished) => void) | undefined;
  let began: () => void;
  const running = new Promise<void>((resolve) => (began = resolve));
  using hero = connectMemory({
    run_and_wait: () => (began(), new Promise<typeof finished>((resolve) => (end = resolve))),
  });
  const ran = hero.run("1", { wait_timeout: 60 });
  await running;
  setClock(600);
  vi.advanceTimersByTime(1000);
  end?.(finished);
  expect(await ran).toBe(42);
});

test("a wait that is sent again has what is left of it, where the clock is set", async () => {
  await using server = await fake((request, socket, said) => {
    if (said > 1) return answer(socket, request, finished);
    setClock(600);
    socket.terminate();
  });
  using socket = connect(server.url, quick);
  expect(await socket.run("1", { wait_timeout: 60 })).toBe(42);
  const asked: Request["params"][] = [];
  const send = (_: unknown, init?: { body?: unknown }) => {
    const { id, params } = JSON.parse(String(init?.body)) as Request;
    if (asked.push(params) > 1) return Promise.resolve(Response.json({ jsonrpc: "2.0", id, result: finished }));
    setClock(600);
    return Promise.reject(new TypeError("it broke"));
  };
  using http = connectHttp("http://127.0.0.1:1", { ...quick, fetch: send });
  expect(await http.run("1", { wait_timeout: 60 })).toBe(42);
  for (const requests of [server.requests.map(({ params }) => params), asked]) {
    expect(requests.length).toBe(2);
    expect(requests[1]?.["wait_timeout"]).toBeGreaterThan(50);
    expect(requests[1]?.["wait_timeout"]).toBeLessThan(60);
  }
});
