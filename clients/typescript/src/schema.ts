import { SchemaMismatch } from "./errors.js";
import { rare } from "./rare.js";

/**
 * A schema of any library that implements Standard Schema (https://standardschema.dev), such as Zod, Valibot or
 * ArkType.
 */
export interface Schema<T> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Checked<T> | Promise<Checked<T>>;
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
  };
}

/** The outcome of a check. */
export type Checked<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

/** Options for checking a value. */
export interface CheckOptions<T> {
  /** The schema of the value. The call returns the output of the schema. */
  schema?: Schema<T> | undefined;
}

/** Returns the output of the schema for a value, or throws an error with the issues. */
export type Check<T> = (value: unknown, what: string) => Promise<T>;

/** Returns the check for a schema, before anything is sent. The code is loaded on demand. */
export const checker = async <T>(schema: Schema<T>): Promise<Check<T>> =>
  (await rare()).checker(SchemaMismatch, schema);
