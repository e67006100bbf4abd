/** Where the platform has a WebSocket, nothing else is asked for. */
const none: unknown = undefined;
export default none;
