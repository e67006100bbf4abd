import { oneLine, readText, redirection } from "./body.js";
import type { Refusal } from "./transport.js";

/**
 * The reason for a failed connection, with the fields of {@link Refusal}. This file imports nothing that a connection
 * needs, so that it is loaded separately.
 */
interface Explanation {
  message: string;
  kind: Refusal["kind"];
  cause?: unknown;
}

/** The message for a token that is invalid in a header. */
export const BAD_TOKEN =
  "the token has a line end, a space, or another character that no token has: was it read from a file, without a trim?";

/** The error of `fetch` in Node.js for ports of other protocols, such as 22, which it never calls. */
export const BAD_PORT = "bad port";

/** Explains why no WebSocket could be created. */
const unmade = (url: string, token: string | undefined, cause: Error & { code?: string }): Explanation => {
  if (cause.code === "ERR_MODULE_NOT_FOUND" || cause.message.includes("constructor")) {
    return {
      message: "this platform has no WebSocket (Node.js has one from 22 on): npm install ws",
      kind: "other",
      cause,
    };
  }
  if (!token)
    return { message: `${url} is no address of a WebSocket, such as ws://127.0.0.1:8700`, kind: "other", cause };
  if (/[^!-~]/.test(token)) return { message: BAD_TOKEN, kind: "login", cause };
  const message =
    "the WebSocket of this platform cannot show a token at the handshake, as no browser can: log in with `login: wallet(…)`, or use `connectHttp`";
  return { message, kind: "login", cause };
};

/** Maximum seconds to wait for an answer, within the range of a timer. */
const LONGEST = 2e6;

/** Returns a signal that aborts a request after a time. Timers accept whole milliseconds only. */
const within = (seconds: number): AbortSignal => AbortSignal.timeout(Math.ceil(Math.min(seconds, LONGEST) * 1000));

/** Maximum number of bytes of an answer to read. */
const MOST = 4096;

/**
 * Whether anything answers there. A page cannot read answers of other origins, but it can see whether there is one.
 * Such a request sends no data, and redirects cannot be switched off for it.
 */
const isThere = (at: string, seconds: number): Promise<boolean> =>
  fetch(at, { mode: "no-cors", signal: within(seconds) }).then(
    () => true,
    () => false,
  );

/**
 * Explains a TLS error of a server by the error code of Node.js, with advice. Other platforms report no code. Nothing
 * has been sent before TLS is established.
 */
export const untrusted = (code: string, url: string): string | undefined => {
  // These errors happen later, after something was sent.
  if (/DECRYPTION_FAILED|BAD_RECORD_MAC/.test(code)) return undefined;
  if (/^ERR_SSL|^EPROTO|^ERR_TLS_(?!CERT)/.test(code))
    return `speaks no TLS, or another one: if it has none, its address begins with ${url.startsWith("ws") ? "ws" : "http"}://`;
  if (/CERT|^UNABLE_TO_/.test(code))
    return "is not known to be who it says: name its authority in NODE_EXTRA_CA_CERTS, or connect to the name that its certificate has";
  return undefined;
};

/** The message for a server that does not answer with HTTP, with what it said, as far as the platform gives that. */
export const noHttp = (url: string, why: string, said?: string): string =>
  `what answers at ${url} speaks no HTTP (${why}${said ? `: ${oneLine(said)}` : ""}), so it is no hero server: is that the address and the port?`;

/** The message for a temporary refusal: by a server with too many connections, or by a proxy whose server is away. */
export const passing = (url: string, status: number, said: string): string | undefined => {
  if (status === 429)
    return `the server at ${url} takes no connection now (HTTP 429: ${said}): try again later, or start it with more --max-connections and --max-per-address`;
  return status >= 502 && status <= 504
    ? `what answers at ${url} says ${status}, as a proxy does whose server is away: ${said}`
    : undefined;
};

/** The message for an address where nobody is. */
const nobody = (url: string, why: string): string =>
  `nobody answers at ${url} (${why}): is the server running (hero serve), and is that its address?`;

/** What is used of the module `node:net`. */
interface Net {
  connect(place: { host: string; port: number }): {
    on(event: string, act: (error: { code?: string }) => void): void;
    destroy(): void;
  };
}

/** Returns why no connection opens at an address, if none does and the platform can tell. */
const dialled = (url: string, seconds: number): Promise<string | undefined> => {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => Net | undefined } };
  // Bundlers for pages do not find such a module by its name alone.
  const net = process?.getBuiltinModule?.("node:net");
  const { hostname, port } = new URL(url);
  if (!net) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const socket = net.connect({ host: hostname.replace(/[[\]]/g, ""), port: Number(port) });
    const end = (why?: string) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(why);
    };
    const timer = setTimeout(end, Math.min(seconds, LONGEST) * 1000, undefined);
    socket.on("connect", () => end());
    socket.on("error", ({ code }) => end(code));
  });
};

/** Explains why there is no connection. */
export const explain = async (
  Refused: typeof Refusal,
  url: string,
  token: string | undefined,
  seconds: number,
  begun: number,
  failed: unknown,
): Promise<Refusal> => {
  // One deadline for the WebSocket and for what is asked here.
  const left = () => Math.max(0, begun / 1000 + seconds - performance.now() / 1000);
  const { message, kind, cause } = failed
    ? unmade(url, token, failed as Error)
    : await asked(url, token, seconds, left);
  return new Refused(message, kind, { cause });
};

/**
 * Asks the same address over HTTP for the reason, because WebSockets do not report it. `again` after a request that
 * failed although a server is there: it may have started between the two requests.
 */
const asked = async (
  url: string,
  token: string | undefined,
  seconds: number,
  left: () => number,
  again = false,
): Promise<Explanation> => {
  const at = url.replace(/^ws/, "http");
  let answer: Response;
  let text: string;
  let away: string | undefined;
  try {
    answer = await fetch(at, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      redirect: "manual",
      signal: within(left()),
    });
    away = redirection(answer);
    text = away === undefined ? (await readText(answer, MOST)).text : "";
  } catch (error) {
    const cause = error as Error & { cause?: { code?: string; message?: string; data?: string } };
    const page = (globalThis as { location?: { origin: string } }).location?.origin;
    if (page && (await isThere(at, left()))) {
      if (!again) return asked(url, token, seconds, left, true);
      return {
        message: `the server at ${url} takes no calls of pages of ${page}: start it with --allowed-origins ${page}`,
        kind: "other",
        cause,
      };
    }
    if (cause.name === "TimeoutError") {
      return {
        message: `${url} did not answer within ${seconds} s: is the server running (hero serve), and is that its address?`,
        kind: "away",
        cause,
      };
    }
    const why = cause.cause?.code ?? cause.cause?.message ?? cause.message;
    const tls = untrusted(why, url);
    if (tls) return { message: `the server at ${url} ${tls} (${why})`, kind: "other", cause };
    if (why.startsWith("HPE_")) return { message: noHttp(url, why, cause.cause?.data), kind: "foreign", cause };
    if (cause.cause?.message === "bad upgrade") {
      return {
        message: `what answers at ${url} opens something else than a WebSocket, so it is no hero server: is that the address and the port?`,
        kind: "foreign",
        cause,
      };
    }
    if (why === BAD_PORT) {
      const refused = await dialled(url, left());
      if (refused) return { message: nobody(url, refused), kind: "away", cause };
      return {
        message: `no WebSocket opens at ${url}, and nothing asks over HTTP at a port such as this one (${why}): is that the address and the port of hero?`,
        kind: "away",
        cause,
      };
    }
    // This may be a proxy or a container whose server is not up yet.
    if (/^(UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(why)) {
      return {
        message: `something answers at ${url}, and ends the connection without a word of HTTP (${why}): is that the address and the port of hero?`,
        kind: "away",
        cause,
      };
    }
    return { message: nobody(url, why), kind: "away", cause };
  }
  if (away !== undefined) {
    return {
      message: `what answers at ${url} sends to ${away}, which is not followed: if that is the server, give its address`,
      kind: "other",
    };
  }
  if (answer.status === 401) {
    const said = /"message":"([^"]*)/.exec(text)?.[1] ?? oneLine(text);
    return {
      message: token
        ? `the server at ${url} does not take this token, which is wrong, was revoked or has expired (${said}): make another one (hero token create)`
        : `the server at ${url} wants a login (${said}): give \`token\` or \`login\`, or set HERO_TOKEN`,
      kind: "login",
    };
  }
  if (answer.status === 403)
    return { message: `the server at ${url} refuses who asks: ${oneLine(text)}`, kind: "other" };
  if (answer.ok && text.includes('"jsonrpc"')) {
    return {
      message: `the server at ${url} answers over HTTP, but no WebSocket opens within ${seconds} s: a proxy between may not let it through`,
      kind: "away",
    };
  }
  const passes = passing(url, answer.status, oneLine(text));
  if (passes !== undefined) return { message: passes, kind: "away" };
  return {
    message: `what answers at ${url} is no hero server (HTTP ${answer.status}: ${oneLine(text) || "nothing"}): is that the address and the port?`,
    kind: "foreign",
  };
};
