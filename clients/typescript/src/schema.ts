import { SchemaMismatch } from "./errors.js";

/** What checks a value: any library that keeps to Standard Schema (https://standardschema.dev), such as Zod, Valibot or ArkType. */
export interface Schema<T> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Checked<T> | Promise<Checked<T>>;
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
  };
}

/** What a check gives. */
export type Checked<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

/** How a value is checked. */
export interface CheckOptions<T> {
  /** What the value has to be; what it makes of the value is given. */
  schema?: Schema<T> | undefined;
}

/** Gives a value as the schema has it, or fails with what is wrong with it. */
export type Check<T> = (value: unknown, what: string) => Promise<T>;

/** What checks values, before anything is sent for them: it is loaded only where it is needed. */
export const checker = async <T>(schema: Schema<T>): Promise<Check<T>> =>
  (await import("./check.js")).checker(SchemaMismatch, schema);
