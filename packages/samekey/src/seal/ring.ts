/**
 * Keys for seals. A ring seals with its current key and opens with whichever a seal names, so keys are rotated by
 * adding one and making it current; the old one goes when nothing is sealed with it any more (`sealKeysInUse`).
 *
 * Invariants: a fresh random IV for each seal · associated data is authenticated, so what is moved to another row does
 * not open · keys are copied, and their bytes appear in no message · digests are made with keys derived from these,
 * never with the same.
 * Sources: NIST SP 800-38D (GCM; §8.3: at most 2³² seals by one key with random IVs), RFC 5869 (HKDF), RFC 2104 (HMAC).
 */

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { OptionsError } from '../core/errors.ts';
import { anything, byName, readOptions, required, type Table, text } from '../core/options.ts';

/** What a ring made of some bytes. */
export interface Seal {
  /** Which key opens it: 1–255 characters of printable ASCII without spaces. */
  readonly keyId: string;
  readonly bytes: Uint8Array;
}

/**
 * Seals and opens. Made by {@link keyRing}, or your own: a KMS, another cipher. Both may be asynchronous; what they
 * throw makes the store unavailable for that request.
 */
export interface SealRing {
  /** `associatedData` names the record and the part: it must be authenticated, and need not be kept. */
  seal(bytes: Uint8Array, associatedData: Uint8Array): Seal | Promise<Seal>;
  /**
   * The bytes that were sealed; null if there is no key of this id. Throws if the seal is broken, or cannot be opened
   * now.
   */
  open(
    keyId: string,
    bytes: Uint8Array,
    associatedData: Uint8Array,
  ): Uint8Array | null | Promise<Uint8Array | null>;
  /**
   * A digest of some bytes under each key, that of the current one first: always the same of the same bytes, and nobody
   * without the keys can tell of which. Webhooks find records by them; absent, they are looked for in pages of records
   * and messages.
   */
  digests?(bytes: Uint8Array): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
}

/** Options of {@link keyRing}. */
export interface KeyRingOptions {
  /** The id of the key that seals. */
  readonly current: string;
  /** By id (1–40 letters, digits, `_`, `-`): 32 random bytes each. An id is never used for another key. */
  readonly keys: Readonly<Record<string, Uint8Array>>;
}

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

const ROWS = {
  current: required(text()),
  keys: required(byName(anything<Uint8Array>())),
} satisfies Table<KeyRingOptions>;

/** A ring of AES-256-GCM keys in this process's memory; synchronous. Throws `OptionsError`. */
export function keyRing(options: KeyRingOptions): SealRing {
  const { current, keys } = readOptions('keyRing', ROWS, options);
  const ring = new Map<string, KeyObject>();
  for (const [id, bytes] of Object.entries(keys)) ring.set(id, keyOf(id, bytes));
  const sealing = ring.get(current);
  if (sealing === undefined) {
    throw new OptionsError(`The current sealing key "${current}" is not among the keys: add it.`);
  }
  // The current one first: what is written has its digest.
  const digesting = [sealing, ...[...ring.values()].filter((key) => key !== sealing)].map(digestKeyOf);
  return Object.freeze<SealRing>({
    digests: (bytes) => digesting.map((key) => createHmac('sha256', key).update(bytes).digest()),
    seal(bytes, associatedData) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, sealing, iv, { authTagLength: TAG_BYTES });
      cipher.setAAD(associatedData);
      const sealed = Buffer.concat([iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
      return { keyId: current, bytes: sealed };
    },
    open(keyId, bytes, associatedData) {
      const key = ring.get(keyId);
      if (key === undefined) return null;
      if (bytes.length < IV_BYTES + TAG_BYTES) throw new Error('The seal is cut short.');
      const end = bytes.length - TAG_BYTES;
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(associatedData);
      decipher.setAuthTag(bytes.subarray(end));
      const opened = decipher.update(bytes.subarray(IV_BYTES, end));
      // Throws unless every bit is as it was; nothing of `opened` is given out before.
      decipher.final();
      return new Uint8Array(opened);
    },
  });
}

/** For digests alone. */
function digestKeyOf(key: KeyObject): KeyObject {
  return createSecretKey(new Uint8Array(hkdfSync('sha256', key, '', 'samekey-reference', KEY_BYTES)));
}

function keyOf(id: string, bytes: Uint8Array): KeyObject {
  if (!/^[\w-]{1,40}$/.test(id)) {
    throw new OptionsError('The id of a sealing key must be 1–40 letters, digits, "_" or "-": rename it.');
  }
  if (!(bytes instanceof Uint8Array) || bytes.length !== KEY_BYTES) {
    const found = bytes instanceof Uint8Array ? `${bytes.length} bytes` : `a value of type ${typeof bytes}`;
    throw new OptionsError(
      `The sealing key "${id}" is ${found}: use ${KEY_BYTES} random bytes, for example randomBytes(32).`,
    );
  }
  return createSecretKey(bytes);
}
