import { constants } from "node:buffer";
import { type ClientOptions, WebSocket } from "ws";
import { UNREAD } from "./transport.js";

/** Returns the class of WebSockets that take messages of at most so many characters. */
export const limited = (most = 64e6): unknown =>
  class extends WebSocket {
    constructor(url: string, options?: ClientOptions) {
      // A character has at most three bytes, and up to a megabyte the client itself finds out whose message it is. What
      // is longer than a string can be would end the program.
      super(url, [], { ...options, maxPayload: Math.min(Math.max(3 * most, 1e6), constants.MAX_STRING_LENGTH) });
      this.on("error", (error: Error & { code?: string }) => {
        if (error.code !== "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") return;
        const { onclose } = this;
        // The code alone would say that the server refused a message.
        this.onclose = null;
        this.terminate();
        const reason = `an answer has more than ${most} characters, more than maxMessage`;
        onclose?.call(this, { code: UNREAD, reason } as never);
      });
    }
  };
