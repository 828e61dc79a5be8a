/**
 * What this process has opened, forgotten, settled or erased by hand: until every trust in what was read before has
 * ended, its claims go to the store. Others learn it by the end of their trust; whoever acted is not shown his own
 * past.
 */

import { callerOf } from '../../core/scope.ts';
import { idText, type RecordId } from '../../core/record.ts';
import type { TieredWorld } from './options.ts';

/** Records and callers that are asked of the store only. */
interface HeldBack {
  hold(id: RecordId): void;
  /** All records of a caller, as `callerOf` gives it. */
  holdCaller(caller: string): void;
  has(id: RecordId): boolean;
}

/** Held back one by one; past it everything is, for that time. */
const HELD_MAX = 10_000;

/** Makes one; each is held back for `timeMs`. */
export function createHeldBack(world: Pick<TieredWorld, 'monotonicNow'>, timeMs: number): HeldBack {
  // In the order of their ends.
  const held = new Map<string, number>();
  let allUntil = Number.NEGATIVE_INFINITY;

  function add(text: string): void {
    const now = world.monotonicNow();
    for (const [oldest, until] of held) {
      if (until > now) break;
      held.delete(oldest);
    }
    if (held.size >= HELD_MAX) {
      allUntil = now + timeMs;
      return;
    }
    held.delete(text);
    held.set(text, now + timeMs);
  }

  function isHeld(text: string, now: number): boolean {
    const until = held.get(text);
    return until !== undefined && until > now;
  }

  return {
    hold: (id) => add(`r${idText(id)}`),
    holdCaller: (caller) => add(`c${caller}`),
    has(id) {
      const now = world.monotonicNow();
      if (now < allUntil) return true;
      return held.size > 0 && (isHeld(`r${idText(id)}`, now) || isHeld(`c${callerOf(id.scope)}`, now));
    },
  };
}
