import type { Client, Sending } from "./client.js";

/** How a stop is sent; its timeout is in seconds. */
const STOPPING: Sending = { again: true, callTimeout: 10 };

/**
 * Stops a job or a flow, and returns the reason if that failed. One that has already ended needs no stop. `params` are
 * its id, or the parameters that created it. This file imports nothing that a wait needs, so that it is loaded
 * separately.
 */
export const stop = async (
  client: Client,
  of: "job" | "flow",
  params: Record<string, unknown>,
  named: boolean,
): Promise<{ jobId: string | undefined; cause: unknown } | undefined> => {
  const { context_id, idempotency_key } = params;
  let id: unknown;
  try {
    // The same key means the same job or flow, whether or not the server has created it yet.
    const again = () => client.call(`create_${of}`, { ...params, wait_timeout: undefined } as never, STOPPING);
    id = named || idempotency_key === null ? params[`${of}_id`] : await again();
    if (id === undefined) throw new Error("without a key its id is not known");
    await client.call(`stop_${of}`, { [`${of}_id`]: id, context_id } as never, STOPPING);
    return undefined;
  } catch (cause) {
    const { status } = (cause as { data?: { status?: unknown } }).data ?? {};
    return status === undefined ? { jobId: of === "job" ? (id as string | undefined) : undefined, cause } : undefined;
  }
};
