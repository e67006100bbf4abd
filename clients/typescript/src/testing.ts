/// <reference lib="esnext.disposable" preserve="true" />
/**
 * A server for tests, on a free port, with a Redis and a data directory of its own. Only for programs that can start others (Node, Deno, Bun).
 *
 * @module
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** How a server is started. */
export interface ServeOptions {
  /** The program; `HERO` of the environment by default, else `hero` on the path. */
  program?: string | undefined;
  /** Where it listens, a free port by default. */
  listen?: string | undefined;
  /** Its data directory, which is kept; by default one that goes with the server. */
  data?: string | undefined;
  /** More arguments, such as `["--login"]`. */
  args?: readonly string[] | undefined;
  /** The most seconds until it is ready. 60 by default. */
  patience?: number | undefined;
}

/** A server that runs. */
export interface Served {
  /** Where it listens: `ws://127.0.0.1:…`. */
  readonly url: string;
  /** Its data directory, where `hero.sock` lies. */
  readonly data: string;
  /** What it has said. */
  log(): string;
  /** Ends it at once, as a crash does, or in order. Its data directory goes, if it was made here. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The most characters of the log that are kept. */
const KEPT = 256 * 1024;

/** Starts `hero serve` and waits until it is ready. */
export const serve = async (options: ServeOptions = {}): Promise<Served> => {
  const program = options.program ?? process.env["HERO"] ?? "hero";
  const data = options.data ?? (await mkdtemp(join(tmpdir(), "hero-")));
  const args = ["serve", "--listen", options.listen ?? "127.0.0.1:0", "--data", data, ...(options.args ?? [])];
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const ended = new Promise<string>((resolve) => {
    child.on("error", (error) => {
      resolve(`${program} cannot be started (${error.message}): build it, and name it in HERO`);
    });
    child.on("exit", (code, signal) => {
      resolve(`${program} ${args.join(" ")} ended with ${code ?? signal ?? "?"}`);
    });
  });
  const die = () => child.kill("SIGKILL");
  process.once("exit", die);
  const stop = async (signal: "SIGTERM" | "SIGKILL" = "SIGTERM") => {
    process.removeListener("exit", die);
    child.kill(signal);
    await ended;
    if (options.data === undefined) await rm(data, { recursive: true, force: true, maxRetries: 10 });
  };
  const ready = new Promise<string>((resolve) => {
    const hear = (text: Buffer) => {
      said = (said + String(text)).slice(-KEPT);
      const url = /ready on (wss?:\/\/\S+)/.exec(said)?.[1];
      if (url) resolve(url);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
  });
  const late = new Promise<string>((resolve) => {
    const timer = setTimeout(resolve, (options.patience ?? 60) * 1000, "it was not ready in time");
    void Promise.race([ready, ended]).then(() => {
      clearTimeout(timer);
    });
  });
  const url = await Promise.race([ready, ended, late]);
  if (!url.startsWith("ws")) {
    await stop("SIGKILL");
    throw new Error(`${url}\n${said}`);
  }
  return { url, data, log: () => said, stop, [Symbol.asyncDispose]: () => stop() };
};
