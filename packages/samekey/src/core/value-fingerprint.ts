/**
 * The fingerprint of a value: what must be equal on a retry where there is no HTTP request, under a label that says how it was made.
 *
 * Invariants: bytes never equal a value, by a leading byte · the label names the secret, so a record made with another is recognised
 * and compared under that one; made with one that is not known here it is not compared at all (503).
 */

import { canonicalText } from './digest.ts';
import { OptionsError } from './errors.ts';
import { type FingerprintSecrets, secretOf } from './fingerprint.ts';
import type { Fingerprint } from './record.ts';
import type { Digester } from './world.ts';

/** Makes fingerprints of values: any JSON value, or bytes. */
export interface ValueFingerprinter {
  compute(value: unknown): Promise<Fingerprint>;
  /** Under the label of a record; undefined if this process does not know how it was made. */
  computeFor(label: string, value: unknown): Promise<Fingerprint | undefined>;
}

/** Names how it is done; with a secret, a dot and the secret's name follow. */
const LABEL = 'run1';
const VALUE_FORM = 1;
const BYTES_FORM = 2;

/** Compiles secrets once, at start; null: SHA-256. Throws `OptionsError`. */
export function createValueFingerprinter(
  digester: Digester,
  secrets: FingerprintSecrets | null,
): ValueFingerprinter {
  const known = new Map<string, Uint8Array | null>([[LABEL, null]]);
  for (const [name, bytes] of Object.entries(secrets?.keys ?? {}))
    known.set(labelOf(name), secretOf(name, bytes));
  const current = secrets === null || secrets.current === null ? LABEL : labelOf(secrets.current);
  if (!known.has(current)) {
    throw new OptionsError(`The fingerprint secret "${secrets?.current}" is not among the keys: add it.`);
  }

  async function digest(label: string, secret: Uint8Array | null, value: unknown): Promise<Fingerprint> {
    const bytes = encoded(value);
    return {
      label,
      digest: await (secret === null ? digester.sha256(bytes) : digester.hmacSha256(secret, bytes)),
    };
  }

  return {
    compute: (value) => digest(current, known.get(current) ?? null, value),
    async computeFor(label, value) {
      const secret = known.get(label);
      return secret === undefined ? undefined : digest(label, secret, value);
    },
  };
}

function labelOf(name: string): string {
  return `${LABEL}.${name}`;
}

function encoded(value: unknown): Uint8Array {
  return value instanceof Uint8Array
    ? withForm(BYTES_FORM, value)
    : withForm(VALUE_FORM, new TextEncoder().encode(canonicalText(value)));
}

function withForm(form: number, bytes: Uint8Array): Uint8Array {
  const marked = new Uint8Array(bytes.length + 1);
  marked[0] = form;
  marked.set(bytes, 1);
  return marked;
}
