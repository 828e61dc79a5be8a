/**
 * Answers and results that somebody gives by hand, in a database where answers are sealed. A console without the ring
 * would write them clear, beside the sealed ones.
 *
 * Invariant: where any record among those that are looked at has a sealed part, nothing is written clear; where none
 * has a part that could tell, it takes somebody's word. What is done to many is asked so before it begins, of each that
 * is tried, and again before each bite is done.
 */

import type { RecordId, SamekeyRecord, Store } from 'samekey';
import { isPointer } from 'samekey/operator';
import { sealKeyIdsOf } from 'samekey/seal';
import { storeBehind } from 'samekey/internals/seal/sealed-store';
import type { ActRequest } from './api.ts';
import { ConsoleFault } from './fault.ts';

/** Newest records that are looked at. */
const LOOKED = 100;

type Given = Pick<ActRequest, 'response' | 'effectResult' | 'mayStandClear'>;
type Found = readonly (SamekeyRecord | null)[];

/** Throws `ConsoleFault` for what would stand clear there, in these records or beside the newest. */
export async function refuseClear(store: Store, given: Given, ids: readonly RecordId[]): Promise<void> {
  const { mayStandClear } = given;
  if (!isClear(store, given)) return;
  const telling = await tellingOf(store, ids);
  if (telling.some(isSealed)) throw sealedFault('Nothing was done');
  if (telling.length > 0 || mayStandClear === true) return;
  throw new ConsoleFault(
    409,
    'perhaps-sealed',
    'Nothing was done: no record tells whether answers are sealed here, and this one would stand there clear. If your application has no ring, say so below; else open the console with the ring.',
  );
}

/** The same of many that were found, where the word was asked for before. */
export function refuseBesideSealed(store: Store, given: Given, found: Found): void {
  if (isClear(store, given) && found.some((record) => record !== null && isSealed(record)))
    throw sealedFault('No more is done');
}

/** The same of what stands there now: an application may have begun to seal since. */
export async function refuseSealedSince(store: Store, given: Given, ids: readonly RecordId[]): Promise<void> {
  if (isClear(store, given) && (await tellingOf(store, ids)).some(isSealed))
    throw sealedFault('No more is done');
}

/** Behind a ring it is sealed, or the application itself writes clear as yet. */
function isClear(store: Store, { response, effectResult }: Given): boolean {
  const isNothing = (response === undefined || response === null) && effectResult === undefined;
  return !isNothing && storeBehind(store) === store;
}

async function tellingOf(store: Store, ids: readonly RecordId[]): Promise<readonly SamekeyRecord[]> {
  const [own, newest]: readonly Found[] = await Promise.all([
    ids.length === 0 ? [] : store.find(ids.map(({ scope, key }) => ({ scope, key }))),
    // Of any state: steps and inputs are sealed too, and answers of 410 have nothing to seal.
    store.list({ limit: LOOKED }),
  ]);
  return [...(own ?? []), ...(newest ?? [])].filter(
    (record): record is SamekeyRecord =>
      record !== null && !isPointer(record) && sealKeyIdsOf(record).parts > 0,
  );
}

function isSealed(record: SamekeyRecord): boolean {
  return !isPointer(record) && sealKeyIdsOf(record).keyIds.length > 0;
}

function sealedFault(what: string): ConsoleFault {
  return new ConsoleFault(
    409,
    'sealed',
    `${what}: answers are sealed here, and this one would stand there clear. Open the console with the ring of your application.`,
  );
}
