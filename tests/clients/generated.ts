// A user of the client that @open-rpc/generator makes of openrpc.json. Compiled beside it; the port of the server is the one argument.
import { strict as assert } from "assert";
import { randomUUID } from "crypto";
import Hero, { JobResult, JobStatus } from "./index";

async function main() {
  const hero = new Hero({ transport: { type: "websocket", host: "127.0.0.1", port: Number(process.argv[2]), path: "/" } });
  hero.setDefaultTimeout(300_000);
  const strays: unknown[] = [];
  hero.onError((error) => strays.push(error));

  const result: JobResult = await hero.run_and_wait("40 + 2");
  assert.equal(result.value, 42);
  await assert.rejects(hero.get_job(randomUUID()), (error: { code: number }) => error.code === 1001);

  const id = await hero.create_job('print("hello"); 40 + 2');
  const hello = new Promise<string>((seen) => hero.onNotification(({ params }) => {
    if (params.result.text === "hello") seen(params.subscription);
  }));
  const subscription = await hero.subscribe_logs(id);
  const waiting = hero.wait_job(id);
  await hero.rpc.notify({ method: "start_job", params: [id] });
  assert.equal((await waiting).value, 42);
  assert.equal(await hello, subscription);

  const status: JobStatus = await hero.get_status(id);
  assert.equal(status, "finished");
  const info = await hero.server_info();
  assert.equal(typeof info.version, "string");
  assert.equal(await hero.ping(), "pong");
  assert.deepEqual(strays, []);
  hero.transport.close();
}

main().then(() => {
  console.log("well");
  // The library keeps the timer of every call until it strikes.
  process.exit(0);
}, (error) => {
  console.error(error);
  process.exit(1);
});
