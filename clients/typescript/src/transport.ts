/** Who listens to a connection. */
export interface Ear {
  /** A message has arrived. */
  message(data: unknown): void;
  /** The connection has ended. Told once, not if `open` has failed, and perhaps never once `close` was called. */
  closed(code: number, reason: string): void;
}

/** A connection that is open. */
export interface Channel {
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

/** How connections to a server are made. */
export interface Transport {
  /** Where it leads. */
  readonly url: string;
  /** Whether each connection may show another token than the one before. */
  readonly renews?: boolean;
  /** Makes a connection. It fails with a {@link Refusal}, or with any error if trying again may help. */
  open(ear: Ear, signal: AbortSignal): Promise<Channel>;
}

/** Why a connection was not made. */
export class Refusal extends Error {
  constructor(
    message: string,
    /** `login`: the token is not taken. `other`: something else is there, which was never hero. `away`: nobody answers. */
    readonly kind: "login" | "other" | "away",
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** What is said of a login that failed. A wallet may reject with anything, also with nothing. */
export const loginFailed = (cause: unknown): string =>
  `the login failed: ${(cause as Partial<Error> | null | undefined)?.message ?? String(cause)}`;
