import type { Client, Listener, Subscribed } from "./client.js";
import { RetryLater } from "./errors.js";
import { StoreUnavailable } from "./generated/errors.js";
import { needNumbers, pause } from "./numbers.js";
import type { LaggedNotice, Subscriptions } from "./generated/types.js";

/** Options for following. */
export interface FollowOptions {
  /** Ends the subscription: reading the next item throws the reason. */
  signal?: AbortSignal | undefined;
  /**
   * Maximum number of items that wait for their reader, 1,000 by default. Their characters together are limited to the
   * size of one message (`maxMessage`). Beyond these limits the client unsubscribes, and subscribes again after the
   * last waiting item once all are read, so nothing is lost and nothing piles up.
   */
  buffer?: number | undefined;
}

interface AnyItem {
  readonly type: string;
  readonly cursor?: string;
}

/**
 * The items of a subscription, for `for await`. The client restores it after the last item that it received, so no item
 * is missing and none comes twice. An item of the type `lagged` reports lost items, and the last item is of the type
 * `ended`.
 *
 * Items of flows have a cursor only if the server gives them one. Without it, the first item after a gap has the
 * current state of the flow (and no `job`), and changes during the gap are not reported.
 */
export class Following<T> implements AsyncIterableIterator<T, undefined> {
  /** Settles when the subscription is open for the first time. From then on no item is missing. */
  readonly opened: Promise<void>;
  readonly #client: Client;
  readonly #options: FollowOptions;
  /** Opens the subscription, after the cursor. */
  readonly #subscribe: (listener: Listener) => Promise<Subscribed>;
  /** Whether items before the first received one are lost when the subscription is opened again. */
  readonly #fromNow: boolean;
  readonly #buffer: AnyItem[] = [];
  /** The number of characters of all items that arrived since the buffer was empty. */
  #held = 0;
  /** The cursor of the last item that arrived. */
  #cursor: string | undefined;
  #read: string | undefined;
  /** The number of the current subscription; 0 if there is none. */
  #live = 0;
  #opens = 0;
  #subscribed: Subscribed | undefined;
  /** Whether the subscription was opened again after a gap, and no item has arrived since. */
  #resumed = false;
  #failures = 0;
  #failure: unknown;
  #over = false;
  #wasOpen = false;
  #wake: (() => void) | undefined;
  #turn: Promise<unknown>;

  /** Called by `follow`, `followJob` and the like. */
  constructor(
    client: Client,
    method: string,
    unsubscribe: string,
    params: object & { cursor?: string | undefined },
    options: FollowOptions,
  ) {
    // With less, no item could ever arrive.
    const { signal, buffer } = options;
    needNumbers({ buffer }, 1);
    this.#client = client;
    this.#options = options;
    this.#cursor = this.#read = params.cursor;
    this.#subscribe = (listener) =>
      client.subscribe(method, unsubscribe, { ...params, cursor: this.#cursor }, listener, { signal });
    // A subscription to all events has no beginning: it has the events from now on.
    this.#fromNow = method === ("subscribe_events" satisfies keyof Subscriptions) && !params.cursor;
    signal?.addEventListener("abort", this.#abort);
    this.opened = signal?.aborted ? Promise.reject(signal.reason as Error) : this.#open();
    // Readers get the error, so nobody has to handle `opened`.
    this.#turn = this.opened.catch((error: unknown) => (this.#failure ??= error));
  }

  /**
   * The cursor of the last item that was read, or the given one before the first. Another `follow` can continue from
   * there, also after `break` and after an abort.
   */
  get cursor(): string | undefined {
    return this.#read;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const result = this.#turn.then(() => this.#next());
    this.#turn = result.catch(() => undefined);
    return result;
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#finish();
    return this.#next();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the subscription, as leaving a `for await` does. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async #next(): Promise<IteratorResult<T, undefined>> {
    for (;;) {
      const item = this.#buffer.shift();
      if (item) {
        if (item.type === "ended") this.#finish();
        if (item.cursor) this.#read = item.cursor;
        return { done: false, value: item as T };
      }
      if (this.#over) return { done: true, value: undefined };
      if (this.#failure !== undefined) {
        this.#finish();
        throw this.#failure as Error;
      }
      if (this.#live) await new Promise<void>((resolve) => (this.#wake = resolve));
      else await this.#open().catch((error: unknown) => (this.#failure ??= error));
    }
  }

  readonly #abort = (): void => {
    this.#buffer.length = 0;
    this.#letGo();
    this.#failure = this.#options.signal?.reason;
  };

  #finish(): void {
    this.#over = true;
    this.#buffer.length = 0;
    this.#letGo();
    this.#options.signal?.removeEventListener("abort", this.#abort);
  }

  /** Ignores further items of the current subscription and wakes the reader, so that it continues. */
  #letGo(): void {
    this.#live = 0;
    this.#subscribed?.end();
    this.#subscribed = undefined;
    this.#wake?.();
  }

  /** Opens the subscription, and repeats this while it may help. */
  async #open(): Promise<void> {
    for (;;) {
      if (this.#failures) await this.#pause();
      if (this.#over || this.#failure !== undefined) return;
      const mine = (this.#live = ++this.#opens);
      this.#resumed = mine > 1;
      try {
        const subscribed = await this.#subscribe(this.#listener(mine));
        if (this.#live === mine) this.#subscribed = subscribed;
        // The subscription has ended meanwhile.
        else subscribed.end();
        return;
      } catch (error) {
        this.#live = 0;
        if (!this.#mayPass(error)) throw error;
      }
    }
  }

  /** The last error of opening the subscription. */
  #last: (Error & { retryAfter?: number }) | undefined;

  /** Whether the same subscription may be opened later. Then it keeps the error. */
  #mayPass(error: unknown): boolean {
    if (!(error instanceof RetryLater || error instanceof StoreUnavailable)) return false;
    this.#failures += 1;
    this.#last = error;
    return true;
  }

  async #pause(): Promise<void> {
    const delay = this.#client.delay(this.#failures);
    if (delay === undefined) throw this.#last as Error;
    await pause(Math.max(delay, this.#last?.retryAfter ?? 0), (wake) => (this.#wake = wake));
  }

  #listener(mine: number): Listener {
    return {
      opened: () => {
        // The events of the meantime are unknown.
        if (this.#wasOpen && this.#fromNow && this.#cursor === undefined)
          this.#push({ type: "lagged", cursor: "" } satisfies LaggedNotice, 0);
        this.#wasOpen = true;
      },
      item: (item, size) => {
        if (this.#live === mine) this.#take(item as AnyItem, size);
      },
      ended: (error) => {
        if (this.#live !== mine) return;
        // The subscription may have ended here only, while it is still open on the server.
        this.#letGo();
        if (error && !this.#mayPass(error)) this.#failure ??= error;
      },
    };
  }

  #take(item: AnyItem, size: number): void {
    if (item.type === "lagged" && this.#cursor !== undefined && !this.#resumed) {
      // The server may still have these items after the last one that arrived. They are gone only if it reports this
      // again.
      return this.#letGo();
    }
    this.#failures = 0;
    this.#resumed &&= item.type === "lagged";
    this.#push(item, size);
  }

  #push(item: AnyItem, size: number): void {
    const { length } = this.#buffer;
    this.#held = size + (length && this.#held);
    if (this.#held > this.#client.maxMessage || length >= (this.#options.buffer ?? 1000)) return this.#letGo();
    this.#buffer.push(item);
    if (item.cursor) this.#cursor = item.cursor;
    // The server has ended it, so there is nothing to unsubscribe.
    if (item.type === "ended") this.#subscribed = undefined;
    this.#wake?.();
  }
}

/**
 * Opens a subscription and returns its items. `followJob`, `followLogs`, `followFlow` and `followEvents` are shorter.
 */
export const follow = <S extends keyof Subscriptions>(
  client: Client,
  method: S,
  unsubscribe: string,
  needed: object,
  options: FollowOptions & object = {},
): Following<Subscriptions[S]["item"]> => {
  const { signal, buffer, ...params } = options;
  return new Following(client, method, unsubscribe, { ...params, ...needed }, { signal, buffer });
};
