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

type Checked<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

/** How a value is checked. */
export interface CheckOptions<T> {
  /** What the value has to be; what it makes of the value is given. */
  schema?: Schema<T> | undefined;
}

/** The value as the schema has it, or an error that says what is wrong with it. */
export const check = async <T>(schema: Schema<T> | undefined, value: unknown, what: string): Promise<T> => {
  if (!schema) return value as T;
  const checked = await schema["~standard"].validate(value);
  if (!checked.issues) return checked.value;
  const issues = checked.issues.map((issue) => {
    const at = issue.path?.map((part) => String((part as { key?: unknown } | undefined)?.key ?? part)).join(".");
    return at ? `${at}: ${issue.message}` : issue.message;
  });
  throw new SchemaMismatch(`${what} is not what the schema says: ${issues.join("; ")}`, checked.issues, value);
};
