/** Used where the platform has a WebSocket. */
export const limited = (_most?: number): unknown => undefined;
