// jayson calls, is refused, notifies and sends batches, over HTTP and on a WebSocket. The address of the server is the one argument.
const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { promisify } = require("node:util");
const jayson = require("jayson");
const WebSocket = require("ws");

async function scenario(client) {
  const request = promisify(client.request.bind(client));
  // An error of the server is a part of the answer here, and no exception.
  const call = async (method, params) => {
    const { result, error } = await request(method, params);
    return error ? error.code : result;
  };

  assert.equal((await call("run_and_wait", ["40 + 2"])).value, 42);
  const named = { script: "args.a + args.b", args: { a: 40, b: 2 }, timeout: 30 };
  assert.equal((await call("run_and_wait", named)).value, 42);
  assert.equal(await call("get_job", [randomUUID()]), 1001);
  assert.equal(await call("get_jobs", []), -32601);
  assert.equal(await call("run_and_wait", { scrpt: "1" }), -32602);

  const job_id = await call("create_job", ["40 + 2"]);
  const waiting = call("wait_job", [job_id]);
  // The third argument makes it a notification: an id of null is none.
  await request("start_job", [job_id], null);
  assert.equal((await waiting).value, 42, "the notification started the job");
  await request("no_such_method", [], null);

  const batch = [["ping", []], ["no_such_method", []], ["get_status", [job_id]]].map(([method, params]) => client.request(method, params));
  const answers = await promisify(client.request.bind(client))(batch);
  assert.deepEqual(answers.map(({ result, error }) => error?.code ?? result), ["pong", -32601, "finished"]);
}

async function main() {
  const url = process.argv[2];
  const { hostname, port } = new URL(url);
  // Node gives an answer over HTTP five seconds unless it is told otherwise.
  await scenario(jayson.Client.http({ host: hostname, port, timeout: 300_000 }));

  const ws = new WebSocket(url);
  await new Promise((opened, failed) => ws.once("open", opened).once("error", failed));
  await scenario(jayson.Client.websocket({ ws }));
  ws.close();
}

main().then(() => console.log("well"), (error) => {
  console.error(error);
  process.exit(1);
});
