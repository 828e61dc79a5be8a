/**
 * Finds the record of a request under all identities of its operation, and leaves pointers where younger code looks
 * (`pointer.ts`).
 *
 * Invariants: no bridge, no work: a request of an operation that never changed asks the store nothing more · no life
 * begins before its pointers are there: where an answer is expected instead none is laid, and a claim that is granted
 * all the same is given back · nothing is written where a record stands · a record counts before a pointer, the
 * youngest first, and what may run again last.
 */

import type { Abandoned } from '../abandoned.ts';
import type { Dispatch } from '../dispatch.ts';
import { isStoreError } from '../../core/errors.ts';
import type { Met } from '../flight.ts';
import { metOnly, unavailable } from '../meeting.ts';
import { type Outcome, retryAfter, type UnavailableReason } from '../../core/outcome.ts';
import {
  isPointer,
  KEPT_ELSEWHERE,
  lifeNeededMs,
  pointerClaimId,
  pointerLifeMs,
  pointerTo,
  type Target,
  targetOf,
} from './pointer.ts';
import {
  type Fingerprint,
  idText,
  isErasedPointer,
  isFinal,
  isForgotten,
  isHalfPointer,
  isPurgeable,
  isVacant,
  type RecordId,
  type SamekeyRecord,
} from '../../core/record.ts';
import type { ClaimRequest } from '../../store/store.ts';
import type { Place, Work } from '../work.ts';
import type { World } from '../../core/world.ts';

/** Where a request is to be claimed, and how it is compared there. */
export interface Spot {
  readonly id: RecordId;
  readonly fingerprint: Fingerprint;
  /** The pointer that led there; null: an identity that this process knows. */
  readonly via: { readonly target: Target; readonly isSame: boolean } | null;
  /** When the first of the pointers that lead there ends, by the store's clock; null without one. */
  readonly until: number | null;
  /**
   * Whether every younger identity leads there, or is known to need no pointer: only then a new life may begin there.
   */
  readonly isLaid: boolean;
}

/** What was found under all identities. */
export interface Located {
  /** Records that stand there, be they past or forgotten; pointers are none. */
  readonly records: readonly SamekeyRecord[];
  /** The one that counts, if one lives. */
  readonly record: SamekeyRecord | null;
  readonly spot: Spot;
}

/** What finds records and leaves pointers. */
interface Bridges {
  /** Looks, and writes nothing. */
  locate(work: Work): Promise<Located | Met>;
  /** Where to claim; pointers are laid where the record is kept under the oldest identity. */
  prepare(work: Work): Promise<Spot | Met>;
  /** The way on from a pointer that was found at a spot. */
  follow(work: Work, spot: Spot, pointer: SamekeyRecord): Promise<Spot | Met>;
  /** The fingerprint to claim with where a record is bound to this one; else what to tell. */
  compare(work: Work, spot: Spot, bound: Fingerprint): Promise<Fingerprint | Outcome>;
}

/** What bridges need. */
interface BridgeOptions {
  readonly world: World;
  readonly dispatch: Dispatch;
  readonly abandoned: Abandoned;
  readonly callTimeMaxMs: number;
  readonly writeVersion: number;
  readonly readVersion: number;
}

/** A fingerprint of the place, made when it is asked for. */
async function printOf({ fingerprint }: Place): Promise<Fingerprint> {
  return typeof fingerprint === 'function' ? fingerprint() : fingerprint;
}

async function printUnder(place: Place, label: string): Promise<Fingerprint | undefined> {
  const own = await printOf(place);
  return own.label === label ? own : place.refingerprint(label);
}

function isSamePrint(a: Fingerprint, b: Fingerprint): boolean {
  return a.label === b.label && a.digest === b.digest;
}

/**
 * Whether two digests differ only in what says where a request was sent and what of its caller it was bound to
 * (`fingerprint.ts`): that proves no other request.
 */
export function differInPlaceOnly(a: string, b: string): boolean {
  const [mine, where] = a.split('.');
  const [theirs, there] = b.split('.');
  return where !== undefined && there !== undefined && mine === theirs && where !== there;
}

const BRIDGED_RETRY_MS = 5_000;

function refused(because: UnavailableReason): Outcome {
  return unavailable(because, BRIDGED_RETRY_MS);
}

/** As {@link Bridges.compare}. */
async function compare(work: Work, { via }: Spot, bound: Fingerprint): Promise<Fingerprint | Outcome> {
  if (via?.isSame === true && isSamePrint(via.target.fingerprint, bound)) return bound;
  let isKnown = false;
  let isElsewhere = false;
  for (const place of [work, ...work.younger]) {
    const mine = await printUnder(place, bound.label);
    if (mine === undefined) continue;
    if (mine.digest === bound.digest) return mine;
    isKnown = true;
    isElsewhere ||= differInPlaceOnly(mine.digest, bound.digest);
  }
  if (via !== null) {
    // Behind a pointer only what the pointer says can be compared: it was bound to another request, and so is this
    // record.
    const isProven = via.isSame || isSamePrint(via.target.fingerprint, bound);
    return isProven ? { kind: 'mismatch' } : refused('kept-elsewhere');
  }
  if (isElsewhere) return refused('moved');
  return isKnown ? { kind: 'mismatch' } : refused('other-label');
}

async function spotAt(place: Place, until: number | null): Promise<Spot> {
  return { id: place.id, fingerprint: await printOf(place), via: null, until, isLaid: false };
}

/** Makes the bridges of one engine. */
export function createBridges(options: BridgeOptions): Bridges {
  const { world, dispatch, abandoned, callTimeMaxMs } = options;
  const deadline = (): number => world.monotonicNow() + callTimeMaxMs;

  interface Seen {
    readonly place: Place;
    readonly record: SamekeyRecord | null;
  }

  function lives(record: SamekeyRecord | null): record is SamekeyRecord {
    return record !== null && !isForgotten(record) && !isPurgeable(record, world.wallNow());
  }

  /** What stands under each identity, oldest first. */
  function look(work: Work): Promise<readonly Seen[]> {
    const places = new Map<string, Place>();
    for (const place of [work, ...work.younger]) {
      const text = idText(place.id);
      if (!places.has(text)) places.set(text, place);
    }
    const until = deadline();
    return Promise.all(
      Array.from(places.values(), async (place) => ({ place, record: await dispatch.find(place.id, until) })),
    );
  }

  /** The record that counts, the pointer that leads away, or nothing. */
  function choose(seen: readonly Seen[]): {
    readonly best: Seen | null;
    readonly stray: SamekeyRecord | null;
    readonly until: number | null;
  } {
    const known = new Set(seen.map(({ place }) => idText(place.id)));
    let best: Seen | null = null;
    let stray: SamekeyRecord | null = null;
    let until: number | null = null;
    for (const one of seen.toReversed()) {
      const { record } = one;
      if (!lives(record) || isVacant(record) || isErasedPointer(record)) continue;
      if (isPointer(record)) {
        const target = targetOf(record);
        if (target === null || !known.has(idText(target.id))) stray ??= record;
        else until = Math.min(until ?? Infinity, record.expiresAt);
      } else if (best === null || (best.record?.state === 'retryable' && record.state !== 'retryable')) {
        best = one;
      }
    }
    return { best, stray, until };
  }

  async function follow(work: Work, spot: Spot, pointer: SamekeyRecord): Promise<Spot | Met> {
    if (pointer.formatVersion > options.readVersion) return metOnly(refused('newer-format'));
    const target = targetOf(pointer);
    if (target === null) return metOnly(refused('unreadable'));
    let isSame = false;
    if (pointer.fingerprint !== null) {
      const compared = await compare(work, spot, pointer.fingerprint);
      if ('label' in compared) isSame = true;
      else if (compared.kind !== 'mismatch') return metOnly(compared);
    }
    const until = Math.min(spot.until ?? Infinity, pointer.expiresAt);
    const fingerprint = isSame ? target.fingerprint : await printOf(work.younger.at(-1) ?? work);
    return { id: target.id, fingerprint, via: { target, isSame }, until, isLaid: true };
  }

  async function locate(work: Work): Promise<Located | Met> {
    try {
      const seen = await look(work);
      const records = seen.flatMap(({ record }) =>
        record === null || isPointer(record) || isErasedPointer(record) ? [] : [record],
      );
      const { best, stray, until } = choose(seen);
      if (best !== null) return { records, record: best.record, spot: await spotAt(best.place, until) };
      let spot = await spotAt(work, until);
      let pointer = stray;
      for (let hop = 0; pointer !== null && hop < HOPS_MAX; hop += 1) {
        const next = await follow(work, spot, pointer);
        if ('outcome' in next) return next;
        spot = next;
        const found = await dispatch.find(spot.id, deadline());
        if (found === null || !isPointer(found)) {
          if (found !== null) records.push(found);
          return { records, record: lives(found) ? found : null, spot };
        }
        pointer = found;
      }
      return pointer === null ? { records, record: null, spot } : metOnly(refused('kept-elsewhere'));
    } catch (error) {
      if (!isStoreError(error)) throw error;
      return metOnly(unavailable('store'));
    }
  }

  async function prepare(work: Work): Promise<Spot | Met> {
    try {
      // What others write meanwhile is looked at again: a record of theirs, or their pointer.
      for (let turn = 0; turn < TURNS_MAX; turn += 1) {
        const seen = await look(work);
        const { best, stray, until } = choose(seen);
        const own = await spotAt(work, until);
        if (best !== null && best.place.id !== work.id) return await spotAt(best.place, until);
        if (work.entry !== 'accept' && (await isAnswered(work, own, seen))) return own;
        // Kept where an earlier bridge led: what runs there from now on must be found from every younger identity, too.
        const spot = best === null && stray !== null ? await follow(work, own, stray) : own;
        if ('outcome' in spot || spot.via?.isSame === false) return spot;
        const laid = await layAll(work, spot, seen);
        if (laid === 'done') return { ...spot, isLaid: true };
        if (laid !== 'again') return laid;
      }
    } catch (error) {
      if (!isStoreError(error)) throw error;
      return metOnly(unavailable('store', retryAfter(error.retryAfterMs ?? 0)));
    }
    return metOnly({ kind: 'in-progress', retryAfterMs: retryAfter(0) });
  }

  /**
   * Whether the record under the oldest identity is expected to answer: final, or bound to another request, in whose
   * place nothing is laid. Whether it still lives is the store's to say.
   */
  async function isAnswered(work: Work, own: Spot, seen: readonly Seen[]): Promise<boolean> {
    const record = seen[0]?.record ?? null;
    if (record === null || isForgotten(record) || isPointer(record) || isVacant(record)) return false;
    if (isFinal(record)) return true;
    const compared = record.fingerprint === null ? null : await compare(work, own, record.fingerprint);
    return compared !== null && 'kind' in compared && compared.kind === 'mismatch';
  }

  async function layAll(work: Work, to: Spot, seen: readonly Seen[]): Promise<'done' | 'again' | Met> {
    for (const { place, record } of seen) {
      // Where a record of its own stands nothing is written: code that knows that identity only finds it there.
      if (idText(place.id) === idText(to.id) || (lives(record) && !isVacant(record))) continue;
      const laid = await lay(work, to, place);
      if (laid !== 'done') return laid;
    }
    return 'done';
  }

  /** Two conditional writes: nobody runs there from the first on, and from the second on it is followed. */
  async function lay(work: Work, to: Target, place: Place): Promise<'done' | 'again' | Met> {
    const { settings } = work;
    if (world.probe !== undefined) await world.probe('claim.before', place.id);
    const lifeMs = pointerLifeMs(settings);
    const request: ClaimRequest = {
      ...place.id,
      operation: work.operation,
      claimId: pointerClaimId(world.newClaimId()),
      claimTtlMs: settings.claimTtlMs,
      fingerprint: await printOf(place),
      // Nothing runs under it: whoever finds it half done may go on.
      whenClaimEnds: 'resume',
      retentionMs: lifeMs,
      replayMinMs: lifeMs,
      tombstoneMs: 0,
      attemptMax: Number.MAX_SAFE_INTEGER,
      formatVersion: options.writeVersion,
      readVersion: options.readVersion,
      entry: 'run',
      input: null,
      pendingTimeMaxMs: 0,
    };
    let claimed: Awaited<ReturnType<Dispatch['claim']>>;
    try {
      claimed = await dispatch.claim(request, deadline());
    } catch (error) {
      if (isStoreError(error) && error.applied === 'unknown') abandoned.add(request);
      throw error;
    }
    if (claimed.kind === 'found') {
      const { record, claimLeftMs, because } = claimed;
      if (isPointer(record)) return 'done';
      if (because === 'newer-format') return metOnly(refused('newer-format'));
      if (!isHalfPointer(record)) return 'again';
      return { outcome: { kind: 'in-progress', retryAfterMs: retryAfter(claimLeftMs) }, claimLeftMs: 0 };
    }
    if (claimed.kind !== 'claimed') return metOnly(unavailable('store-full', BRIDGED_RETRY_MS));
    const fence = { claimId: request.claimId, attempt: claimed.attempt };
    const end = {
      ...place.id,
      ...fence,
      to: 'completed',
      proof: null,
      reason: KEPT_ELSEWHERE,
      response: pointerTo(to),
      unbindFingerprint: false,
      extendMs: 0,
      reconcileAfterMs: 0,
      handedOver: false,
    } as const;
    try {
      const ended = await dispatch.finish(end, deadline());
      return ended.kind === 'applied' || ended.kind === 'already' ? 'done' : 'again';
    } catch (error) {
      abandoned.addGranted(place.id, fence, work.operation);
      throw error;
    }
  }

  return { locate, prepare, follow, compare };
}

/** Pointers follow deploys, of which few fall into one retention. */
export const HOPS_MAX = 4;
const TURNS_MAX = 4;

/** Whether a record that begins there now would outlive the pointers that lead to it. */
export function isTooShort(work: Work, { until }: Spot, now: number): boolean {
  return until !== null && until - now < lifeNeededMs(work.settings);
}
