/** Choices for random histories of a store, drawn from the one generator of this folder's parent. */

import { createRandom as createSource } from '../random.ts';

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
  const source = createSource(seed);
  const below = (end: number): number => source.between(0, end - 1);
  return {
    below,
    chance: (probability) => source.chance(probability),
    pick: (items) => items[below(items.length)],
    some(items, most) {
      const left = [...items];
      const count = 1 + below(Math.min(most, left.length));
      return Array.from({ length: count }, () => left.splice(below(left.length), 1)).flat();
    },
  };
}
