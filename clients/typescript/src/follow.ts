import type { Client, Listener, Subscribed } from "./client.js";
import { RetryLater } from "./errors.js";
import { StoreUnavailable } from "./generated/errors.js";
import type { LaggedNotice, Subscriptions } from "./generated/types.js";

/** How items are followed. */
export interface FollowOptions {
  /** Ends it: the next item is the reason, as an error. */
  signal?: AbortSignal | undefined;
  /**
   * The most items that wait here for their reader, 1,000 by default, and never more characters than one message may have (`maxMessage`). With
   * more the subscription is let go of, and opened again after the last item that waits once these are read: nothing is lost, nothing piles up.
   */
  buffer?: number | undefined;
}

interface AnyItem {
  readonly type: string;
  readonly cursor?: string;
}

/**
 * The items of a subscription, for `for await`. It is opened again by itself, after the last item that was seen: none is missing, and none
 * comes twice. What had to be left out is said by an item of the type `lagged`, and the end by one of the type `ended`, which is the last.
 *
 * Items of flows have a cursor only where the server gives them one. Without it, the first item after a gap says where the flow is now (it has
 * no `job`), and changes in the gap are not told.
 */
export class Following<T> implements AsyncIterableIterator<T, undefined> {
  /** Settles when the subscription is open for the first time: from here on nothing is missing. */
  readonly opened: Promise<void>;
  readonly #client: Client;
  readonly #options: FollowOptions;
  /** Opens the subscription, after the cursor. */
  readonly #subscribe: (listener: Listener) => Promise<Subscribed>;
  /** Whether what comes before the first item is not told again when it is opened again. */
  readonly #fromNow: boolean;
  readonly #buffer: AnyItem[] = [];
  /** The characters of what has arrived since nothing waited. */
  #held = 0;
  #cursor: string | undefined;
  /** The subscription that counts, by number; 0 if there is none. */
  #live = 0;
  #opens = 0;
  #subscribed: Subscribed | undefined;
  /** Whether it was opened again after a gap, and no item has come since. */
  #resumed = false;
  #failures = 0;
  #failure: unknown;
  #over = false;
  #wasOpen = false;
  #wake: (() => void) | undefined;
  #turn: Promise<unknown>;

  /** By `follow`, and the functions that are named after what they follow. */
  constructor(
    client: Client,
    method: string,
    unsubscribe: string,
    params: object & { cursor?: string | undefined },
    options: FollowOptions,
  ) {
    // With less nothing could ever arrive.
    if (!((options.buffer ?? 1) >= 1)) throw new RangeError("buffer has to be a number from 1 on");
    const { signal } = options;
    this.#client = client;
    this.#options = options;
    this.#cursor = params.cursor;
    this.#subscribe = (listener) =>
      client.subscribe(method, unsubscribe, { ...params, cursor: this.#cursor }, listener, { signal });
    // One that names nothing that it is about has no beginning: it is of what happens from now on.
    this.#fromNow = method === ("subscribe_events" satisfies keyof Subscriptions) && !params.cursor;
    signal?.addEventListener("abort", this.#abort);
    this.opened = signal?.aborted ? Promise.reject(signal.reason as Error) : this.#open();
    // Whoever reads is told; nobody has to look at `opened`.
    this.#turn = this.opened.catch((error: unknown) => {
      this.#failure ??= error;
    });
  }

  /** The cursor of the last item that was given: another `follow` with it goes on from there. */
  get cursor(): string | undefined {
    return this.#buffer.length ? this.#given : this.#cursor;
  }

  #given: string | undefined;

  next(): Promise<IteratorResult<T, undefined>> {
    const result = this.#turn.then(() => this.#next());
    this.#turn = result.catch(() => undefined);
    return result;
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#finish();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Lets go of it, as leaving a `for await` does. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async #next(): Promise<IteratorResult<T, undefined>> {
    for (;;) {
      const item = this.#buffer.shift();
      if (item) {
        if (item.type === "ended") this.#finish();
        this.#given = item.cursor ?? this.#given;
        return { done: false, value: item as T };
      }
      if (this.#over) return { done: true, value: undefined };
      if (this.#failure !== undefined) {
        const failure = this.#failure as Error;
        this.#finish();
        throw failure;
      }
      if (this.#live) await new Promise<void>((resolve) => (this.#wake = resolve));
      else await this.#open().catch((error: unknown) => (this.#failure ??= error));
    }
  }

  readonly #abort = (): void => {
    this.#letGo();
    this.#buffer.length = 0;
    this.#failure = this.#options.signal?.reason;
  };

  #finish(): void {
    this.#over = true;
    this.#buffer.length = 0;
    this.#letGo();
    this.#options.signal?.removeEventListener("abort", this.#abort);
  }

  /** What arrives from now on is not listened to. Whoever waits for it looks what is next. */
  #letGo(): void {
    this.#live = 0;
    this.#subscribed?.end();
    this.#subscribed = undefined;
    this.#wake?.();
  }

  /** Opens the subscription, again and again as long as that may help. */
  async #open(): Promise<void> {
    for (;;) {
      if (this.#failures) await this.#pause();
      if (this.#over || this.#failure !== undefined) return;
      const mine = (this.#live = ++this.#opens);
      this.#resumed = mine > 1;
      try {
        const subscribed = await this.#subscribe(this.#listener(mine));
        // It may be over by now.
        if (this.#live !== mine) return subscribed.end();
        this.#subscribed = subscribed;
        return;
      } catch (error) {
        this.#live = 0;
        if (!mayPass(error)) throw error;
        this.#failures += 1;
        this.#last = error as Error;
      }
    }
  }

  /** Why it was not opened, if it was not. */
  #last = new Error();

  async #pause(): Promise<void> {
    const delay = this.#client.delay(this.#failures);
    if (delay === undefined) throw this.#last;
    const least = (this.#last as Partial<RetryLater>).retryAfter ?? 0;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(delay, least) * 1000);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #listener(mine: number): Listener {
    return {
      opened: () => {
        // Nobody can tell what happened between.
        if (this.#wasOpen && this.#fromNow && this.#cursor === undefined)
          this.#push({ type: "lagged", cursor: "" } satisfies LaggedNotice, 0);
        this.#wasOpen = true;
      },
      item: (item, size) => {
        if (this.#live === mine) this.#take(item as AnyItem, size);
      },
      ended: (error) => {
        if (this.#live !== mine) return;
        // The server goes on with what ended here alone.
        this.#letGo();
        if (error && mayPass(error)) {
          this.#failures += 1;
          this.#last = error;
        } else if (error) this.#failure ??= error;
      },
    };
  }

  #take(item: AnyItem, size: number): void {
    if (item.type === "lagged" && this.#cursor !== undefined && !this.#resumed) {
      // What was lost on the way is still there after the last item that arrived. It is gone only if the same is said again.
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
    // The server has ended it, so there is nothing to let go of there.
    if (item.type === "ended") this.#subscribed = undefined;
    this.#wake?.();
  }
}

/** Whether the same subscription may be opened later. */
const mayPass = (error: unknown): boolean => error instanceof RetryLater || error instanceof StoreUnavailable;

/** Opens a subscription and gives its items. `followJob`, `followLogs`, `followFlow` and `followEvents` are shorter. */
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
