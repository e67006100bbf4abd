/// <reference lib="esnext.disposable" preserve="true" />
/**
 * A server for tests, on a free port, with a private Redis and data directory. Only for platforms that can start
 * programs (Node, Deno, Bun).
 *
 * @module
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Options for starting a server. */
export interface ServeOptions {
  /** The program; by default `HERO_BIN` of the environment, or `HERO`, otherwise `hero` on the path. */
  program?: string | undefined;
  /** The address to listen on; by default a free port. */
  listen?: string | undefined;
  /** The data directory, which is kept; by default a temporary one. */
  data?: string | undefined;
  /** Further arguments, such as `["--login"]`. */
  args?: readonly string[] | undefined;
  /**
   * Further variables of its environment; `undefined` removes one. It gets those of this process, except the settings
   * of hero (`HERO_…`): a test is not to depend on who runs it.
   */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Maximum seconds until the server is ready. 60 by default. */
  patience?: number | undefined;
}

/** A running server. */
export interface Served {
  /** The address: `ws://127.0.0.1:…`. */
  readonly url: string;
  /** The data directory, which contains `hero.sock`. */
  readonly data: string;
  /** The program that was started. */
  readonly program: string;
  /** Returns the log. */
  log(): string;
  /** Ends the server, gracefully or at once like a crash. A temporary data directory is deleted. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Maximum number of characters of the log to keep. */
const KEPT = 256 * 1024;

/** Returns the program that the environment names. */
const named = (): string => [process.env["HERO_BIN"], process.env["HERO"]].find(Boolean) ?? "hero";

/** Starts `hero serve` and waits until it is ready. */
export const serve = async (options: ServeOptions = {}): Promise<Served> => {
  const program = options.program ?? named();
  const data = options.data ?? (await mkdtemp(join(tmpdir(), "hero-")));
  const args = ["serve", "--listen", options.listen ?? "127.0.0.1:0", "--data", data, ...(options.args ?? [])];
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("HERO_"));
  const env = { ...Object.fromEntries(own), ...options.env };
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const ended = new Promise<string>((resolve) => {
    child.on("error", (error) => {
      resolve(`${program} cannot be started (${error.message}): build it, and name it in HERO_BIN`);
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
  return { url, data, program, log: () => said, stop, [Symbol.asyncDispose]: () => stop() };
};
