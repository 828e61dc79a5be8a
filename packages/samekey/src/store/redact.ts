/**
 * Records and ids for eyes that must not see what they hold: log lines, metrics, operators' screens.
 *
 * Invariants: what comes out carries no key, no caller, no digest of a request, no header value, no byte of a body, an
 * input or a step · equal ids give equal hashes, so that lines can be joined · nothing here waits or throws for a
 * record of newer code.
 */

import { OptionsError } from '../core/errors.ts';
import { idText, type RecordId, type SamekeyRecord } from '../core/record.ts';
import { hmacSha256Bytes, sha256Bytes } from '../fingerprint/sha256.ts';

/** A record without what it holds. Times as in {@link SamekeyRecord}. */
export interface RedactedRecord
  extends Omit<SamekeyRecord, 'scope' | 'key' | 'fingerprint' | 'response' | 'steps' | 'input'> {
  /** {@link hashKey} of the record. */
  readonly keyHash: string;
  /** Of the scope's caller part: equal for all keys of one caller. */
  readonly callerHash: string;
  /** How the fingerprint was made; never the digest, which can be tried out where bodies are few. */
  readonly fingerprintLabel: string | null;
  readonly response: RedactedResponse | null;
  /** Null without steps. */
  readonly stepsLength: number | null;
  /** Null without an input. */
  readonly inputBytes: number | null;
}

/** A stored answer without what it says. */
export interface RedactedResponse {
  readonly status: number;
  /** In the order of the lines, with repeats. */
  readonly headerNames: readonly string[];
  /** Null when the body was not kept. */
  readonly bodyBytes: number | null;
}

/**
 * A short digest of an id, for logs and metrics: 16 characters of base64url, the same in every process and release.
 * Without a secret whoever knows the scope can try keys out; with one (16 bytes or more) only who has it can. Throws
 * `OptionsError` for a shorter secret.
 */
export function hashKey(id: RecordId, secret?: Uint8Array): string {
  return short(`samekey-key\n${idText(id)}`, secret);
}

/** The record without what it holds; for the secret see {@link hashKey}. Throws `OptionsError` for a short secret. */
export function redactRecord(record: SamekeyRecord, secret?: Uint8Array): RedactedRecord {
  const { scope, key, fingerprint, response, steps, input, ...rest } = record;
  return Object.freeze({
    ...rest,
    keyHash: hashKey({ scope, key }, secret),
    callerHash: hashCaller(scope, secret),
    fingerprintLabel: fingerprint?.label ?? null,
    response:
      response === null
        ? null
        : {
            status: response.status,
            headerNames: response.headers.map(([name]) => name),
            bodyBytes: response.body?.length ?? null,
          },
    stepsLength: steps?.length ?? null,
    inputBytes: input?.length ?? null,
  });
}

/**
 * The digest of the caller in a record's scope: what stands before the operation, which `|` begins (see `scope.ts`).
 */
export function hashCaller(scope: string, secret?: Uint8Array): string {
  const end = scope.indexOf('|');
  return short(`samekey-caller\n${end < 0 ? scope : scope.slice(0, end)}`, secret);
}

const SECRET_BYTES_MIN = 16;
/** 96 bits: no two of a billion ids meet by chance. */
const HASH_BYTES = 12;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const encoder = new TextEncoder();

function short(text: string, secret: Uint8Array | undefined): string {
  if (secret !== undefined && secret.length < SECRET_BYTES_MIN) {
    throw new OptionsError(
      `The secret that hashes keys has ${secret.length} bytes: use ${SECRET_BYTES_MIN} random bytes or more.`,
    );
  }
  const bytes = encoder.encode(text);
  const digest = secret === undefined ? sha256Bytes(bytes) : hmacSha256Bytes(secret, bytes);
  let hash = '';
  for (let i = 0; i < HASH_BYTES; i += 3) {
    const [first = 0, second = 0, third = 0] = digest.subarray(i, i + 3);
    const group = (first << 16) | (second << 8) | third;
    for (const shift of [18, 12, 6, 0]) hash += ALPHABET.charAt((group >> shift) & 63);
  }
  return hash;
}
