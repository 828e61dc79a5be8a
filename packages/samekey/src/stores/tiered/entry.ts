/**
 * An entry of the shared cache: a final record as bytes, and when the store read it, by the store's clock.
 *
 * Layout: mark (4 bytes) · SHA-256, or HMAC-SHA-256 under a secret, of what follows, of the record's id and whose it is
 * (32) · length of the head (4, big-endian) · head as JSON · body · input.
 * Invariants: bytes that are cut, changed, of another format, service or database, or under another name are no entry ·
 * scope and key stand in neither name nor bytes · what a JSON says is believed only in the shape of a record.
 */

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { StoreIdentity } from '../../store/identity.ts';
import { idText, type RecordId } from '../../core/record.ts';
import type { CacheSecrets } from './options.ts';
import { type Entry, headOf, recordOfHead } from './record-head.ts';

/** Writes and reads entries. */
export interface Entries {
  readonly nameOf: (id: RecordId) => string;
  readonly encode: (entry: Entry) => Uint8Array;
  /** The entry; null for anything that is none of this record. Never throws. */
  decode(id: RecordId, bytes: Uint8Array): Entry | null;
}

/** Its last byte is the version: another layout has another mark, and another name. */
const MARK = Buffer.from('SKC1');
const DIGEST_AT = MARK.length;
const PAYLOAD_AT = DIGEST_AT + 32;
const HEAD_AT = PAYLOAD_AT + 4;

/** Makes those of one service's database (F116); without secrets entries are safe from accidents only. */
export function createEntries(secrets: CacheSecrets | null, { service, databaseId }: StoreIdentity): Entries {
  const textOf = (id: RecordId): string => JSON.stringify([service, databaseId, idText(id)]);
  const keys = secrets === null ? [null] : Object.values(secrets.keys);
  const current = secrets === null ? null : (secrets.keys[secrets.current] ?? null);

  return {
    nameOf: (id) => `${MARK.toString()}:${createHash('sha256').update(textOf(id)).digest('base64url')}`,
    encode({ record, readAt }) {
      const head = Buffer.from(JSON.stringify(headOf(record, readAt)));
      const body = record.response?.body ?? new Uint8Array(0);
      const input = record.input ?? new Uint8Array(0);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(head.length);
      const payload = Buffer.concat([length, head, body, input]);
      return Buffer.concat([MARK, digest(current, textOf(record), payload), payload]);
    },
    decode(id, given) {
      const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
      if (bytes.length < HEAD_AT || !bytes.subarray(0, DIGEST_AT).equals(MARK)) return null;
      const payload = bytes.subarray(PAYLOAD_AT);
      const said = bytes.subarray(DIGEST_AT, PAYLOAD_AT);
      const name = textOf(id);
      if (!keys.some((key) => timingSafeEqual(said, digest(key, name, payload)))) return null;
      const headEnd = HEAD_AT + bytes.readUInt32BE(PAYLOAD_AT);
      if (headEnd > bytes.length) return null;
      return recordOfHead(id, jsonOf(bytes.subarray(HEAD_AT, headEnd)), bytes.subarray(headEnd));
    },
  };
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return null;
  }
}

function digest(key: Uint8Array | null, name: string, payload: Uint8Array): Buffer {
  const hash = key === null ? createHash('sha256') : createHmac('sha256', key);
  const text = Buffer.from(name);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return hash.update(MARK).update(length).update(text).update(payload).digest();
}
