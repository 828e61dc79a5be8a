/** What happens to the k-th call of the store: it fails, its request or its reply is lost, or it stands still. */

import { STORE_TIME_MAX_MS } from '../engine/bench.ts';
import { type Passage, passageOf } from '../faulty-store.ts';

/** A fault of one call, and how many calls it hits. */
export interface KthFault {
  readonly title: string;
  readonly passage: Passage;
  readonly count: number;
}

/** Longer than anybody waits for one call, in milliseconds. */
const LATE_MS = STORE_TIME_MAX_MS + 700;

export const KTH_FAULTS: readonly KthFault[] = [
  { title: 'fails', passage: passageOf('refuse'), count: 1 },
  { title: 'loses its request', passage: passageOf('loseRequest'), count: 1 },
  { title: 'loses its reply', passage: passageOf('loseReply'), count: 1 },
  { title: 'loses its reply and is applied late', passage: passageOf('late', { byMs: 300 }), count: 1 },
  { title: 'is applied a second time, late', passage: passageOf('twice', { byMs: LATE_MS }), count: 1 },
  { title: 'is slow', passage: passageOf('slow', { byMs: STORE_TIME_MAX_MS - 1 }), count: 1 },
  {
    title: 'stands still and is never applied',
    passage: passageOf('loseRequest', { silent: true }),
    count: 1,
  },
  { title: 'stands still, applied at once', passage: passageOf('loseReply', { silent: true }), count: 1 },
  {
    title: 'stands still and is applied when nobody waits for it any more',
    passage: passageOf('late', { silent: true, byMs: LATE_MS }),
    count: 1,
  },
  {
    title: 'stands still, applied at once, and so do the two after it',
    passage: passageOf('loseReply', { silent: true }),
    count: 3,
  },
];
