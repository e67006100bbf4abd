// Generated from openrpc.json by clients/generate (`make clients`). Do not edit.

/** The version of hero whose calls these are. */
export const version = "0.1.0";

/** How many seconds a wait takes if nothing is said. */
export const defaultWait = 120;

/** The most seconds that one call may wait. */
export const longestWait = 3600;
