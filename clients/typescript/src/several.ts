import { checker, type CheckOptions } from "./schema.js";
import type { CallOptions, Client, Sending } from "./client.js";
import type {
  CreateJobsOptions,
  FindObjectsOptions,
  GetObjectOptions,
  JobSpecInput,
  ObjectPage,
} from "./generated/types.js";
import { key } from "./key.js";

/**
 * Creates several jobs, all or none. Each job gets a key, so that the call can be repeated and is carried out once. But
 * if a job has an id, other jobs may name it, which the server refuses for jobs with keys. Such a call is sent once.
 */
export const createJobs = (
  client: Client,
  jobs: JobSpecInput[],
  options: CreateJobsOptions & CallOptions = {},
): Promise<string[]> => {
  const keyed = !jobs.some((job) => job.job_id !== undefined && job.idempotency_key === undefined);
  const given = keyed ? jobs.map((job) => ({ ...job, idempotency_key: job.idempotency_key ?? key() })) : jobs;
  const { signal, callTimeout, ...rest } = options;
  const sending: Sending = { again: keyed && "keyed", sign: "map", signal, callTimeout };
  return client.call("create_jobs", { ...rest, jobs: given }, sending);
};

/** Returns an object of a collection, optionally typed and checked. */
export const getObject = async <T = unknown>(
  client: Client,
  collection: string,
  id: string,
  options: GetObjectOptions & CallOptions & CheckOptions<T> = {},
): Promise<T> => {
  const { schema, signal, callTimeout, ...rest } = options;
  const check = schema && (await checker(schema));
  const object = await client.call("get_object", { ...rest, collection, id }, { again: true, signal, callTimeout });
  return check ? check(object, `${id} of ${collection}`) : (object as T);
};

/** Returns some objects of a collection, in order; `next_cursor` is the cursor of the next page. */
export const findObjects = async <T = unknown>(
  client: Client,
  collection: string,
  options: FindObjectsOptions & CallOptions & CheckOptions<T> = {},
): Promise<Omit<ObjectPage, "objects"> & { objects: T[] }> => {
  const { schema, signal, callTimeout, ...rest } = options;
  const check = schema && (await checker(schema));
  const page = await client.call(
    "find_objects",
    { ...rest, collection },
    { again: true, sign: "objects", signal, callTimeout },
  );
  if (!check) return page as typeof page & { objects: T[] };
  const objects = await Promise.all(page.objects.map((object) => check(object, `an object of ${collection}`)));
  return { ...page, objects };
};
