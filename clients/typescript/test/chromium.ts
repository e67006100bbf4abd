import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, chromium } from "playwright-core";

/** Starts Chromium without a screen, and without a sandbox when tests run as root. */
export const launch = (...args: string[]): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox", ...args],
  });

/** Serves pages on a free port. */
export const web = async (answer: RequestListener) => {
  const server = createServer(answer);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};
