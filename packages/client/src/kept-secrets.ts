/**
 * `@samekey/client/secrets`: pending stores that keep less, or keep it sealed. Both are stores over a store. What they
 * leave out only the same call brings back, under the same key: key and digest are kept by both, so that a lost session
 * is no second charge.
 *
 * Invariants: what cannot be read as JSON is left out whole · what another session sealed is told as not whole, and is
 * never taken for a sign-out.
 */

import { OptionsError } from './client-error.ts';
import type { PendingStore } from './pending.ts';
import { fromBase64, toBase64 } from './base64.ts';
import { type KeptRequest, LEFT_OUT, readRow, type Row } from './row.ts';

/** A row on its way into the store, or out of it. */
type Way = (row: Row) => Row | Promise<Row>;

function over(store: PendingStore, hide: Way, show: Way): PendingStore {
  const pass = async (text: string, way: Way): Promise<string> => {
    const row = readRow(text);
    // One that cannot be read stays as it is.
    return row.key === '' ? text : JSON.stringify(await way(row));
  };
  const shown = async (text: string | null): Promise<string | null> => text && pass(text, show);
  return {
    read: async (name) => shown(await store.read(name)),
    async swap(name, expected, next) {
      const text = await store.read(name);
      if ((await shown(text)) !== expected) return false;
      return store.swap(name, text, next && (await pass(next, hide)));
    },
    async rows(prefix) {
      const rows = await store.rows(prefix);
      return Promise.all(rows.map(async ([name, text]) => [name, await pass(text, show)] as const));
    },
  };
}

/**
 * Leaves bodies out that have a member of one of these names at any depth (`cvc`, `password`), those of requests and of
 * answers, and all that are no JSON. Throws `OptionsError` without names.
 */
export function withoutSecrets(store: PendingStore, members: readonly string[]): PendingStore {
  if (!Array.isArray(members) || members.length === 0) throw new OptionsError('Name the members: ["cvc"].');
  const isSafe = (body: string | null): boolean => {
    if (body === null || body === '') return true;
    try {
      let found = false;
      JSON.parse(new TextDecoder().decode(fromBase64(body)), (name, value: unknown) => {
        found ||= members.includes(name);
        return value;
      });
      return !found;
    } catch {
      return false;
    }
  };
  const hide: Way = (row) => {
    const { request } = row;
    if (row.stage === 'settled')
      return row.answer === null || isSafe(row.answer.body)
        ? row
        : { ...row, answer: { ...row.answer, body: null } };
    return request === null || request === undefined || isSafe(request.body)
      ? row
      : { ...row, request: { ...request, body: null, isWhole: false } };
  };
  return over(store, hide, (row) => row);
}

interface Sealed {
  readonly sealed?: string;
}

/**
 * Seals requests and answers with a key of the session (AES-GCM, 256 bits), such as one that is made at sign-in and
 * held in memory: `crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])`. Without
 * that key nobody can read them, and the same call goes on under its key all the same.
 */
export function sealedPending(store: PendingStore, key: CryptoKey): PendingStore {
  if ((key as CryptoKey | undefined)?.algorithm?.name !== 'AES-GCM')
    throw new OptionsError('The key is none of AES-GCM.');
  const seal = async (value: object): Promise<Sealed> => {
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    const closed = new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, bytes));
    return { sealed: toBase64(new Uint8Array([...iv, ...closed])) };
  };
  const open = async <Value extends object>(value: Value, closed: Value): Promise<Value> => {
    const { sealed } = value as Sealed;
    if (sealed === undefined) return value;
    try {
      const bytes = fromBase64(sealed);
      const iv = bytes.subarray(0, 12);
      const text = await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, bytes.subarray(12));
      return JSON.parse(new TextDecoder().decode(text)) as Value;
    } catch {
      return closed;
    }
  };
  return over(
    store,
    async (row) => {
      if (row.stage !== 'settled')
        return row.request === null
          ? row
          : { ...row, request: (await seal(row.request)) as unknown as KeptRequest };
      if (row.answer === null) return row;
      // Whether it is done needs no key.
      const { outcome, status } = row.answer;
      return { ...row, answer: { outcome, status, headers: [], body: null, ...(await seal(row.answer)) } };
    },
    async (row) => {
      if (row.stage !== 'settled')
        return row.request === null ? row : { ...row, request: await open(row.request, LEFT_OUT) };
      if (row.answer === null) return row;
      const { outcome, status } = row.answer;
      return { ...row, answer: await open(row.answer, { outcome, status, headers: [], body: null }) };
    },
  );
}
