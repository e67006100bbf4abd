// The first program of the README, exactly as shown.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, inject, test } from "vitest";

const root = resolve(import.meta.dirname, "..");

test("the first program of the README has at most ten lines, and prints what the README says", async () => {
  const readme = await readFile(join(root, "README.md"), "utf8");
  const program = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  expect(program.trim().split("\n").length).toBeLessThanOrEqual(10);
  const prints = /It prints `([^`]*)`/.exec(readme)?.[1];
  const at = await mkdtemp(join(tmpdir(), "hero-readme-"));
  try {
    // Uses the built package, installed under its name.
    await mkdir(join(at, "node_modules"));
    await symlink(root, join(at, "node_modules/hero-client"));
    await writeFile(join(at, "first.mjs"), program.replace("ws://127.0.0.1:8700", inject("url")));
    const { stdout } = await promisify(execFile)(process.execPath, [join(at, "first.mjs")], { timeout: 60_000 });
    expect(stdout.trim()).toBe(prints);
    // A bundle for browsers needs nothing else.
    const { warnings } = await build({
      entryPoints: [join(at, "first.mjs")],
      bundle: true,
      format: "esm",
      platform: "browser",
      write: false,
    });
    expect(warnings).toEqual([]);
  } finally {
    await rm(at, { recursive: true });
  }
});

test("a program that has closed its client ends, however long the heartbeat is", async () => {
  const code = `
    import { connect } from ${JSON.stringify(join(root, "dist/index.js"))};
    const hero = connect(${JSON.stringify(inject("url"))}, { heartbeat: 3600 });
    console.log(await hero.ping());
    hero.close();
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", code], {
    timeout: 60_000,
  });
  expect(stdout).toBe("pong\n");
});
