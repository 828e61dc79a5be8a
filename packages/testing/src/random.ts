/**
 * Randomness that repeats: everything a test draws follows from its seed.
 *
 * Invariants: the same seed gives the same numbers on every machine · neighbouring seeds give unrelated ones.
 * Sources: the generator is sfc32 (PractRand), the seeding the finaliser of MurmurHash3.
 */

/** A seeded source of choices. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number;
  /** True with probability `p`. */
  chance(p: number): boolean;
  /** One of the items. */
  pick<Item>(items: readonly Item[]): Item;
  /** One of the names, as often as its weight says. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name;
}

/** Makes a source of choices from a whole number. */
export function createRandom(seed: number): Random {
  let a = mix(seed >>> 0);
  let b = mix(Math.floor(seed / 2 ** 32) ^ 0x9e3779b9);
  let c = mix(a ^ b);
  let counter = 1;
  const next = (): number => {
    const t = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + t;
    return (t >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 12; i += 1) next();
  return {
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    chance: (p) => next() < p,
    pick<Item>(items: readonly Item[]) {
      return items[Math.floor(next() * items.length)] as Item;
    },
    weighted<Name extends string>(weights: Readonly<Record<Name, number>>) {
      const names = Object.keys(weights) as Name[];
      let left = next() * names.reduce((sum, name) => sum + weights[name], 0);
      for (const name of names) {
        left -= weights[name];
        if (left < 0) return name;
      }
      return names.at(-1) as Name;
    },
  };
}

function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}
