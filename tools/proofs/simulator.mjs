/**
 * Why: most faults of idempotency need three things to happen in one order, which tests written by hand do not think of.
 */
import { simulate } from '../../packages/testing/dist/simulator.js';
import { historiesOf } from './histories.mjs';

export const name = 'simulator';

/** How many without `--rounds`. */
export const rounds = 100_000;

/** So many may be run by a process of their own: histories know nothing of each other. */
export const piece = 2_000;

/** @param {import('./rounds.mjs').ProofOptions} options */
export const run = (options) => historiesOf(options, { name, rounds, simulate });
