/** Bodies in S3, or whatever speaks its protocol: one object each. */

import { OptionsError } from '../../core/errors.ts';
import { having, kindOf, readOptions, required, row, type Table, text } from '../../core/options.ts';
import type { BodyStore } from './bodies.ts';

/** What is used of the aggregated `S3` client of `@aws-sdk/client-s3` 3. */
export interface S3Client {
  // The SDK's inputs and outputs are exact types of its own.
  putObject(input: never): Promise<unknown>;
  getObject(input: never): Promise<unknown>;
  deleteObject(input: never): Promise<unknown>;
  listObjectsV2(input: never): Promise<unknown>;
}

/** Options of {@link s3Bodies}. */
export interface S3BodiesOptions {
  /** An open client: `new S3({ … })` of `@aws-sdk/client-s3`. It stays yours. */
  readonly client: S3Client;
  readonly bucket: string;
  /** What all names begin with; default `samekey/`. Tables may share it. */
  readonly prefix?: string;
}

/** S3 lists so many at once. */
const LIST_MAX = 1_000;

const ROWS = {
  client: required(
    having<S3Client>(
      ['listObjectsV2'],
      'an `S3` of @aws-sdk/client-s3, which has a method for each operation',
    ),
  ),
  bucket: required(text(), 'bucket must be the name of a bucket.'),
  prefix: row((given, path) => {
    if (typeof given === 'string') return given;
    throw new OptionsError(`${path} must be a text; it is ${kindOf(given)}.`);
  }, 'samekey/'),
} satisfies Table<S3BodiesOptions>;

/** Makes a store of bodies in a bucket. Throws `OptionsError`. */
export function s3Bodies(options: S3BodiesOptions): Required<BodyStore> {
  const { client, bucket, prefix } = readOptions('s3Bodies', ROWS, options);
  const at = (name: string): { Bucket: string; Key: string } => ({ Bucket: bucket, Key: `${prefix}${name}` });
  return {
    async put(name, bytes) {
      await client.putObject({ ...at(name), Body: bytes } as never);
    },
    async get(name) {
      try {
        const { Body } = (await client.getObject(at(name) as never)) as {
          Body?: { transformToByteArray(): Promise<Uint8Array> };
        };
        return Body === undefined ? null : await Body.transformToByteArray();
      } catch (error) {
        if (NONE.has((error as { name?: unknown } | null)?.name)) return null;
        throw error;
      }
    },
    async delete(name) {
      await client.deleteObject(at(name) as never);
    },
    async list(tableId, after, limit) {
      const names: string[] = [];
      for (let last = after; ; last = names.at(-1) ?? null) {
        const { Contents = [], IsTruncated } = (await client.listObjectsV2({
          Bucket: bucket,
          Prefix: `${prefix}${tableId}/`,
          MaxKeys: Math.min(LIST_MAX, limit - names.length),
          ...(last === null ? {} : { StartAfter: `${prefix}${last}` }),
        } as never)) as { Contents?: readonly { readonly Key?: string }[]; IsTruncated?: boolean };
        const before = names.length;
        for (const { Key } of Contents) if (Key !== undefined) names.push(Key.slice(prefix.length));
        // A page may be short and not the last; whoever asked takes a short list for the end.
        if (IsTruncated !== true || names.length >= limit || names.length === before) return names;
      }
    },
  };
}

/** Said of what is not there to whoever may list the bucket; others are told AccessDenied, which stays an error. */
const NONE: ReadonlySet<unknown> = new Set(['NoSuchKey', 'NotFound']);
