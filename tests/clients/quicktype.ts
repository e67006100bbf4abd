// The types that quicktype makes of the document, and its checks of what the server answers. Compiled beside them; the address of the server is the one argument.
import { strict as assert } from "assert";
import { Convert, type JobResult, type JobStatus } from "./types";

const call = async (method: string, params: object): Promise<string> => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const answer = await fetch(process.argv[2] ?? "", { method: "POST", headers: { "content-type": "application/json" }, body });
  return JSON.stringify(((await answer.json()) as { result: unknown }).result);
};

async function main() {
  const text = await call("run_and_wait", { script: "args.a + args.b", args: { a: 40, b: 2 } });
  const result: JobResult = Convert.toJobResult(text);
  assert.equal(result.value, 42);
  const job = Convert.toJob(await call("get_job", { job_id: result.job_id }));
  const status: JobStatus = job.status;
  assert.equal(status, "finished");
  assert.deepEqual(job.args, { a: 40, b: 2 });
  assert.equal(Convert.toJobPage(await call("list_jobs", {})).jobs.length, 1);
  assert.throws(() => Convert.toJobResult(text.replace('"attempt":1', '"attempt":"one"')), /attempt/);
}

main().then(() => console.log("well"), (error) => {
  console.error(error);
  process.exit(1);
});
