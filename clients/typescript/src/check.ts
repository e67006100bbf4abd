import type { SchemaMismatch } from "./errors.js";
import type { Schema } from "./schema.js";

/** The value as the schema has it, or an error that says what is wrong with it. */
export const check = async <T>(
  Mismatch: typeof SchemaMismatch,
  schema: Schema<T>,
  value: unknown,
  what: string,
): Promise<T> => {
  const checked = await schema["~standard"].validate(value);
  if (!checked.issues) return checked.value;
  const issues = checked.issues.map((issue) => {
    const at = issue.path?.map((part) => String((part as { key?: unknown } | undefined)?.key ?? part)).join(".");
    return at ? `${at}: ${issue.message}` : issue.message;
  });
  throw new Mismatch(`${what} is not what the schema says: ${issues.join("; ")}`, checked.issues, value);
};
