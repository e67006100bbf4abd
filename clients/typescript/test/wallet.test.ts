// What a wallet is asked to sign.
import { expect, test } from "vitest";
import { wallet } from "../src/index.js";

/** Whether a nonce for `named` is signed on a connection to `url`. */
const signs = async (url: string, named: string) => {
  let signed = false;
  const login = wallet({ publicKey: "04", sign: () => ((signed = true), "signature") });
  const call = (method: string) => Promise.resolve(method === "fetch_nonce" ? `hero:${named}:random:1795255200` : {});
  await login(call, new URL(url).host).catch(() => undefined);
  return signed;
};

test.each([
  ["ws://127.0.0.1", "127.0.0.1"],
  ["ws://127.0.0.1:80", "127.0.0.1"],
  ["wss://h:443/x", "h"],
  ["ws://LOCALHOST", "localhost"],
  ["ws://localhost:8700", "LocalHost:8700"],
  ["ws://[::1]:8700", "[::1]:8700"],
])("at %s a text for %s is signed", async (url, named) => {
  expect(await signs(url, named)).toBe(true);
});

test.each([
  ["ws://127.0.0.1", "127.0.0.1:8700"],
  ["ws://127.0.0.1:8700", "127.0.0.1"],
  ["ws://h", "h:8700:more"],
  ["ws://h", "x:h"],
  ["ws://[::1]", "[::1]:8700"],
])("at %s a text for %s is not signed", async (url, named) => {
  expect(await signs(url, named)).toBe(false);
});
