// Server addresses as people write them, and the type declarations that a program needs.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, inject, test, vi } from "vitest";
import addresses from "../../addresses.json" with { type: "json" };
import { addressOf } from "../src/address.js";
import { connectHttp, createHttpClient } from "../src/http.js";
import { connect, ConnectionFailed, createClient, ping, webSocket } from "../src/index.js";
import { failure } from "./support.js";

const root = resolve(import.meta.dirname, "..");

afterEach(() => vi.unstubAllEnvs());

test("a server is found by any address that people write, and by the environment", async () => {
  const place = new URL(inject("url")).host;
  for (const url of [`ws://${place}`, `http://${place}`, place]) {
    using socket = connect(url);
    expect(await socket.ping(), url).toBe("pong");
    using http = connectHttp(url);
    expect(await http.ping(), url).toBe("pong");
  }
  vi.stubEnv("HERO_SERVER", place);
  using named = connect();
  expect(await named.ping()).toBe("pong");
  using namedHttp = connectHttp();
  expect(await namedHttp.ping()).toBe("pong");
});

test("the token of the environment is shown unless the program shows who calls", () => {
  const shown: unknown[] = [];
  const Spy = function (url: string, options?: unknown) {
    shown.push([url, options]);
    throw new Error("no connection");
  };
  vi.stubEnv("HERO_TOKEN", "hero_of_the_environment");
  const options = { WebSocket: Spy as never, reconnect: false } as const;
  for (const each of [options, { ...options, token: "hero_given" }, { ...options, login: () => Promise.resolve() }]) {
    using hero = connect("ws://127.0.0.1:9", each);
    hero.ping().catch(() => undefined);
  }
  return vi.waitFor(() => {
    const headers = (token: string) => ["ws://127.0.0.1:9", { headers: { authorization: `Bearer ${token}` } }];
    expect(shown).toEqual([headers("hero_of_the_environment"), headers("hero_given"), ["ws://127.0.0.1:9", undefined]]);
  });
});

test("an address means the same in each client", () => {
  for (const [given, meant] of Object.entries(addresses.read)) {
    expect(addressOf(given), given).toBe(meant);
    expect(addressOf(given, true), given).toBe(meant.replace(/^ws/, "http"));
  }
});

test("what is no address is told at once, with what would be one", () => {
  for (const wrong of addresses.wrong) {
    expect(() => connect(wrong), wrong).toThrow(/is no address of a server: write ws:/);
    expect(() => connectHttp(wrong), wrong).toThrow(/is no address of a server: write ws:/);
  }
});

test("a password in an address is refused, and not repeated", () => {
  const urls = ["ws://me:secret@h:1", "https://me:secret@h/x", "me:secret@h", "ws://:secret@h", "ftp://me:secret@h"];
  for (const url of [...urls, "ws://me:se/secret@h", "ws://me:12/secret@h", "ws://me:?secret@h:0", "ws://#secret@h"]) {
    for (const make of [connect, connectHttp, createHttpClient]) {
      expect(() => make(url), url).toThrow(/^the address of "h[^"]*" has a name or a password in it/);
      expect(() => make(url), url).not.toThrow(/secret/);
    }
  }
});

test("a client for single functions also refuses it, takes host:port, and tells other mistakes with its first call", async () => {
  for (const make of [createClient, webSocket]) {
    for (const url of ["ws://me:secret@h:1", "me:secret@h:1", "ws://me:12/secret@h"]) {
      expect(() => make(url), url).toThrow(/^an address has no password: give `token`$/);
    }
  }
  using client = createClient(new URL(inject("url")).host);
  expect(await ping(client)).toBe("pong");
  using wrong = createClient("ftp://127.0.0.1");
  expect(await failure(ping(wrong))).toBeInstanceOf(ConnectionFailed);
});

test("a program compiles against the declarations with the libraries of ES2022 and browsers alone", async () => {
  const at = await mkdtemp(join(tmpdir(), "hero-types-"));
  try {
    await mkdir(join(at, "node_modules"));
    await symlink(root, join(at, "node_modules/hero-client"));
    await writeFile(join(at, "package.json"), '{ "type": "module" }');
    await writeFile(
      join(at, "main.ts"),
      `import { connect, type Client } from "hero-client";
       import { connectHttp } from "hero-client/http";
       import { connectMemory } from "hero-client/memory";
       using hero = connect();
       const value: number = await hero.run<number>("40 + 2");
       for await (const item of hero.jobs.followLogs("a")) if (item.type === "line") item.text.toUpperCase();
       export const clients: Client[] = [hero.client, connectHttp().client, connectMemory({}).client];
       export default value;
      `,
    );
    const options = "--noEmit --strict --target ES2022 --lib ES2022,DOM --module NodeNext --moduleResolution NodeNext";
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const compiled = await promisify(execFile)(process.execPath, [tsc, ...options.split(" "), "main.ts"], {
      cwd: at,
    }).catch((error: unknown) => error as { stdout: string });
    expect(compiled.stdout).toBe("");
  } finally {
    await rm(at, { recursive: true });
  }
});
