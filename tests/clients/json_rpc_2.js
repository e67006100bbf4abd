// json-rpc-2.0, over ws, calls, is refused, follows a log, notifies while a call waits, and sends a batch. The address of the server is the one argument.
const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { JSONRPCClient, JSONRPCServer, JSONRPCServerAndClient } = require("json-rpc-2.0");
const WebSocket = require("ws");

async function main() {
  const socket = new WebSocket(process.argv[2]);
  await new Promise((opened, failed) => socket.once("open", opened).once("error", failed));
  const send = (request) => socket.send(JSON.stringify(request));
  const both = new JSONRPCServerAndClient(new JSONRPCServer(), new JSONRPCClient(send));
  // The library is silent about what fits none of its calls, so that is looked for here.
  const strays = [];
  socket.on("message", (data) => {
    const message = JSON.parse(data);
    if (!message.method && !Array.isArray(message) && message.id == null) strays.push(message);
    both.receiveAndSend(message);
  });

  assert.equal((await both.request("run_and_wait", ["40 + 2"])).value, 42);
  const call = { script: "args.a + args.b", args: { a: 40, b: 2 }, timeout: 30 };
  assert.equal((await both.request("run_and_wait", call)).value, 42);

  await assert.rejects(both.request("get_job", [randomUUID()]), { code: 1001 });
  await assert.rejects(both.request("get_jobs", []), { code: -32601 });
  await assert.rejects(both.request("run_and_wait", { scrpt: "1" }), { code: -32602 });

  const job_id = randomUUID();
  assert.equal(await both.request("create_job", { script: 'print("hello"); 40 + 2', job_id }), job_id);
  const hello = new Promise((seen) => both.addMethod("logs", ({ subscription, result }) => {
    if (result.text === "hello") seen(subscription);
  }));
  const subscription = await both.request("subscribe_logs", [job_id]);
  const waiting = both.request("wait_job", [job_id]);
  both.notify("start_job", [job_id]);
  assert.equal((await waiting).value, 42, "the notification started the job");
  assert.equal(await hello, subscription);
  await both.request("unsubscribe_logs", { subscription });

  // A notification that is refused is told to nobody.
  both.notify("start_job", [randomUUID()]);
  both.notify("no_such_method", []);
  const batch = [["ping"], ["no_such_method"], ["get_status", [job_id]]].map(([method, params], id) => ({ jsonrpc: "2.0", id, method, params }));
  const [pong, unknown, status] = await both.client.requestAdvanced(batch);
  assert.equal(pong.result, "pong");
  assert.equal(unknown.error.code, -32601);
  assert.equal(status.result, "finished");
  assert.deepEqual(strays, []);
  socket.close();
}

main().then(() => console.log("well"), (error) => {
  console.error(error);
  process.exit(1);
});
