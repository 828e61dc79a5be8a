/**
 * Validation before the claim (F102): a schema of any library that speaks Standard Schema (https://standardschema.dev,
 * version 1), known by its structure only.
 *
 * Invariant: what is invalid never runs, claims nothing and binds nothing; a record that is there answers as always.
 */

import { having, type Row } from './options.ts';

/** A schema of Zod, Valibot, ArkType and others: whatever has `~standard`. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    /** For the type checker alone. */
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** What a schema says of a value. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** One thing that is wrong with an input. */
export interface Issue {
  /** Members and indexes from the outside in; empty for the whole. */
  readonly path: readonly (string | number)[];
  /** The schema's own words: they go to the client. */
  readonly message: string;
}

/** So many are told; more would help nobody. */
const ISSUES_MAX = 20;
const MESSAGE_LENGTH_MAX = 500;

/** A schema as a member of options. */
export const SCHEMA_ROW: Row<StandardSchema, undefined> = {
  read(given, path) {
    const of = 'a schema of a library that speaks Standard Schema, such as Zod, Valibot or ArkType';
    having(['validate'], of).read((given as Partial<StandardSchema> | null)?.['~standard'], path);
    return given as StandardSchema;
  },
  absent: () => undefined,
};

/** What the schema makes of a value, or what is wrong with it. Rejects with what the schema throws. */
export async function validate<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
): Promise<{ readonly value: Output } | { readonly issues: readonly Issue[] }> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return { value: result.value };
  return {
    issues: result.issues.slice(0, ISSUES_MAX).map(({ message, path = [] }) => ({
      path: path.map((part) => {
        const key = typeof part === 'object' ? part.key : part;
        return typeof key === 'symbol' ? String(key) : key;
      }),
      message: String(message).slice(0, MESSAGE_LENGTH_MAX),
    })),
  };
}

/** An issue's place as a JSON Pointer (RFC 6901) in a fragment, as RFC 9457 §3 shows it: `#/items/0/sku`. */
export function pointerOf({ path }: Issue): string {
  const escaped = path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`);
  return `#${escaped.map(encodeURI).join('')}`;
}
