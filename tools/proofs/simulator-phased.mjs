/**
 * Why: an owner that stands still between its intent and its call, a provider that answers too early and a store that loses one reply do
 * harm together, and no test by hand has them meet in every order.
 */
import { simulate } from '../../packages/testing/dist/simulator.js';
import { historiesOf } from './histories.mjs';

export const name = 'simulator-phased';

/** How many without `--rounds`. */
export const rounds = 20_000;

/** So many may be run by a process of their own: histories know nothing of each other. */
export const piece = 500;

/** @param {import('./rounds.mjs').ProofOptions} options */
export const run = (options) =>
  historiesOf(options, { name, rounds, simulate: (own) => simulate({ ...own, phased: true }) });
