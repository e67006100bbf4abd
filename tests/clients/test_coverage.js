// @open-rpc/test-coverage makes every call of the document that a server gives of itself, and no call is refused for its form. The address of the server is the one argument.
const assert = require("node:assert/strict");
const { parseOpenRPCDocument } = require("@open-rpc/schema-utils-js");
const coverage = require("@open-rpc/test-coverage").default;
const ExamplesRule = require("@open-rpc/test-coverage/build/rules/examples-rule").default;

async function main() {
  const openrpcDocument = await parseOpenRPCDocument(`${process.argv[2]}openrpc.json`);
  // It speaks HTTP only.
  const skip = openrpcDocument.methods.map(({ name }) => name).filter((name) => /^(un)?subscribe_/.test(name));
  const nothing = () => undefined;
  const silent = { onBegin: nothing, onTestBegin: nothing, onTestEnd: nothing, onEnd: nothing };
  // Without its calls of random parameters: they would be others each time.
  const calls = await coverage({ openrpcDocument, transport: "http", reporters: [silent], rules: [new ExamplesRule()], skip, only: [] });

  const called = new Set(calls.map(({ methodName }) => methodName));
  assert.deepEqual(openrpcDocument.methods.map(({ name }) => name).filter((name) => !called.has(name) && !skip.includes(name)), []);
  // -32700 to -32600 are those of JSON-RPC itself.
  const refused = calls.filter(({ error, requestError }) => requestError || (error && error.code < 0));
  assert.deepEqual(refused.map(({ methodName, params, error, requestError }) => ({ methodName, params, error, requestError })), []);
  // It compares results with the examples letter by letter, times and ids included, so that few are equal.
  assert.ok(calls.some(({ methodName, valid }) => methodName === "ping" && valid));
  if (process.argv[3]) console.log(calls.filter((c) => c.error).map((c) => [c.methodName, c.error.code, c.error.message]));
}

main().then(() => console.log("well"), (error) => {
  console.error(error);
  process.exit(1);
});
