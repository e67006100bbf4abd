// The bundled client in Chromium, on a page of localhost, without any other code.
import { resolve } from "node:path";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type * as Client from "../src/index.js";
import { launch, web } from "./chromium.js";
import { breaking, numbers } from "./support.js";

declare global {
  // The resources that the page has loaded.
  var client: typeof Client;
}

const url = inject("url");
let browser: Browser;
let page: Page;
let pages: Awaited<ReturnType<typeof web>>;

beforeAll(async () => {
  const { outputFiles } = await build({
    stdin: {
      contents: 'import * as client from "./src/index.ts"; globalThis.client = client;',
      resolveDir: resolve(import.meta.dirname, ".."),
    },
    bundle: true,
    format: "esm",
    platform: "browser",
    write: false,
  });
  pages = await web((request, response) => {
    const script = request.url === "/client.js";
    response.setHeader("content-type", script ? "text/javascript" : "text/html");
    response.end(
      script ? outputFiles[0]?.text : "<!doctype html><title>hero</title><script type=module src=/client.js></script>",
    );
  });
  browser = await launch();
  page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${pages.port}/`);
  await page.waitForFunction(() => "client" in globalThis);
});

afterAll(async () => {
  await browser.close();
  pages[Symbol.dispose]();
});

test("a page runs a script, and reads its error", async () => {
  const seen = await page.evaluate(async (at) => {
    const hero = globalThis.client.connect(at);
    const value = await hero.run("40 + 2");
    const error = await hero.run("throw `no`").catch((reason: unknown) => reason);
    hero.close();
    return { value, name: (error as Error).name };
  }, url);
  expect(seen).toEqual({ value: 42, name: "JobFailed" });
});

test("a page follows a log over a connection that breaks: no line is missing, none comes twice", async () => {
  const LINES = 100;
  const chance = numbers(25);
  await using proxy = await breaking(url, () => 500 + Math.floor(chance() * 4_000));
  const seen = await page.evaluate(
    async ({ at, lines }) => {
      const hero = globalThis.client.connect(at, {
        reconnect: { attempts: Infinity, firstAttempts: Infinity, minDelay: 0.01, maxDelay: 0.05 },
      });
      const id = await hero.jobs.create("for n in 0..args { print(`line ${n}`); }", { args: lines });
      const items = hero.jobs.followLogs(id);
      // The job starts once, whether the answer arrives or not.
      await hero.jobs.start(id).catch(() => undefined);
      const texts: string[] = [];
      for await (const item of items) texts.push(item.type === "line" ? item.text : item.type);
      hero.close();
      return texts;
    },
    { at: proxy.url, lines: LINES },
  );
  expect(seen).toEqual([...Array.from({ length: LINES }, (_, at) => `line ${at}`), "ended"]);
  expect(proxy.breaks()).toBeGreaterThan(1);
});

test("a page is told that nobody is there, and that it can show no token", async () => {
  const [away, token] = await page.evaluate(async (at) => {
    const say = async (hero: Client.Hero) => {
      const error = await hero.ping().catch((reason: unknown) => reason as Error);
      hero.close();
      return error instanceof Error ? `${error.name}: ${error.message}` : error;
    };
    const { connect } = globalThis.client;
    return [await say(connect("ws://127.0.0.1:9999")), await say(connect(at, { token: "hero_x" }))];
  }, url);
  expect(away).toMatch(/^ConnectionFailed: nobody answers at/);
  expect(token).toMatch(/^LoginRefused: .*cannot show a token.*wallet/);
});
