// Generated from openrpc.json by clients/generate (`make clients`). Do not edit.

/** The version of hero that these calls belong to. */
export const version = "0.1.0";

/** The default timeout of a wait, in seconds. */
export const defaultWait = 120;

/** The maximum timeout of one call that waits, in seconds. */
export const longestWait = 3600;
