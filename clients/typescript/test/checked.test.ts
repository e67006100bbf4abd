// Parameters that JSON cannot express are refused before anything is sent, by name.
import { expect, test } from "vitest";
import { checked, connect, createJob, createJobs } from "../src/index.js";
import { connectHttp } from "../src/http.js";
import { connectMemory } from "../src/memory.js";
import { answer, fake, quick } from "./support.js";

class Point {
  constructor(
    readonly x: number,
    readonly y: number,
  ) {}
}

const self: Record<string, unknown> = {};
self["me"] = self;
const holed: unknown[] = [1, 2];
holed.length = 3;

const itself = { x: 1, toJSON: (): object => ({ ...itself }) };

const nested = (levels: number): unknown => (levels ? [nested(levels - 1)] : 1);
let deepest: unknown = 1;
for (let level = 0; level < 5000; level += 1) deepest = [deepest];
const endless = { toJSON: () => ({ next: endless }) };

const refused: [string, unknown, string][] = [
  ["NaN", { ratio: NaN }, "args.ratio cannot be sent as JSON: the value is NaN"],
  ["infinity", { far: [1, -Infinity] }, "args.far[1] cannot be sent as JSON: the value is -Infinity"],
  ["a map", { sizes: new Map([["a", 1]]) }, "args.sizes cannot be sent as JSON: the value is of type Map"],
  ["a set", { "two words": new Set([1]) }, 'args["two words"] cannot be sent as JSON: the value is of type Set'],
  ["bytes", { image: new Uint8Array(2) }, "args.image cannot be sent as JSON: the value is of type Uint8Array"],
  ["a promise", { later: Promise.resolve(1) }, "args.later cannot be sent as JSON: the value is of type Promise"],
  ["an error", { why: new Error("x") }, "args.why cannot be sent as JSON: the value is of type Error"],
  ["a function", { act: () => 1 }, "args.act cannot be sent as JSON: the value is a function"],
  ["a symbol", { mark: Symbol("x") }, "args.mark cannot be sent as JSON: the value is a symbol"],
  ["a big integer", { many: 10n }, "args.many cannot be sent as JSON: the value is a bigint"],
  ["a hole", { rows: holed }, "args.rows[2] cannot be sent as JSON: the value is undefined"],
  ["undefined in a list", { rows: [undefined] }, "args.rows[0] cannot be sent as JSON: the value is undefined"],
  ["half a pair", { name: "\ud83d" }, "args.name cannot be sent as JSON: the value is a text with half a surrogate"],
  ["half a pair as a name", { "\udc00": 1 }, 'args["\\udc00"] cannot be sent as JSON: the value is a text with half'],
  ["an invalid date", { at: new Date(NaN) }, "args.at cannot be sent as JSON: the value is of type Date without"],
  ["a circle", self, "args.me cannot be sent as JSON: the value is inside itself"],
  [
    "a date of toJSON",
    { at: { toJSON: () => new Date(0) } },
    "args.at cannot be sent as JSON: the value is of type Date",
  ],
  [
    "another toJSON of toJSON",
    { to: { toJSON: () => ({ toJSON: () => 1 }) } },
    "args.to.toJSON cannot be sent as JSON",
  ],
  ["5,000 arrays", { deep: deepest }, "] cannot be sent as JSON: the value is inside more than 102 arrays and objects"],
  ["5,000 arrays", { deep: deepest }, "args.deep[0]"],
  ["an endless toJSON", { chain: endless }, "args.chain.next.next"],
];

test.each(refused)("%s is refused, and nothing is sent", async (_, args, message) => {
  await using server = await fake((request, socket) => {
    answer(socket, request, "j");
  });
  using hero = connect(server.url, quick);
  await expect(hero.jobs.create("1", { args: args as never })).rejects.toThrow(message);
  await expect(hero.run("1", { args: args as never })).rejects.toThrow(TypeError);
  expect(server.requests).toEqual([]);
});

test("what JSON can express is sent as it is", async () => {
  const got: unknown[] = [];
  using hero = connectMemory({
    create_job: ({ args }) => {
      got.push(args);
      return "j";
    },
    create_jobs: () => [],
  });
  const shared = { a: 1 };
  const args = {
    twice: [shared, shared],
    at: new Date(0),
    point: new Point(1, 2),
    own: {
      a: 1,
      toJSON(): object {
        return this;
      },
    },
    copied: itself,
    deep: nested(99),
    none: undefined,
    pair: "😀",
    no: null,
  };
  await hero.jobs.create("1", { args: args });
  const { twice, point, own, copied, deep, pair, no } = {
    ...args,
    point: { x: 1, y: 2 },
    own: { a: 1 },
    copied: { x: 1 },
  };
  expect(got).toEqual([{ twice, at: "1970-01-01T00:00:00.000Z", point, own, copied, deep, pair, no }]);
  // The server counts the levels of the `args` of each job.
  await createJobs(checked(hero.client), [{ script: "1", args: nested(100) }]);
});

test("a client over HTTP refuses them, too, and so does one of single functions that is wrapped", async () => {
  using http = connectHttp("http://127.0.0.1:9", quick);
  await expect(http.jobs.create("1", { args: { ratio: NaN } })).rejects.toThrow("args.ratio");
  using hero = connectMemory({ create_job: () => "j" });
  await expect(createJob(checked(hero.client), "1", { args: { ratio: NaN } })).rejects.toThrow("args.ratio");
});
