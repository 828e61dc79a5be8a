/** What a payment provider may do to its callers, and which of it happens: asked for by name, or drawn from a seed. */

import { createHash } from 'node:crypto';

/** The faults, and what happens. */
export const FAULTS = {
  'fails-first': 'answers 500, and has charged nothing',
  'fails-after-charging': 'charges, then answers 500',
  'loses-reply': 'charges, and the reply is lost',
  'answers-late': 'charges, and answers when the caller has given up',
  'never-answers': 'charges nothing and never answers',
  'forgets-key': 'charges, loses the reply, and forgets the key',
} as const;

/** The name of a fault. */
export type Fault = keyof typeof FAULTS;

const NAMES = Object.keys(FAULTS) as Fault[];

/** The fault of this name; null for none. */
export function faultNamed(name: unknown): Fault | null {
  return NAMES.find((one) => one === name) ?? null;
}

/** A number in [0, 1) that a seed and some words always give. */
export function drawn(...words: readonly (string | number)[]): number {
  return createHash('sha256').update(JSON.stringify(words)).digest().readUInt32BE(0) / 2 ** 32;
}

/** What happens to the `call`-th call: a fault in `rate` of all cases. */
export function drawFault(seed: number, rate: number, call: number): Fault | null {
  if (drawn(seed, call, 'whether') >= rate) return null;
  return NAMES[Math.floor(drawn(seed, call, 'which') * NAMES.length)] ?? null;
}
