/** Used where the platform has a WebSocket. */
const none: unknown = undefined;
export default none;
