// Calls per second and processor time of each, compared with a bare client over `ws`: `node bench/bench.js [ws://…]`
// (HERO starts one).
import { randomUUID } from "node:crypto";
import WebSocket from "ws";
import { createClient, ping, run } from "../dist/index.js";
import { serve } from "../dist/testing.js";

const [ROUNDS, SECONDS] = [Number(process.env.ROUNDS ?? 60), Number(process.env.SECONDS_EACH ?? 0.1)];

/** A minimal client: ids, and a map of pending calls. */
const bare = async (url) => {
  const socket = new WebSocket(url);
  const waiting = new Map();
  let ids = 0;
  socket.on("message", (data) => {
    const { id, result, error } = JSON.parse(data.toString());
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error) reject(new Error(error.message));
    else resolve(result);
  });
  await new Promise((resolve) => socket.once("open", resolve));
  const call = (method, params) =>
    new Promise((resolve, reject) => {
      const id = ++ids;
      waiting.set(id, { resolve, reject });
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  /** Sends all calls as one batch, which gets one response. */
  const batch = (method, params, size) => {
    const first = ids + 1;
    const requests = Array.from({ length: size }, () => ({ jsonrpc: "2.0", id: ++ids, method, params }));
    return new Promise((resolve) => {
      const old = socket.listeners("message");
      socket.removeAllListeners("message");
      socket.once("message", (data) => {
        for (const each of old) socket.on("message", each);
        if (JSON.parse(data.toString()).length !== size) throw new Error(`the batch from ${first} on is not whole`);
        resolve();
      });
      socket.send(JSON.stringify(requests));
    });
  };
  return { call, batch, close: () => socket.close() };
};

/** Keeps this number of calls in flight for a while. */
const measure = async (call, flight) => {
  const cpu = process.cpuUsage();
  const begun = performance.now();
  const end = begun + SECONDS * 1000;
  let calls = 0;
  const one = async () => {
    while (performance.now() < end) {
      await call();
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: flight }, one));
  const { user, system } = process.cpuUsage(cpu);
  return { rate: (calls * 1000) / (performance.now() - begun), micros: (user + system) / calls };
};

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

const url = process.argv[2];
const server = url ? undefined : await serve();
const at = url ?? server.url;
const plain = await bare(at);
const client = createClient(at);
await ping(client);
const script = "40 + 2";
const cases = [
  ["ping", () => plain.call("ping", {}), () => ping(client)],
  [
    "run_and_wait",
    // Exactly the same call: with a random key, and a wait.
    () => plain.call("run_and_wait", { idempotency_key: randomUUID(), script, wait_timeout: 120 }),
    () => run(client, script),
  ],
];
console.log("| call | in flight | bare: calls/s | µs of CPU | hero-client: calls/s | µs of CPU | overhead in CPU |");
console.log("| --- | --- | --- | --- | --- | --- | --- |");
let worst = 0;
for (const [name, before, after] of cases) {
  for (const flight of [1, 64]) {
    const [bares, ours] = [[], []];
    for (let round = 0; round <= ROUNDS; round += 1) {
      // Rounds alternate, and the shorter they are, the more other load affects both alike. The first round warms up.
      const pair = [await measure(before, flight), await measure(after, flight)];
      if (round > 0) {
        bares.push(pair[0]);
        ours.push(pair[1]);
      }
    }
    const of = (list, key) => median(list.map((each) => each[key]));
    const overhead = (of(ours, "micros") / of(bares, "micros") - 1) * 100;
    worst = Math.max(worst, overhead);
    const cells = [of(bares, "rate"), of(bares, "micros"), of(ours, "rate"), of(ours, "micros")].map((each) =>
      each.toFixed(0),
    );
    console.log(`| ${name} | ${flight} | ${cells.join(" | ")} | ${overhead.toFixed(0)}% |`);
  }
}
if (process.env.BATCH) {
  const [singles, batches] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    singles.push(await measure(() => Promise.all(Array.from({ length: 64 }, () => plain.call("ping", {}))), 1));
    batches.push(await measure(() => plain.batch("ping", {}, 64), 1));
  }
  const of = (list) =>
    `${(median(list.map(({ rate }) => rate)) * 64).toFixed(0)}/s and ${(median(list.map(({ micros }) => micros)) / 64).toFixed(1)} µs each`;
  console.log(`64 pings of one tick, bare: ${of(singles)} one by one, ${of(batches)} as a batch`);
}
plain.close();
client.close();
await server?.stop();
if (worst > 30) console.log(`the worst overhead is ${worst.toFixed(0)}%`);
