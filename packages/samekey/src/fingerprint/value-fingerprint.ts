/**
 * The fingerprint of a value: what must be equal on a retry where there is no HTTP request, under a label that says how
 * it was made.
 *
 * Invariants: what is compared was taken when the request came (`digest.ts`), so a value that its caller changes later
 * is still compared as it was · the label names the secret, so a record made with another is recognised and compared
 * under that one; made with one that is not known here it is not compared at all (503).
 */

import { OptionsError } from '../core/errors.ts';
import { type FingerprintSecrets, secretOf } from './fingerprint.ts';
import type { Fingerprint } from '../core/record.ts';
import type { Digester } from '../core/world.ts';

/** Makes fingerprints of values, of the bytes that `comparableBytes` gives. */
export interface ValueFingerprinter {
  compute(compared: Uint8Array): Promise<Fingerprint>;
  /** Under the label of a record; undefined if this process does not know how it was made. */
  computeFor(label: string, compared: Uint8Array): Promise<Fingerprint | undefined>;
}

/** Names how it is done; with a secret, a dot and the secret's name follow. */
const LABEL = 'run1';

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

  async function digest(label: string, secret: Uint8Array | null, bytes: Uint8Array): Promise<Fingerprint> {
    return {
      label,
      digest: await (secret === null ? digester.sha256(bytes) : digester.hmacSha256(secret, bytes)),
    };
  }

  return {
    compute: (compared) => digest(current, known.get(current) ?? null, compared),
    async computeFor(label, compared) {
      const secret = known.get(label);
      return secret === undefined ? undefined : digest(label, secret, compared);
    },
  };
}

function labelOf(name: string): string {
  return `${LABEL}.${name}`;
}
