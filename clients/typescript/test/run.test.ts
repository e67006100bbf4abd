// Runs and waits: after a restart of the server, without a waiting caller, and with special values.
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { connect, JobFailed, NotStopped, SchemaMismatch, WaitTimeout } from "../src/index.js";
import { connectHttp } from "../src/http.js";
import { connectMemory, refusal } from "../src/memory.js";
import { answer, failure, fake, quick } from "./support.js";

const finished = (value: unknown) => ({
  job_id: "j",
  status: "finished" as const,
  output: String(value),
  value,
  attempt: 1,
});

test("a run goes on as the same job after a connection that broke, with what is left of its wait", async () => {
  await using server = await fake((request, socket, said) => {
    if (said === 1) setTimeout(() => socket.terminate(), 100);
    else answer(socket, request, finished(42));
  });
  using hero = connect(server.url, quick);
  expect(await hero.run("40 + 2", { wait_timeout: 60 })).toBe(42);
  const [first, second] = server.requests.map(({ params }) => params);
  expect(second?.["idempotency_key"]).toBe(first?.["idempotency_key"]);
  expect(first?.["wait_timeout"]).toBeLessThanOrEqual(60);
  expect(second?.["wait_timeout"]).toBeLessThan(first?.["wait_timeout"] as number);
});

test("a wait that a server ends early, because it shuts down, goes on with wait_job", async () => {
  await using server = await fake((request, socket) => {
    if (request.method === "wait_job") return answer(socket, request, finished(42));
    const error = { code: 1102, message: "the wait ran out", data: { job_id: "j", status: "started" } };
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: request.id, error }));
  });
  using hero = connect(server.url, quick);
  expect(await hero.run("40 + 2", { context_id: 3 })).toBe(42);
  expect(server.requests[1]).toMatchObject({ method: "wait_job", params: { job_id: "j", context_id: 3 } });
});

test("a wait may be longer than one call waits", async () => {
  const asked: unknown[] = [];
  using hero = connectMemory({
    wait_job: ({ wait_timeout }) => {
      asked.push(wait_timeout);
      if (asked.length < 3) throw refusal("WaitTimeout", "later", { job_id: "j" });
      return finished(1);
    },
    ping: () => "pong",
  });
  // Time spent waiting for the connection shortens the wait.
  await hero.ping();
  expect((await hero.jobs.wait("j", { wait_timeout: Infinity })).value).toBe(1);
  expect(asked).toEqual([3600, 3600, 3600]);
});

test("a wait that runs out says so, with the job", async () => {
  using hero = connectMemory({
    run_and_wait: () => {
      throw refusal("WaitTimeout", "the wait ran out", { job_id: "j", status: "started" });
    },
  });
  const error = await failure(hero.run("loop {}", { wait_timeout: 0 }));
  expect(error).toBeInstanceOf(WaitTimeout);
  expect(error).toMatchObject({ jobId: "j" });
});

const stopped: string[] = [];
const stoppable = (answers: { stop?: () => unknown } = {}) => {
  stopped.length = 0;
  const keys: unknown[] = [];
  const running: { began: () => void } = { began: () => undefined };
  const hero = connectMemory({
    run_and_wait: ({ idempotency_key }) => (keys.push(idempotency_key), running.began(), new Promise(() => undefined)),
    create_job: ({ idempotency_key }) => (keys.push(idempotency_key), "j"),
    stop_job: ({ job_id }) => (stopped.push(job_id), answers.stop ? answers.stop() : "error"),
  });
  /** A signal that aborts a call after the server has received it. A call that was never sent needs no stop. */
  const leaving = (): AbortSignal => {
    const controller = new AbortController();
    running.began = () => {
      controller.abort();
    };
    return controller.signal;
  };
  return { hero, keys, leaving };
};

test("aborting a run stops its job if that is asked for, and leaves it otherwise", async () => {
  const { hero, keys, leaving } = stoppable();
  expect((await failure(hero.run("loop {}", { signal: leaving(), stopOnAbort: true }))).name).toBe("AbortError");
  expect(stopped).toEqual(["j"]);
  expect(keys[0]).toBe(keys[1]);
  expect((await failure(hero.run("loop {}", { signal: leaving() }))).name).toBe("AbortError");
  expect(stopped).toEqual(["j"]);
  // The connection is open, so the client sends within this turn of the loop, before any timer.
  expect((await failure(hero.run("loop {}", { callTimeout: 0.05, stopOnAbort: true }))).name).toBe("CallTimeout");
  expect(stopped).toEqual(["j", "j"]);
  hero.close();
});

test("a job that could not be stopped is told", async () => {
  const { hero, leaving } = stoppable({
    stop: () => {
      throw refusal("PermissionDenied", "no");
    },
  });
  const error = await failure(hero.run("loop {}", { signal: leaving(), stopOnAbort: true }));
  expect(error).toBeInstanceOf(NotStopped);
  expect(error).toMatchObject({ jobId: "j", cause: { name: "PermissionDenied" } });
  hero.close();
});

test("a value has the type of the parameter, and is checked by a schema", async () => {
  using hero = connectMemory({ run_and_wait: ({ script }) => finished(script === "text" ? "no" : { total: 42 }) });
  const typed = await hero.run<{ total: number }>("map");
  expectTypeOf(typed).toEqualTypeOf<{ total: number }>();
  const schema = z.object({ total: z.number().transform((total) => total + 1) });
  const checked = await hero.run("map", { schema });
  expectTypeOf(checked).toEqualTypeOf<{ total: number }>();
  expect(checked).toEqual({ total: 43 });
  const error = await failure(hero.jobs.run("text", { schema }));
  expect(error).toBeInstanceOf(SchemaMismatch);
  expect(error.message).toMatch(/the value of job j is not what the schema says/);
});

test.each([NaN, -1, "1s", "1", null])("a duration of %s is refused, and nothing is sent", async (odd) => {
  const sent: string[] = [];
  const hero = connectMemory((method) => (sent.push(method), finished(42)));
  const duration = odd as number;
  const http = connectHttp("http://127.0.0.1:8700", { fetch: () => Promise.reject(new Error("it was sent")) });
  for (const call of [
    hero.run("1", { wait_timeout: duration }),
    hero.run("1", { callTimeout: duration }),
    hero.jobs.wait("j", { wait_timeout: duration }),
    hero.flows.run({}, { wait_timeout: duration }),
    hero.jobs.get("j", { callTimeout: duration }),
    http.jobs.get("j", { callTimeout: duration }),
    http.run("1", { wait_timeout: duration }),
  ]) {
    const error = await failure(call);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(/^(wait_timeout|callTimeout) has to be a number from 0 on$/);
  }
  expect(sent).toEqual([]);
  hero.close();
});

test("null as options, which programs without types give, is as none", async () => {
  const hero = connectMemory((method) =>
    method === "run_and_wait" ? finished(42) : { flow_id: 1, status: "finished" },
  );
  const none = null as unknown as undefined;
  expect(await hero.run("1", none)).toBe(42);
  expect(await hero.jobs.run("1", none)).toMatchObject({ value: 42 });
  expect(await hero.flows.run({}, none)).toMatchObject({ flow_id: 1 });
  expect(await hero.flows.wait(1, none)).toMatchObject({ flow_id: 1 });
});

test("what is no schema is refused before anything is sent", async () => {
  const sent: string[] = [];
  using hero = connectMemory((method) => (sent.push(method), finished(42)));
  const schema = {} as z.ZodNumber;
  for (const call of [
    hero.run("1", { schema }),
    hero.jobs.wait("j", { schema }),
    hero.jobs.result("j", { schema }),
    hero.objects.get("things", "a", { schema }),
    hero.objects.find("things", { schema }),
  ]) {
    const error = await failure(call);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(/no `~standard`/);
  }
  expect(sent).toEqual([]);
});

test("an engine that gives no value gives its output as text", async () => {
  using hero = connectMemory({ run_and_wait: () => ({ job_id: "j", status: "finished", output: "42", attempt: 1 }) });
  expect(await hero.run("echo 42", { script_type: "bash" })).toBe("42");
});

test("a failed job has all that is known of its error", async () => {
  const error = { kind: "script", message: "no", line: 3, column: 7, stack: ["price_of"], data: { a: 1 } };
  using hero = connectMemory({
    run_and_wait: () => {
      throw refusal("JobFailed", "job j failed: no", { job_id: "j", status: "error", attempt: 2, error });
    },
  });
  const failed = await failure(hero.run("throw"));
  if (!(failed instanceof JobFailed)) throw failed;
  expect(failed).toMatchObject({
    kind: "script",
    line: 3,
    column: 7,
    scriptStack: ["price_of"],
    thrown: { a: 1 },
    attempt: 2,
    jobId: "j",
  });
  expectTypeOf(failed.name).toEqualTypeOf<"JobFailed">();
});
