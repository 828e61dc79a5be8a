/**
 * The fuzz of doors: answers and requests drawn from a seed, at an application with Samekey and the same without it. What
 * the adapter contract asks by example, this asks of whatever a handler or a client may say.
 *
 * Invariants: on real, listening servers, over bare sockets · a round follows from its seed alone, so that a failure is
 * seen again with it.
 */

import assert from 'node:assert/strict';
import type { TestRunner } from './contract/context.ts';
import type { FuzzDoor } from './fuzz/door.ts';
import { requestFuzz } from './fuzz/request-fuzz.ts';
import { type Fuzz, responseFuzz } from './fuzz/response-fuzz.ts';

export type { Answers, FuzzDoor, FuzzOptions, FuzzRoute } from './fuzz/door.ts';
export type { AnswerPlan, CallPlan, Piece, Speech, Step, ValuePlan } from './fuzz/plan.ts';
export { type Fuzz, responseFuzz } from './fuzz/response-fuzz.ts';

/** Which rounds are played. */
export interface FuzzSlice {
  readonly seed: number;
  readonly rounds: number;
}

/** Kinds of rounds, by what they show. */
export const FUZZ_KINDS: Readonly<Record<string, (door: FuzzDoor) => Promise<Fuzz>>> = {
  'the answer of every plan is the bare one, and its retry the first': responseFuzz,
  'no request meets a 5xx or silence that it would not meet without Samekey, and none runs twice':
    requestFuzz,
};

/** Describes a slice of the fuzz to a test runner. */
export function fuzzContract(runner: TestRunner, door: FuzzDoor, { seed, rounds }: FuzzSlice): void {
  runner.describe(`${door.name} keeps the fuzz, seeds ${seed} to ${seed + rounds - 1}`, () => {
    for (const [title, open] of Object.entries(FUZZ_KINDS)) {
      runner.it(title, async () => {
        const { faults } = await fuzzed(await open(door), seed, rounds);
        assert.deepEqual(faults, []);
      });
    }
  });
}

/** Rounds that share the turns of one event loop. */
const SIDE_BY_SIDE = 12;
/** A door that fails often fails for one reason. */
const FAULTS_MAX = 20;

/** Plays rounds and closes the fuzz. */
export async function fuzzed(
  fuzz: Fuzz,
  seed: number,
  most: number,
  isOver: () => boolean = () => false,
): Promise<{ readonly rounds: number; readonly faults: readonly string[] }> {
  const faults: string[] = [];
  let next = seed;
  let rounds = 0;
  const lane = async (): Promise<void> => {
    while (next < seed + most && faults.length < FAULTS_MAX && !isOver()) {
      const own = next;
      next += 1;
      faults.push(...(await fuzz.round(own)));
      rounds += 1;
    }
  };
  try {
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane));
  } finally {
    await fuzz.close();
  }
  return { rounds, faults };
}
