// Generated from openrpc.json by clients/generate (`make clients`). Do not edit.

/** The version of hero that this client was made for. */
export const version = "0.1.0";
