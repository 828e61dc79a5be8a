/**
 * A shared cache for simulated histories that does everything a cache may do to its users: it loses, fails, hangs, comes late, fills late,
 * cuts, mixes up, ignores times to live and drops, and gives back any earlier version of an entry, as a replica that lags does. What it
 * gives was once put there: it cannot forge.
 */

import type { SharedCache } from '../../src/stores/tiered/options.ts';
import type { Random } from '../../../testing/src/random.ts';
import type { Timers } from '../../../testing/src/timeline.ts';

/** The part of it that all processes of a history share. */
export interface HostileCache {
  /** How one process sees it; its time is the process's. */
  of(timers: Timers): SharedCache;
  /** How often an entry was given out. */
  readonly given: number;
}

/** Makes an empty one; what goes wrong follows from `random`. */
export function hostileCache(random: Random): HostileCache {
  const versions = new Map<string, Uint8Array[]>();
  const dropped = new Set<string>();
  let given = 0;

  function found(name: string): Uint8Array | null {
    const all = versions.get(name);
    if (all === undefined) return null;
    const isStale = random.chance(0.3);
    if (!isStale && dropped.has(name)) return null;
    const bytes = isStale ? random.pick(all) : (all.at(-1) as Uint8Array);
    if (random.chance(0.05)) return bytes.slice(0, random.between(0, bytes.length));
    if (random.chance(0.05)) return random.pick([...versions.values()].flat());
    if (random.chance(0.02)) {
      const changed = new Uint8Array(bytes);
      const at = random.between(0, changed.length - 1);
      changed[at] = (changed[at] ?? 0) ^ 1;
      return changed;
    }
    given += 1;
    return bytes;
  }

  return {
    get given() {
      return given;
    },
    of(timers) {
      const later = (ms: number): Promise<void> =>
        new Promise((resolve) => void timers.setTimer(ms, () => resolve()));
      async function travel(): Promise<void> {
        if (random.chance(0.03)) throw new Error('the cache is not there');
        // For ever, or for so long that nobody waits any more.
        if (random.chance(0.02)) return new Promise(() => undefined);
        await later(random.chance(0.1) ? random.between(10, 200) : random.between(0, 3));
      }
      return {
        async get(names) {
          await travel();
          const values = names.map(found);
          await later(random.between(0, 3));
          return values;
        },
        async put(name, bytes) {
          if (random.chance(0.1)) throw new Error('the cache is full');
          // In a socket for up to ten seconds: longer than anything may be trusted.
          await later(random.chance(0.3) ? random.between(100, 10_000) : random.between(0, 5));
          versions.set(name, [...(versions.get(name) ?? []), bytes]);
          dropped.delete(name);
        },
        async drop(names) {
          if (random.chance(0.2)) throw new Error('the cache is not there');
          await later(random.between(0, 50));
          for (const name of names) dropped.add(name);
        },
      };
    },
  };
}
