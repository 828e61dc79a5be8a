/**
 * Answers and results that somebody gives by hand, in a database where answers are sealed. A console without the ring
 * would write them clear, beside the sealed ones.
 *
 * Invariant: where any record among those that are looked at has a sealed part, nothing is written clear; where none
 * has a part that could tell, it takes somebody's word.
 */

import type { SamekeyRecord, Store } from 'samekey';
import { isPointer } from 'samekey/operator';
import { sealKeyIdsOf } from 'samekey/seal';
import { storeBehind } from 'samekey/internals/seal/sealed-store';
import type { ActRequest } from './api.ts';
import { ConsoleFault } from './fault.ts';

/** Newest records that are looked at. */
const LOOKED = 100;

/** Throws `ConsoleFault` for what would stand there clear. */
export async function refuseClear(store: Store, request: ActRequest): Promise<void> {
  const { scope, key, response, effectResult, mayStandClear } = request;
  const isNothing = (response === undefined || response === null) && effectResult === undefined;
  // Behind a ring it is sealed, or the application itself writes clear as yet.
  if (isNothing || storeBehind(store) !== store) return;
  const [[own], newest] = await Promise.all([
    store.find([{ scope, key }]),
    // Of any state: steps and inputs are sealed too, and answers of 410 have nothing to seal.
    store.list({ limit: LOOKED }),
  ]);
  const telling = [own ?? null, ...newest].filter(
    (record): record is SamekeyRecord =>
      record !== null && !isPointer(record) && sealKeyIdsOf(record).parts > 0,
  );
  if (telling.some((record) => sealKeyIdsOf(record).keyIds.length > 0))
    throw new ConsoleFault(
      409,
      'sealed',
      'Nothing was done: answers are sealed here, and this one would stand there clear. Open the console with the ring of your application.',
    );
  if (telling.length > 0 || mayStandClear === true) return;
  throw new ConsoleFault(
    409,
    'perhaps-sealed',
    'Nothing was done: no record tells whether answers are sealed here, and this one would stand there clear. If your application has no ring, say so below; else open the console with the ring.',
  );
}
