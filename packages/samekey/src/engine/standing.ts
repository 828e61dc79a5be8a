/**
 * How a request stands that may not run: what its record says, if there is one. Looks only: nothing is claimed, and
 * nothing is written.
 *
 * Invariants: a known key is answered as always, whatever rule for fresh keys the request breaks · a store that cannot
 * say is told as that, never as "no record".
 */

import { HOPS_MAX } from './bridge/bridge.ts';
import { isPointer, targetOf } from './bridge/pointer.ts';
import type { Claimer } from './claimer.ts';
import type { Dispatch } from './dispatch.ts';
import { isStoreError } from '../core/errors.ts';
import { asAccepted, outcomeSeen, unavailable, metOnly } from './meeting.ts';
import { type Outcome, retryAfter } from '../core/outcome.ts';
import {
  type Fingerprint,
  isExpired,
  isForgotten,
  isPurgeable,
  type RecordId,
  type SamekeyRecord,
} from '../core/record.ts';
import type { UsualLengths } from './usual.ts';
import type { Work } from './work.ts';
import type { World } from '../core/world.ts';

/** Who looks. */
export interface Standing {
  /** What a record says to a request that may not run; null where a valid one would run. */
  of(work: Work): Promise<Outcome | null>;
  /** What a request meets that breaks a rule for fresh keys; null: its key is known. */
  ifNew(work: Work, refused: Outcome): Promise<Outcome | null>;
  /** What one meets whose body nobody will read, under any identity of its operation; null: its key is not known. */
  unread(ids: readonly RecordId[], mayBeUnseen: boolean): Promise<Outcome | null>;
  /** Whether a transaction works on a key, whatever its request; undefined when the store cannot say. */
  isReserved(id: RecordId): Promise<boolean | undefined>;
  /** A record as it is now; undefined when the store cannot say. */
  find(id: RecordId): Promise<SamekeyRecord | null | undefined>;
  /** The same of the record that a pointer there leads to. */
  findKept(id: RecordId): Promise<SamekeyRecord | null | undefined>;
}

/** What it needs. */
interface StandingOptions {
  readonly world: World;
  readonly dispatch: Dispatch;
  readonly claimer: Pick<Claimer, 'find' | 'compare'>;
  readonly usual: Pick<UsualLengths, 'of'>;
  readonly callTimeMaxMs: number;
  readonly readVersion: number;
  isClosing(): boolean;
}

/** Makes the standing of one engine. */
export function createStanding(options: StandingOptions): Standing {
  const { world, dispatch, claimer, usual, callTimeMaxMs, readVersion } = options;

  async function of(work: Work): Promise<Outcome | null> {
    if (options.isClosing()) return unavailable('closing');
    const found = await locate(work);
    if ('outcome' in found) return found.outcome;
    const now = world.wallNow();
    const { record } = found;
    if (record === null) return null;
    if (record.formatVersion > readVersion) return unavailable('newer-format', 5_000);
    if (isExpired(record, now)) return { kind: 'expired' };
    const other = await claimer.compare(work, found);
    if (other !== null) return other;
    if (record.state === 'retryable' && record.steps === null) return null;
    // Something of it was done: what the code of today thinks of its input says nothing of that. A worker that knows
    // the steps goes on.
    if (record.state === 'retryable')
      return { kind: work.takesSteps === true ? 'in-progress' : 'unknown', retryAfterMs: retryAfter(0) };
    const seen = outcomeSeen(record, work.settings, now, usual.of(record.operation));
    return asAccepted(work, seen, record.input === null && record.unreadable === undefined);
  }

  /**
   * As `claimer.find`; where a transaction works on the key that has no record yet, that it is in progress. The lock is
   * looked at first: what ends in between has left a record.
   */
  async function locate(work: Work): ReturnType<Claimer['find']> {
    const reserved = work.mayBeUnseen === true ? await isReserved(work.id) : false;
    if (reserved === undefined) return metOnly(unavailable('store'));
    const found = await claimer.find(work);
    if (!reserved || 'outcome' in found || found.record !== null) return found;
    return metOnly({ kind: 'in-progress', retryAfterMs: retryAfter(0) });
  }

  async function ifNew(work: Work, refused: Outcome): Promise<Outcome | null> {
    if (options.isClosing()) return unavailable('closing');
    const found = await locate(work);
    if ('outcome' in found) return found.outcome.kind === 'in-progress' ? null : found.outcome;
    return found.record === null ? refused : null;
  }

  async function unread(ids: readonly RecordId[], mayBeUnseen: boolean): Promise<Outcome | null> {
    const now = world.wallNow();
    const counts = (record: SamekeyRecord): boolean => !isForgotten(record) && !isPurgeable(record, now);
    for (const id of ids) {
      const reserved = mayBeUnseen ? await isReserved(id) : false;
      const record = await findKept(id);
      if (record === undefined || reserved === undefined) return unavailable('store');
      if (reserved || (record !== null && counts(record))) return unavailable('too-large-now', 5_000);
    }
    return null;
  }

  async function isReserved(id: RecordId): Promise<boolean | undefined> {
    try {
      const request = { ...id, fingerprint: NO_REQUEST };
      const held = await dispatch.reservation(request, world.monotonicNow() + callTimeMaxMs);
      return held === 'same' || held === 'other';
    } catch (error) {
      if (isStoreError(error)) return undefined;
      throw error;
    }
  }

  async function find(id: RecordId): Promise<SamekeyRecord | null | undefined> {
    try {
      return await dispatch.find(id, world.monotonicNow() + callTimeMaxMs);
    } catch (error) {
      if (isStoreError(error)) return undefined;
      throw error;
    }
  }

  async function findKept(id: RecordId): Promise<SamekeyRecord | null | undefined> {
    let record = await find(id);
    for (let hop = 0; hop < HOPS_MAX; hop += 1) {
      if (record === null || record === undefined || !isPointer(record)) break;
      const target = targetOf(record);
      if (target === null) return undefined;
      record = await find(target.id);
    }
    return record;
  }

  return { of, ifNew, unread, isReserved, find, findKept };
}

/** Compared with nothing. */
const NO_REQUEST: Fingerprint = { label: '', digest: '' };
