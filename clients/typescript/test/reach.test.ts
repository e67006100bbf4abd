// The client object and the functions both reach every call and every subscription of the API document.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as all from "../src/index.js";
import { memory } from "../src/memory.js";

interface Document {
  methods: {
    name: string;
    examples: { result: { value: unknown } }[];
    params: { name: string; required?: boolean }[];
    "x-subscription"?: { unsubscribe: string };
  }[];
}

const document = JSON.parse(readFileSync(new URL("../../../openrpc.json", import.meta.url), "utf8")) as Document;
const names = document.methods.map(({ name }) => name);

/** Calls every method, and returns the requests to the server. */
const asked = async (
  call: (client: all.Client) => Iterable<(...values: unknown[]) => unknown>,
): Promise<Map<string, object>> => {
  const seen = new Map<string, object>();
  const client = new all.SocketClient(
    memory((method, params) => {
      seen.set(method, { ...seen.get(method), ...params });
      // An answer that ends any wait, and opens any subscription.
      return method.startsWith("subscribe") ? `of ${method}` : { job_id: "j", output: "", objects: [] };
    }),
  );
  const given = Array.from({ length: 4 }, () => [{}] as unknown);
  for (const each of call(client)) {
    const result = each(...given);
    if (result instanceof all.Following) {
      await result.opened;
      await result.return();
    } else await Promise.resolve(result).catch(() => undefined);
  }
  client.close();
  return seen;
};

const members = function* (object: object): Iterable<(...values: unknown[]) => unknown> {
  for (let at: object = object; at !== Object.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (name === "constructor" || name === "close" || name === "client" || name === "onStatus") continue;
      if (typeof value === "function") yield (value as (...values: unknown[]) => unknown).bind(object);
      else if (typeof value === "object" && value !== null) yield* members(value as object);
    }
  }
};

/** Calls every method of the object, each answered by its example. Returns the errors of the client itself. */
const misfits = async (answerOf: (example: unknown) => unknown): Promise<string[]> => {
  const examples = new Map(document.methods.map(({ name, examples }) => [name, examples[0]?.result.value]));
  const client = new all.SocketClient(memory((method) => answerOf(examples.get(method))));
  const errors: string[] = [];
  for (const call of members(new all.Hero(client))) {
    const result = call(...Array.from({ length: 4 }, () => [{}] as unknown));
    if (result instanceof all.Following) await result.return();
    else
      await Promise.resolve(result).catch((error: unknown) => {
        if (error instanceof all.ProtocolError) errors.push(error.message);
      });
  }
  client.close();
  return errors;
};

test("every call takes the answer of its example, and tells an answer that is none", async () => {
  expect(await misfits((example) => example)).toEqual([]);
  const told = await misfits(() => null);
  // Some calls have any value as their result.
  expect(told.length).toBeGreaterThan(names.length / 2);
});

test("the object reaches every call and every subscription, with what each has to be given", async () => {
  const seen = await asked((client) => members(new all.Hero(client)));
  expect([...seen.keys()].sort()).toEqual([...names].sort());
  for (const { name, params } of document.methods) {
    const needed = params.filter(({ required }) => required).map((each) => each.name);
    expect(Object.keys(seen.get(name) ?? {}), name).toEqual(expect.arrayContaining(needed));
  }
});

test("the functions reach every call and every subscription", async () => {
  const own = ["createClient", "connect", "webSocket", "wallet", "follow"];
  const functions = Object.entries(all).filter(
    ([name, value]) => typeof value === "function" && !own.includes(name) && /^[a-z]/.test(name),
  );
  const seen = await asked((client) =>
    functions.map(([, value]) => (value as (...values: unknown[]) => unknown).bind(undefined, client)),
  );
  expect([...seen.keys()].sort()).toEqual([...names].sort());
});
