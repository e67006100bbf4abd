// rpc-websockets calls, is refused, follows a log, and notifies while a call waits. The address of the server is the one argument.
const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { Client } = require("rpc-websockets");

async function main() {
  const client = new Client(process.argv[2], { reconnect: false });
  await new Promise((opened, failed) => client.once("open", opened).once("error", failed));

  // The library drops what fits none of its calls, so that is looked for below it.
  const strays = [];
  client.socket.addEventListener("message", ({ data }) => {
    const answer = JSON.parse(data);
    if (!answer.method && answer.id == null) strays.push(answer);
  });

  assert.equal((await client.call("run_and_wait", ["40 + 2"])).value, 42);
  const call = { script: "args.a + args.b", args: { a: 40, b: 2 }, timeout: 30 };
  assert.equal((await client.call("run_and_wait", call)).value, 42);

  await assert.rejects(client.call("get_job", [randomUUID()]), { code: 1001 });
  await assert.rejects(client.call("get_jobs", []), { code: -32601 });
  await assert.rejects(client.call("run_and_wait", { scrpt: "1" }), { code: -32602 });

  const job_id = randomUUID();
  assert.equal(await client.call("create_job", { script: 'print("hello"); 40 + 2', job_id }), job_id);
  const items = [];
  const hello = new Promise((seen) => client.on("logs", (params) => {
    items.push(params);
    if (params.result.text === "hello") seen(params.subscription);
  }));
  const subscription = await client.call("subscribe_logs", [job_id]);
  const waiting = client.call("wait_job", [job_id]);
  await client.notify("start_job", [job_id]);
  assert.equal((await waiting).value, 42, "the notification started the job");
  assert.equal(await hello, subscription);
  await client.call("unsubscribe_logs", { subscription });

  // A notification that is refused is told to nobody.
  await client.notify("start_job", [randomUUID()]);
  await client.notify("no_such_method", []);
  assert.equal(await client.call("ping"), "pong");
  assert.deepEqual(strays, []);
  client.close();
}

main().then(() => console.log("well"), (error) => {
  console.error(error);
  process.exit(1);
});
