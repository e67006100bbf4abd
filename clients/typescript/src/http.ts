import { addressOf, withToken } from "./address.js";
import { checked } from "./checked.js";
import { failure, fits, parse } from "./answer.js";
import { backoff, type Reconnect } from "./backoff.js";
import { oneLine, readText, redirection } from "./body.js";
import type { CallOptions, Client, Listener, Sending, Status, Subscribed } from "./client.js";
import {
  CallTimeout,
  ClientClosed,
  ConnectionFailed,
  HeroError,
  LoginRefused,
  OutcomeUnknown,
  ProtocolError,
  RpcError,
} from "./errors.js";
import { codes } from "./generated/errors.js";
import type { LoggedIn } from "./generated/types.js";
import { BAD_PORT, BAD_TOKEN, noHttp, passing, untrusted } from "./explain.js";
import { Hero } from "./hero.js";
import type { Login } from "./options.js";
import { GRACE, LONGEST, needNumbers } from "./numbers.js";
import { loginFailed } from "./transport.js";
import { isFinal } from "./underway.js";
import type { Token } from "./websocket.js";

/** Options of calls over HTTP. */
export interface HttpOptions {
  /** The token to send with each call. */
  token?: Token | undefined;
  /** Logs in when needed: `wallet(…)`. */
  login?: Login | undefined;
  /** Options for repeating calls that may be repeated; `attempts` is 5 by default. */
  reconnect?: Omit<Reconnect, "firstAttempts"> | undefined;
  /** Maximum number of bytes of one answer. 64 million by default. */
  maxMessage?: number | undefined;
  /** The `fetch` to use. */
  fetch?: typeof fetch | undefined;
}

/** Seconds of the longest wait. It is below the built-in timeouts of `fetch` on some platforms. */
const LONGEST_WAIT = 100;

/** Makes each call as an HTTP request: for programs that live for one request. It has no subscriptions. */
export class HttpClient implements Client {
  readonly longestWait = LONGEST_WAIT;
  readonly maxMessage: number;
  readonly #options: HttpOptions;
  readonly #closing = new AbortController();
  readonly #watchers = new Set<(status: Status) => void>();
  #status: Status = { state: "idle" };
  #session: Promise<LoggedIn> | undefined;
  /** The time, by the local clock, from which the session is no longer used. */
  #renewAt = Infinity;
  #ids = 0;

  constructor(
    readonly url: string,
    options: HttpOptions = {},
  ) {
    needNumbers({ maxMessage: options.maxMessage, ...options.reconnect });
    this.#options = options;
    this.maxMessage = options.maxMessage ?? 64e6;
  }

  get status(): Status {
    return this.#status;
  }

  onStatus(listener: (status: Status) => void): () => void {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  subscribe(
    method: string,
    _unsubscribe: string,
    _params: object,
    _listener: Listener,
    _options?: CallOptions,
  ): Promise<Subscribed> {
    return Promise.reject(
      new ProtocolError(`${method} needs a WebSocket: use connect("ws://…") for what follows something`),
    );
  }

  delay(failures: number): number | undefined {
    const { attempts = 5, ...rest } = this.#options.reconnect ?? {};
    return failures >= attempts ? undefined : backoff(failures, rest, Math.random);
  }

  async call(method: string, params: object, options: Sending = {}): Promise<never> {
    needNumbers({ callTimeout: options.callTimeout });
    const until = options.wait === undefined ? 0 : performance.now() + options.wait * 1000;
    const seconds = Math.min(options.callTimeout ?? Infinity, (options.wait ?? Infinity) + GRACE);
    const limit = seconds < LONGEST ? AbortSignal.timeout(Math.ceil(seconds * 1000)) : undefined;
    const signal = AbortSignal.any([this.#closing.signal, options.signal, limit].filter((each) => each !== undefined));
    const begun = options.again === "begun";
    let reached = false;
    for (let failures = 1; ; failures += 1) {
      try {
        const given =
          until && failures > 1 ? { ...params, wait_timeout: Math.max(0, (until - performance.now()) / 1000) } : params;
        const answer = await this.#try(method, given, signal, options);
        options.onSent?.();
        return answer as never;
      } catch (error) {
        if (mayHaveArrived(error)) options.onSent?.();
        if (this.#closing.signal.aborted) throw new ClientClosed();
        if (options.signal?.aborted) throw options.signal.reason as Error;
        const given = params as Record<string, unknown>;
        if (error instanceof Lost) reached ||= error.reached;
        if (limit?.aborted) {
          const what = reached ? "whether it was carried out is not known" : "it was not sent";
          throw new CallTimeout(
            `no answer to ${method} within ${seconds} s; ${what}`,
            { method, params: given },
            reached,
            seconds,
          );
        }
        if (error instanceof Lost) {
          await this.#lost(method, given, options, error, failures, signal, reached || begun);
        } else if (
          error instanceof Error &&
          options.again !== true &&
          (reached ? !isFinal(error) : begun && error instanceof LoginRefused)
        ) {
          throw unknown(method, given, error, "so repeat it with its `params`");
        } else {
          throw error;
        }
      }
    }
  }

  close(): void {
    this.#set({ state: "closed" });
    this.#closing.abort(new ClientClosed());
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #set(status: Status): void {
    if (this.#status.state === status.state && status.state === "open") return;
    this.#status = status;
    for (const watcher of this.#watchers) watcher(status);
  }

  /** Waits until the call may be repeated, or throws the reason why it is not repeated. */
  async #lost(
    method: string,
    params: Record<string, unknown>,
    options: Sending,
    lost: Lost,
    failures: number,
    signal: AbortSignal,
    reached: boolean,
  ): Promise<void> {
    const { cause, kind } = lost;
    const error =
      kind === "unread"
        ? new ProtocolError(lost.message, { cause })
        : new ConnectionFailed(lost.message, this.url, failures, { cause });
    if (lost.reached && !options.again) throw unknown(method, params, error, "so it was not sent again");
    const delay = kind === "away" ? this.delay(failures) : undefined;
    if (delay === undefined) {
      if (kind !== "unread") this.#set({ state: "down", error });
      throw reached && options.again !== true
        ? unknown(method, params, error, "so repeat it with its `params`")
        : error;
    }
    this.#set({ state: "waiting", attempt: failures, delay, error });
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delay * 1000);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Returns the token to send with a call. */
  async #token(signal: AbortSignal): Promise<string | undefined> {
    const { token, login } = this.#options;
    if (!login) return typeof token === "function" ? token() : token;
    if (Date.now() >= this.#renewAt) this.#session = undefined;
    const session = (this.#session ??= this.#logIn(login, signal));
    try {
      // A new session is used whatever its end: another one would be no better.
      return (await session).token;
    } catch (error) {
      // A failed login is no session.
      if (this.#session === session) this.#session = undefined;
      throw error;
    }
  }

  async #logIn(login: Login, signal: AbortSignal): Promise<LoggedIn> {
    this.#renewAt = Infinity;
    const call = (method: string, params: object) => this.#send(method, params, undefined, signal);
    const who = (await login(call, new URL(this.url).host).catch((error: unknown) => {
      // A login without an answer was not refused. The call that waits for it was not sent.
      if (error instanceof Lost) throw new Lost(error.message, false, { cause: error.cause }, error.kind);
      if (error instanceof ProtocolError) throw new Lost(error.message, false, undefined, "unread");
      throw new LoginRefused(loginFailed(error), { cause: error });
    })) as LoggedIn;
    const left = Date.parse(who.expires_at) - Date.now();
    // If the end cannot be read or has passed by the local clock, it is ignored: the token is used until it is refused.
    if (left > 0) this.#renewAt = Date.now() + left - Math.min(60_000, left / 10);
    return who;
  }

  async #try(method: string, params: object, signal: AbortSignal, options: Sending, isAgain = false): Promise<unknown> {
    const token = await this.#token(signal);
    const session = this.#session;
    try {
      return await this.#send(method, params, token, signal, options.sign);
    } catch (error) {
      const refused = error instanceof RpcError && error.code === codes.NotAuthenticated;
      if (!refused || !token) throw error;
      if (this.#session === session) this.#session = undefined;
      // The session has ended early. A call that is refused for this was not carried out.
      if (this.#options.login && !isAgain) return this.#try(method, params, signal, options, true);
      const hint = this.#options.login ? "nor one of a new login" : "make another one (hero token create)";
      throw new LoginRefused(`the server at ${this.url} does not take this token (${error.message}): ${hint}`, {
        cause: error,
      });
    }
  }

  async #send(
    method: string,
    params: object,
    token: string | undefined,
    signal: AbortSignal,
    sign?: string,
  ): Promise<unknown> {
    const id = ++this.#ids;
    // Parameters that cannot be sent throw their own error here.
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    const headers = headersWith(token);
    // `fetch` would not tell that nothing was sent.
    signal.throwIfAborted();
    let status: number;
    let text: string;
    let whole: boolean;
    let away: string | undefined;
    try {
      const answer = await (this.#options.fetch ?? fetch)(this.url, {
        method: "POST",
        headers,
        body,
        // Following a redirect would repeat a change, and send its parameters to another server.
        redirect: "manual",
        signal,
      });
      status = answer.status;
      away = redirection(answer);
      ({ text, whole } = await readText(answer, away === undefined ? this.maxMessage : 0));
    } catch (cause) {
      throw unanswered(this.url, cause as Failure);
    }
    if (away !== undefined) {
      const hint = "which is not followed: if that is the server, give its address";
      throw new Lost(`what answers at ${this.url} sends to ${away} (${hint})`, true);
    }
    if (!whole) {
      const what = `the answer to ${method} has more than ${this.maxMessage} bytes, more than maxMessage`;
      throw new Lost(what, true, undefined, "unread");
    }
    const answer = parse(text);
    if (answer.jsonrpc && (answer.error !== undefined || answer.id === id)) {
      if (answer.error === undefined) {
        this.#set({ state: "open" });
        if (fits(answer.result, sign)) return answer.result;
      }
      const call = (named: string) =>
        this.#send(named, {}, token, AbortSignal.any([signal, AbortSignal.timeout(5_000)]));
      throw await failure({ url: this.url, call }, method, answer.error);
    }
    const shown = oneLine(text);
    const passes = passing(this.url, status, shown);
    // A proxy may have forwarded the call; a server with too many connections has not read it.
    if (passes !== undefined) throw new Lost(passes, status !== 429);
    const what = `what answers at ${this.url} is no hero server (HTTP ${status}: ${shown || "nothing"}): is that the address?`;
    throw new Lost(what, true, undefined, "unread");
  }
}

const unknown = (method: string, params: Record<string, unknown>, cause: Error, so: string): OutcomeUnknown =>
  new OutcomeUnknown(`${cause.message}: whether ${method} was done is not known, ${so}`, { method, params }, { cause });

/**
 * A call without an answer. `reached`: it may have been carried out. Only one whose server is `away` is repeated. In place
 * of the answer something may have come that is none, or that is too large: `unread`.
 */
class Lost extends HeroError<"Lost"> {
  constructor(
    message: string,
    readonly reached: boolean,
    options?: ErrorOptions,
    readonly kind: "away" | "hopeless" | "unread" = "away",
  ) {
    super("Lost", message, options);
  }
}

/** Whether a call that failed with this may have arrived at the server. */
const mayHaveArrived = (error: unknown): boolean =>
  error instanceof Lost ? error.reached : error instanceof RpcError || error instanceof ProtocolError;

const headersWith = (token: string | undefined): Record<string, string> => {
  if (!token) return { "content-type": "application/json" };
  const authorization = `Bearer ${token}`;
  try {
    new Headers({ authorization });
  } catch (cause) {
    throw new LoginRefused(BAD_TOKEN, { cause });
  }
  return { "content-type": "application/json", authorization };
};

/** The error of `fetch` in Node.js. Other platforms report less. */
type Failure = Error & {
  cause?: { code?: string; message?: string; data?: string; syscall?: string; errors?: unknown };
};

/** Returns the error for a missing answer. It distinguishes calls that were certainly not sent from others. */
const unanswered = (url: string, cause: Failure): Lost => {
  const { code, message = cause.message, data, syscall, errors } = cause.cause ?? {};
  const why = code ?? message;
  const tls = untrusted(why, url);
  if (tls) return new Lost(`the server at ${url} ${tls} (${why})`, false, { cause }, "hopeless");
  if (why.startsWith("HPE_")) return new Lost(noHttp(url, why, data), true, { cause }, "unread");
  if (why === BAD_PORT) {
    const message = `nothing calls over HTTP at the port of ${url}, which is of another protocol (${why})`;
    return new Lost(message, false, { cause }, "hopeless");
  }
  // One error for each address of a host name, none of which could be reached.
  const isAway = errors !== undefined || syscall === "connect" || syscall === "getaddrinfo" || UNREACHED.test(why);
  return isAway
    ? new Lost(
        `nobody answers at ${url} (${why}): is the server running (hero serve), and is that its address`,
        false,
        { cause },
      )
    : new Lost(`the connection to ${url} ended (${why})`, true, { cause });
};

const UNREACHED = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** Creates a client over HTTP, without subscriptions: for programs that live for one request. */
export const createHttpClient = (url: string, options?: HttpOptions): Client =>
  new HttpClient(addressOf(url, true), options);

/** Returns the object with all calls, over HTTP. The defaults are those of `connect`. */
export const connectHttp = (url?: string, options?: HttpOptions): Hero =>
  new Hero(checked(new HttpClient(addressOf(url, true), withToken(options))));
