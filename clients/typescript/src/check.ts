import type { SchemaMismatch } from "./errors.js";
import type { Check, Schema } from "./schema.js";

/** Returns a function that checks values by a schema. Throws a TypeError if the schema is invalid. */
export const checker = <T>(Mismatch: typeof SchemaMismatch, schema: Schema<T>): Check<T> => {
  const standard = (schema as Partial<Schema<T>>)["~standard"];
  if (typeof standard?.validate !== "function") {
    throw new TypeError("the schema has no `~standard`: give one of Zod, or of whatever keeps to Standard Schema");
  }
  return async (value, what) => {
    const checked = await standard.validate(value);
    if (!checked.issues) return checked.value;
    const issues = checked.issues.map((issue) => {
      const at = issue.path?.map((part) => String((part as { key?: unknown } | undefined)?.key ?? part)).join(".");
      return at ? `${at}: ${issue.message}` : issue.message;
    });
    throw new Mismatch(`${what} is not what the schema says: ${issues.join("; ")}`, checked.issues, value);
  };
};
