/**
 * Joining a request with the same key that is under way in this process: what it meets is shared, and no store is
 * asked.
 *
 * Invariant: another request under the key never gets the answer of the one that it joined.
 */

import type { RunningAttempt } from './attempt.ts';
import { differInPlaceOnly } from './bridge/bridge.ts';
import type { Flight, FlightNews, Flights, Met } from './flight.ts';
import { metOnly, shared, unavailable } from './meeting.ts';
import { retryAfter } from '../core/outcome.ts';
import { askAgainAfter, type Running, type UsualLengths } from './usual.ts';
import type { Work } from './work.ts';
import type { World } from '../core/world.ts';

/** Waits for a flight's end until `waitUntil`; null: ask the store yourself. */
export type Join = (flight: Flight, work: Work, waitUntil: number) => Promise<Met | null>;

/** Makes the join of one engine. */
export function createJoin(world: World, flights: Flights, usual: Pick<UsualLengths, 'of'>): Join {
  function runningHere({ operation, settings, startedAt, renewedAt }: RunningAttempt): Running {
    const now = world.monotonicNow();
    const claimLeftMs = renewedAt + settings.claimTtlMs - now;
    return { ageMs: now - startedAt, claimLeftMs, usualMs: usual.of(operation) };
  }

  function newsBefore(flight: Flight, deadline: number): Promise<FlightNews | undefined> {
    return new Promise((resolve) => {
      const timer = world.setTimer(deadline - world.monotonicNow(), () => resolve(undefined));
      void flights.next(flight).then((news) => {
        timer.cancel();
        resolve(news);
      });
    });
  }

  return async (flight, work, waitUntil) => {
    const { label, digest } = flight.fingerprint;
    const mine = label === work.fingerprint.label ? work.fingerprint : await work.refingerprint(label);
    const same = mine?.digest === digest;
    if (flight.phase === 'claiming') {
      const news = await flights.next(flight);
      if (news.kind === 'over') return same && news.met !== null ? shared(news.met) : null;
    }
    if (flight.phase === 'over') return null;
    if (mine === undefined) return metOnly(unavailable('other-label'));
    if (!same)
      return metOnly(
        differInPlaceOnly(mine.digest, digest) ? unavailable('moved', 5_000) : { kind: 'mismatch' },
      );
    if (flight.unsaved !== null) {
      const { response, attempt } = flight.unsaved;
      const expiresAt = world.wallNow() + work.settings.retentionMs;
      return metOnly({ kind: 'replay', response, attempt, expiresAt });
    }
    if (world.monotonicNow() < waitUntil) {
      const news = await newsBefore(flight, waitUntil);
      if (news?.kind === 'over') return news.met === null ? null : shared(news.met);
    }
    return metOnly({
      kind: 'in-progress',
      retryAfterMs: flight.attempt === null ? retryAfter(0) : askAgainAfter(runningHere(flight.attempt)),
    });
  };
}
