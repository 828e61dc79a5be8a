/**
 * Why: what workers, reconcilers, operators and webhooks do to one another happens once in a long night: a lease that ends while its worker stands
 * still, a dead letter that comes back beside a decision, a deploy that lacks a handler. Here it happens by the thousand, in virtual time.
 */
import { simulateWorkers } from '../../packages/testing/dist/simulator-workers.js';
import { historiesOf } from './histories.mjs';

export const name = 'simulator-workers';

/** How many without `--rounds`. */
export const rounds = 20_000;

/** So many may be run by a process of their own: histories know nothing of each other. */
export const piece = 500;

/** @param {import('./rounds.mjs').ProofOptions} options */
export const run = (options) => historiesOf(options, { name, rounds, simulate: simulateWorkers });
