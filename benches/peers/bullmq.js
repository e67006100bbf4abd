// BullMQ under the same load: bullmq.js PORT worker CONCURRENCY | submit JOBS | bulk JOBS | chain LINKS | wait JOBS CALLERS
const { FlowProducer, Queue, QueueEvents, Worker } = require('bullmq');

const [port, mode, ...numbers] = process.argv.slice(2);
const [first, second] = numbers.map(Number);
const connection = { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null };
const NAME = 'bench';
const IN_FLIGHT = 64;
const GROUP = 1000; // jobs a call

// Runs `work` `total` times, `callers` at a time.
async function share(callers, total, work) {
  let left = total;
  const caller = async () => { while (left-- > 0) await work(); };
  await Promise.all(Array.from({ length: callers }, caller));
}

async function submit(queue, jobs) {
  const begun = performance.now();
  await share(IN_FLIGHT, jobs, () => queue.add('add', { a: 40, b: 2 }));
  return { per_s: jobs / (performance.now() - begun) * 1000 };
}

async function bulk(queue, jobs) {
  const group = Array.from({ length: GROUP }, () => ({ name: 'add', data: { a: 40, b: 2 } }));
  const begun = performance.now();
  for (let left = jobs; left > 0; left -= GROUP) await queue.addBulk(group.slice(0, left));
  return { per_s: jobs / (performance.now() - begun) * 1000 };
}

// Jobs of which each waits for the one before; the time runs from the start of the first to the end of the last.
async function chain(queue, links) {
  const events = new QueueEvents(NAME, { connection });
  await events.waitUntilReady();
  await queue.pause();
  const link = () => ({ name: 'add', queueName: NAME, data: { a: 40, b: 2 } });
  let flow = link();
  for (let more = 1; more < links; more++) flow = { ...link(), children: [flow] };
  const producer = new FlowProducer({ connection });
  const { job } = await producer.add(flow);
  const begun = performance.now();
  await queue.resume();
  await job.waitUntilFinished(events, 600_000);
  const wall = performance.now() - begun;
  await producer.close();
  await events.close();
  return { per_s: links / wall * 1000 };
}

async function wait(queue, jobs, callers) {
  const events = new QueueEvents(NAME, { connection });
  await events.waitUntilReady();
  const times = [];
  const one = async () => {
    const called = performance.now();
    const job = await queue.add('add', { a: 40, b: 2 });
    const value = await job.waitUntilFinished(events, 60_000);
    if (value !== 42) throw new Error(`40 + 2 is ${value}`);
    times.push(performance.now() - called);
  };
  await share(callers, Math.min(jobs, 200), one); // Warm up.
  times.length = 0;
  const begun = performance.now();
  await share(callers, jobs, one);
  const wall = performance.now() - begun;
  times.sort((a, b) => a - b);
  const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))];
  await events.close();
  return { per_s: jobs / wall * 1000, p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99) };
}

async function main() {
  if (mode === 'worker') {
    const worker = new Worker(NAME, async (job) => job.data.a + job.data.b, { connection, concurrency: first });
    await worker.waitUntilReady();
    return;
  }
  const queue = new Queue(NAME, { connection });
  queue.setMaxListeners(0);
  await queue.waitUntilReady();
  console.log(JSON.stringify(await { submit, bulk, chain, wait }[mode](queue, first, second)));
  await queue.close();
  process.exit(0);
}

main().catch((error) => { console.error(error); process.exit(1); });
