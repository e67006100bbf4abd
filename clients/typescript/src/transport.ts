import { HeroError } from "./errors.js";

/** The listener of a connection. */
export interface Ear {
  /** A message has arrived. */
  message(data: unknown): void;
  /** The connection has ended. Called once, not if `open` has failed, and possibly never after `close`. */
  closed(code: number, reason: string): void;
}

/** An open connection. */
export interface Channel {
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

/** Makes connections to a server. */
export interface Transport {
  /** The address of the server. */
  readonly url: string;
  /** Whether each connection may use another token. */
  readonly renews?: boolean;
  /** Makes a connection. It throws a {@link Refusal}, or any other error if another attempt may help. */
  open(ear: Ear, signal: AbortSignal): Promise<Channel>;
}

/** The code of a connection that ended here because a message was far larger than `maxMessage`. */
export const UNREAD = 4009;

/** The reason for a failed connection. */
export class Refusal extends HeroError<"Refusal"> {
  constructor(
    message: string,
    /**
     * `login`: the token is refused. `foreign`: another program answers. `other`: another attempt would not help
     * either. `away`: nothing answers.
     */
    readonly kind: "login" | "foreign" | "other" | "away",
    options?: ErrorOptions,
  ) {
    super("Refusal", message, options);
  }
}

/** Returns the message for a failed login. A wallet may reject with anything, also with nothing. */
export const loginFailed = (cause: unknown): string =>
  `the login failed: ${(Object(cause) as Partial<Error>).message ?? String(cause)}`;
