/** A small seeded generator (mulberry32): the same seed gives the same history on every machine. */

/** Random choices. */
export interface Random {
  /** A whole number in [0, end). */
  below(end: number): number;
  chance(probability: number): boolean;
  /** Undefined for an empty list. */
  pick<T>(items: readonly T[]): T | undefined;
  /** One to `most` different items. */
  some<T>(items: readonly T[], most: number): readonly T[];
}

/** Starts a generator. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const below = (end: number): number => Math.floor(next() * end);
  return {
    below,
    chance: (probability) => next() < probability,
    pick: (items) => items[below(items.length)],
    some(items, most) {
      const left = [...items];
      const count = 1 + below(Math.min(most, left.length));
      return Array.from({ length: count }, () => left.splice(below(left.length), 1)).flat();
    },
  };
}
