// The page of examples/browser in Chromium, served from files, with the built client.
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Served, serve } from "../src/testing.js";
import { launch, web } from "./chromium.js";

const EXAMPLE = resolve(import.meta.dirname, "../../../examples/browser");
const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const REDIS = spawnSync("redis-server", ["--version"]).error ? "valkey" : "redis";
/** A timeout for liveness, not a speed limit. */
const PATIENCE = 60_000;

let home: string;
let redis: ChildProcess;
let actor: ChildProcess;
let server: Served;
let pages: Awaited<ReturnType<typeof web>>;
let browser: Browser;

const origin = (host: string) => `http://${host}:${pages.port}`;

/** Starts a server without actors, which outlive it. */
const open = (listen: string) =>
  serve({
    listen,
    data: join(home, "server"),
    args: ["--redis", `unix://${home}/redis.sock`, "--pool", "none", "--allowed-origins", origin("allowed.test")],
  });

/** Returns the answer of Redis. */
const ask = async (...words: string[]) =>
  (await promisify(execFile)(`${REDIS}-cli`, ["-s", join(home, "redis.sock"), ...words])).stdout.trim();

/** Waits until the condition holds. */
const until = async (holds: () => Promise<boolean>) => {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
};

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "hero-page-"));
  pages = await web((request, response) => {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const file = path === "/" ? "/index.html" : path;
    readFile(join(EXAMPLE, file)).then(
      (bytes) => response.setHeader("content-type", TYPES[extname(file)] ?? "text/plain").end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  redis = spawn(`${REDIS}-server`, [
    "--port",
    "0",
    "--unixsocket",
    join(home, "redis.sock"),
    "--save",
    "",
    "--dir",
    home,
  ]);
  await until(async () => (await ask("PING").catch(() => "")) === "PONG");
  server = await open("127.0.0.1:0");
  actor = spawn(server.program, [
    "actor",
    "--redis",
    `unix://${home}/redis.sock`,
    "--data",
    join(home, "actor"),
    "--pool",
    "osis=1",
  ]);
  browser = await launch("--host-resolver-rules=MAP *.test 127.0.0.1");
});

afterAll(async () => {
  await browser.close();
  pages[Symbol.dispose]();
  await server.stop("SIGKILL");
  for (const process of [actor, redis]) {
    process.kill("SIGKILL");
    if (process.exitCode === null && process.signalCode === null) await once(process, "exit");
  }
  await rm(home, { recursive: true, force: true, maxRetries: 10 });
});

/** Opens the page on this host, with the server. */
const show = async (host: string, at = server.url): Promise<Page> => {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${origin(host)}/?server=${at}`);
  return page;
};

const run = async (page: Page, script: string) => {
  await page.fill("#script", script);
  await page.click("#run");
};

const says = (page: Page, place: string, text: string) => page.locator(place, { hasText: text }).waitFor();

const lines = (page: Page) => page.locator("#log li").allTextContents();

/** Waits until the log contains this text. A result may appear before it. */
const logs = (page: Page, texts: string[]) => expect.poll(() => lines(page), { timeout: PATIENCE }).toEqual(texts);

test("the page runs a script from an allowed origin, and shows its log, its progress and its result", async () => {
  const page = await show("allowed.test");
  await says(page, "#state", "connected");
  await run(page, 'print("hello"); job::progress(70, "counting"); #{ answer: 40 + 2 }');
  await says(page, "#result", '"answer": 42');
  await logs(page, ["hello"]);
  await says(page, "#status", "finished");
  expect(await page.locator("#progress").evaluate((bar: HTMLProgressElement) => bar.value)).toBe(70);
  expect(await page.locator("#doing").textContent()).toBe("counting");

  await run(page, 'print("again"); throw "no plums"');
  await says(page, "#result", "no plums");
  await logs(page, ["again"]);
  // After a reload, the page shows the same job.
  await page.reload();
  await says(page, "#result", "no plums");
  await logs(page, ["again"]);
  expect(await page.locator("#trouble").isHidden()).toBe(true);
});

test("a server is named by its place alone, and what names none is told", async () => {
  const page = await show("allowed.test", new URL(server.url).host);
  await says(page, "#state", "connected");
  const lost = await show("allowed.test", "nowhere");
  await says(lost, "#trouble", '"nowhere" is no address of a server');
});

test("the page stops what runs", async () => {
  const page = await show("localhost");
  await run(page, 'print("begun"); loop { sleep(0.01); }');
  await says(page, "#log", "begun");
  await page.click("#stop");
  await says(page, "#status", "stopped");
  await says(page, "#result", "stopped");
  expect(await page.locator("#stop").isDisabled()).toBe(true);
});

test("a page of a foreign origin is refused, and says so", async () => {
  const page = await show("foreign.test");
  await says(page, "#trouble", `--allowed-origins ${origin("foreign.test")}`);
  await run(page, '"never"');
  await says(page, "#state", "no connection");
  expect(await ask("KEYS", "hero:job:*")).not.toContain("never");
});

test("over a server that is killed and starts again, the page shows each line of the log once", async () => {
  const LINES = 200;
  const page = await show("allowed.test");
  await run(page, `for n in 0..${LINES} { print(\`line \${n}\`); sleep(0.02); }`);
  await says(page, "#log", "line 20");
  const listen = new URL(server.url).host;
  await server.stop("SIGKILL");
  await says(page, "#state", "connecting again");
  // The job continues meanwhile, and writes to its log.
  const job = new URL(page.url()).hash.replace("#job=", "");
  const seen = Number(await ask("XLEN", `hero:log:${job}`));
  await until(async () => Number(await ask("XLEN", `hero:log:${job}`)) > seen);
  server = await open(listen);
  await says(page, "#status", "finished");
  await page.locator("#result:not([hidden])").waitFor();
  await logs(
    page,
    Array.from({ length: LINES }, (_, at) => `line ${at}`),
  );
});

test("a page without a login says at once that the server wants one, in words for who reads it", async () => {
  await using closed = await serve({ args: ["--login", "--allowed-origins", origin("allowed.test")] });
  const page = await show("allowed.test", closed.url);
  await says(page, "#trouble", "This server wants a login, and this page has none");
  await run(page, "40 + 2");
  await says(page, "#trouble", "This server wants a login, and this page has none");
});

test("a page that is loaded before its server is there connects by itself", async () => {
  await server.stop("SIGKILL");
  const page = await show("allowed.test");
  await says(page, "#state", "connecting again");
  server = await open(new URL(server.url).host);
  await says(page, "#state", "connected");
  await run(page, "40 + 2");
  await says(page, "#result", "42");
});

test("a result is shown although its log waits for a frame, and nothing is laid out before that", async () => {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  // Frames come only when the test allows them.
  await page.addInitScript(() => {
    const real = globalThis.requestAnimationFrame.bind(globalThis);
    let held: FrameRequestCallback[] | undefined = [];
    globalThis.requestAnimationFrame = (callback) => held?.push(callback) ?? real(callback);
    const own = Object.getOwnPropertyDescriptor(Element.prototype, "scrollHeight")!;
    const seen = { layouts: 0, letFrames: () => (held?.forEach(real), (held = undefined)) };
    Object.defineProperty(Element.prototype, "scrollHeight", {
      get(this: Element) {
        seen.layouts += 1;
        return own.get?.call(this) as number;
      },
    });
    Object.assign(globalThis, { seen });
  });
  await page.goto(`${origin("allowed.test")}/?server=${server.url}`);
  await run(page, "for n in 0..300 { print(`line ${n}`); } 42");
  await says(page, "#result", "42");
  expect(await lines(page)).toEqual([]);
  expect(await page.evaluate("seen.layouts")).toBe(0);
  await page.evaluate("seen.letFrames()");
  await logs(
    page,
    Array.from({ length: 300 }, (_, at) => `line ${at}`),
  );
});
