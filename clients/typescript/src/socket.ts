import { beginning, failure, fits, type Message, parse, rpcError } from "./answer.js";
import { backoff } from "./backoff.js";
import type { Client, Listener, Sending, Status, Subscribed } from "./client.js";
import { ClientClosed, ConnectionFailed, LoginRefused, ProtocolError, TooManyCalls } from "./errors.js";
import { longestWait } from "./generated/limits.js";
import type { SocketOptions } from "./options.js";
import { after, GRACE, LONGEST, needNumbers, pause } from "./numbers.js";
import { type Channel, loginFailed, Refusal, type Transport, UNREAD } from "./transport.js";
import { type Call, encode, givenUp, late, type Special, whyNot } from "./underway.js";

/** The call is made on this connection, even before the login is complete, and ends with it. */
const FIRST: Special = { first: true };

/** A client over a permanent connection. It reconnects after a loss and continues pending calls. */
export class SocketClient implements Client {
  readonly url: string;
  readonly longestWait: number;
  readonly maxMessage: number;
  readonly #transport: Transport;
  readonly #options: SocketOptions;
  readonly #calls = new Map<number, Call>();
  readonly #listeners = new Map<string, Listener>();
  readonly #watchers = new Set<(status: Status) => void>();
  #queue: Call[] = [];
  #status: Status = { state: "idle" };
  #channel: Channel | undefined;
  #ready = false;
  #connection = 0;
  /** Whether a connection was ever open. If so, later attempts are not first attempts. */
  #reached = false;
  /** The number of messages of hero that have arrived. */
  #heard = 0;
  #attempt = 0;
  #ids = 0;
  readonly #stopping = new AbortController();
  #sweeper: ReturnType<typeof setInterval> | undefined;
  #heart: ReturnType<typeof setInterval> | undefined;
  #skip: (() => void) | undefined;

  constructor(transport: Transport, options: SocketOptions = {}) {
    const { heartbeat, maxCalls, maxMessage, reconnect } = options;
    needNumbers({ heartbeat, maxCalls, maxMessage, ...reconnect });
    this.#transport = transport;
    this.#options = options;
    this.longestWait = longestWait;
    this.maxMessage = maxMessage ?? 64e6;
    this.url = transport.url;
  }

  get status(): Status {
    return this.#status;
  }

  onStatus(listener: (status: Status) => void): () => void {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  call(method: string, params: object, options: Special = {}): Promise<never> {
    return new Promise((resolve: Call["resolve"], reject) => {
      const { first, signal, callTimeout, wait = Infinity } = options;
      if (callTimeout !== undefined) needNumbers({ callTimeout });
      const most = this.#options.maxCalls ?? 10_000;
      if (this.#closed) throw new ClientClosed();
      if (signal?.aborted) throw signal.reason as Error;
      if (this.#calls.size >= most && !first) throw new TooManyCalls(most);
      const until = performance.now() + wait * 1000;
      const id = ++this.#ids;
      // With the members that it gets once it is sent, for which an object would have to grow.
      const call: Call = {
        id,
        method,
        params,
        options,
        resolve,
        reject,
        until,
        sentOn: 0,
        lost: 0,
        heard: 0,
        size: 0,
      };
      this.#calls.set(id, call);
      this.#limit(call);
      if (this.#ready || first) return this.#send(call);
      this.#queue.push(call);
      const { state } = this.#status;
      if (state !== "idle" && state !== "down") return;
      this.#attempt = 0;
      void this.#keepTrying();
    });
  }

  async subscribe(
    method: string,
    unsubscribe: string,
    params: object,
    listener: Listener,
    options?: Sending,
  ): Promise<Subscribed> {
    let mine = "";
    // The answer is handled as it arrives, because the first item may be in the next message.
    const adopt = (id: unknown) => {
      this.#listeners.set((mine = String(id)), listener);
      listener.opened();
    };
    await this.call(method, params, { ...options, again: true, sign: "string", adopt, unsubscribe });
    return {
      end: () => {
        // A connection that ended has taken its listeners with it.
        if (this.#listeners.get(mine) !== listener) return;
        this.#listeners.delete(mine);
        this.#tell(unsubscribe, { subscription: mine });
      },
    };
  }

  /**
   * Sends a call without waiting for its answer. If sending fails, the connection ends, and its subscriptions with it.
   */
  #tell(method: string, params: object): void {
    this.call(method, params, FIRST).catch(() => undefined);
  }

  delay(failures: number, isFirst = false): number | undefined {
    const { reconnect = {}, chance = Math.random } = this.#options;
    if (!reconnect) return undefined;
    const { attempts = 20, firstAttempts = 1 } = reconnect;
    return failures < (isFirst ? firstAttempts : attempts) ? backoff(failures, reconnect, chance) : undefined;
  }

  close(): void {
    if (this.#closed) return;
    this.#fail(new ClientClosed(), { state: "closed" });
    this.#stopping.abort();
    clearInterval(this.#sweeper);
    this.#skip?.();
    this.#leave()?.close(1000);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Ends the call when its signal is aborted or its time is over. */
  #limit(call: Call): void {
    const { signal, callTimeout: seconds = Infinity } = call.options;
    if (call.until < Infinity) this.#sweeper ??= setInterval(() => this.#sweep(), 1000);
    const timer = after(seconds, () => this.#drop(call, late(call, seconds, this.#status.state)));
    if (!signal && !timer) return;
    const abort = () => this.#drop(call, signal?.reason);
    signal?.addEventListener("abort", abort);
    call.clear = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    };
  }

  /** Ends waits that the server should have ended. A timer for each would cost more than the rest of the call. */
  #sweep(): void {
    let waits = false;
    for (const call of this.#calls.values()) {
      waits ||= call.until < Infinity;
      if (performance.now() > call.until + GRACE * 1000) {
        this.#drop(call, late(call, (call.options.wait ?? 0) + GRACE, this.#status.state));
      }
    }
    if (!waits) {
      clearInterval(this.#sweeper);
      this.#sweeper = undefined;
    }
  }

  /** Ends a call with an error. If it opens a subscription, that is ended when the answer arrives. */
  #drop(call: Call, error: unknown): void {
    const { unsubscribe } = call.options;
    call.clear?.();
    call.reject(error);
    if (unsubscribe && call.sentOn === this.#connection) {
      call.options = {};
      call.resolve = (subscription: unknown) => this.#tell(unsubscribe, { subscription });
    } else {
      this.#calls.delete(call.id);
      this.#queue = this.#queue.filter((other) => other !== call);
    }
  }

  #send(call: Call): void {
    let text: string;
    try {
      text = encode(call);
    } catch (error) {
      return this.#drop(call, error);
    }
    call.sentOn = this.#connection;
    call.heard = this.#heard;
    call.size = text.length;
    // A channel that has just ended reports this by itself.
    this.#channel?.send(text);
    call.options.onSent?.();
  }

  #settle(call: Call, { result, error }: Message): void {
    this.#calls.delete(call.id);
    call.clear?.();
    if (error === undefined && fits(result, call.options.sign)) {
      call.options.adopt?.(result);
      return call.resolve(result as never);
    }
    // A refusal says nothing of the time before.
    void failure(this, call.method, error).then((said) => call.reject(call.lost ? givenUp(call, said) : said));
  }

  /**
   * Fails everything that is pending; what was sent may be `unknown`. A watcher of the status may already make the next
   * call.
   */
  #fail(error: Error, status: Status, unknown = false): void {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    this.#queue = [];
    this.#set(status);
    for (const call of calls) this.#drop(call, unknown ? givenUp(call, error) : error);
    this.#tellListeners(error);
  }

  #tellListeners(error?: Error): void {
    const listeners = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of listeners) listener.ended(error);
  }

  #set(status: Status): void {
    this.#status = status;
    for (const watcher of this.#watchers) watcher(status);
  }

  async #keepTrying(): Promise<void> {
    let error: Error | undefined;
    do {
      this.#attempt += 1;
      this.#set({ state: "connecting", attempt: this.#attempt });
      error = (await this.#open().catch((reason: unknown) => reason)) as Error | undefined;
    } while (error && !this.#closed && (await this.#pause(error)));
  }

  get #closed(): boolean {
    return this.#status.state === "closed";
  }

  /** Waits before the next attempt. Returns false if there is none. */
  async #pause(error: Error): Promise<boolean> {
    const { message, kind = "away" } = error as Partial<Refusal> & Error;
    const hopeless = kind === "login" || (kind !== "away" && !this.#heard);
    const delay = hopeless ? undefined : this.delay(this.#attempt, !this.#reached);
    if (delay === undefined) {
      const final =
        kind === "login"
          ? new LoginRefused(message, { cause: error })
          : kind === "foreign"
            ? new ProtocolError(message, { cause: error })
            : new ConnectionFailed(message, this.url, this.#attempt, { cause: error });
      // What was never heard to be hero has done nothing.
      this.#fail(final, { state: "down", error: final }, kind !== "foreign" || this.#heard > 0);
      return false;
    }
    this.#set({ state: "waiting", attempt: this.#attempt, delay, error });
    await pause(delay, (skip) => (this.#skip = skip));
    return !this.#closed;
  }

  async #open(): Promise<void> {
    const connection = ++this.#connection;
    // Whether the connection ended meanwhile, so that another attempt may be under way.
    const isOver = () => connection !== this.#connection;
    const ear = {
      message: (data: unknown) => {
        if (!isOver()) this.#hear(data);
      },
      closed: (code: number, reason: string) => {
        if (!isOver()) this.#lost(code, reason);
      },
    };
    const channel = await this.#transport.open(ear, this.#stopping.signal);
    if (isOver()) return channel.close(1000);
    this.#channel = channel;
    this.#reached = true;
    this.#beat();
    const { login } = this.#options;
    if (login) {
      try {
        await login((method, params) => this.call(method, params, FIRST), new URL(this.url).host);
      } catch (cause) {
        if (isOver()) return;
        this.#leave()?.close(1000);
        throw new Refusal(loginFailed(cause), "login", { cause });
      }
      if (isOver()) return;
    }
    this.#ready = true;
    this.#set({ state: "open" });
    for (const call of this.#queue.splice(0)) this.#send(call);
  }

  /** Sends a ping over a silent connection to check that it is alive. */
  #beat(): void {
    const every = this.#options.heartbeat ?? 20;
    if (!every || every >= LONGEST) return;
    let seen = this.#heard;
    let asked = false;
    // A timer that is not cleared would keep the program from ending.
    this.#heart = setInterval(() => {
      const silent = seen === (seen = this.#heard);
      if (asked && silent) return this.#break(1001, `silent for ${2 * every} s`);
      if ((asked = silent)) this.#tell("ping", {});
    }, every * 1000);
  }

  /** Forgets the connection, and returns it. */
  #leave(): Channel | undefined {
    const channel = this.#channel;
    this.#connection += 1;
    clearInterval(this.#heart);
    this.#channel = undefined;
    this.#ready = false;
    return channel;
  }

  /** Ends a connection that is no longer usable. */
  #break(code: number, reason: string): void {
    this.#lost(code, reason)?.close(1000);
  }

  #hear(data: unknown): void {
    // A binary message is not JSON either.
    const text = String(data);
    if (text.length > this.maxMessage) {
      const why = `an answer has ${text.length} characters, more than maxMessage`;
      const [, id, to] = beginning.exec(text) ?? [];
      const call = this.#calls.get(Number(id));
      const listener = this.#listeners.get(String(to));
      if (!id && !listener) return this.#break(1000, why);
      this.#good();
      const error = new ProtocolError(call ? `${call.method}: ${why}` : why);
      if (call) this.#drop(call, givenUp(call, error));
      // The item would be sent again, so the subscription ends; its listener tells the server.
      return listener?.ended(error);
    }
    const message = parse(text);
    const { id, method, params, result, error } = message;
    if (typeof id === "number" && (result !== undefined || error !== undefined)) {
      this.#good();
      const call = this.#calls.get(id);
      // Dropped calls are unknown.
      return call && this.#settle(call, message);
    }
    if (id !== undefined || typeof method !== "string") return this.#strange(text);
    this.#good();
    const notice = Object(params) as { subscription?: string; result?: { type?: string } | null; error?: unknown };
    const subscription = String(notice.subscription);
    const listener = this.#listeners.get(subscription);
    if (!listener) return;
    if (notice.error === undefined && notice.result?.type) return listener.item(notice.result, text.length);
    this.#listeners.delete(subscription);
    listener.ended(rpcError(notice.error ?? { message: "item has no type" }, method));
  }

  /** Counts a message of hero. It shows that the connection works, unless the login is still under way. */
  #good(): void {
    this.#heard += 1;
    if (this.#ready) this.#attempt = 0;
  }

  /** Ends the connection because a message is not JSON-RPC. */
  #strange(text: string): void {
    this.#break(1002, `this is no hero server: ${text.slice(0, 200)}`);
  }

  /** Handles the end of the connection, and returns it. Pending calls are repeated or fail. */
  #lost(code: number, reason: string): Channel | undefined {
    const sent = [...this.#calls.values()].filter((call) => call.sentOn === this.#connection);
    const channel = this.#leave();
    const why = `the connection to ${this.url} ended (${code}${reason ? `: ${reason}` : ""})`;
    // The server refused a message for its size.
    const largest = code === 1009 && Math.max(...sent.map((call) => call.size));
    // The transport took no answer of that size. Whose it was is not known, so none is asked for again.
    const unread = code === UNREAD ? new ProtocolError(why) : undefined;
    const again: Call[] = [];
    for (const call of sent) {
      call.lost = this.#heard > call.heard ? 1 : call.lost + 1;
      const error = unread ? givenUp(call, unread) : whyNot(call, why, call.size === largest, this.url);
      if (error) this.#drop(call, error);
      else again.push(call);
    }
    this.#queue.unshift(...again);
    this.#tellListeners(unread);
    // The token has ended; a login, or a function that returns tokens, may provide another one.
    const login = code === 1008 && reason.includes("token") && !(this.#options.login ?? this.#transport.renews);
    const error = new Refusal(
      login ? `${why}; give this client another token` : why,
      login ? "login" : code === 1002 ? "foreign" : "away",
    );
    // Reconnects even without pending calls, so that the next call finds a connection.
    this.#attempt ||= 1;
    void this.#pause(error).then<unknown>((again) => again && this.#keepTrying());
    return channel;
  }
}
