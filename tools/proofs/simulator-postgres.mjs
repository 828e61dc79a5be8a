/** Why: see simulator-stores.mjs. On every PostgreSQL that this machine can run, in turn. */
import {
  availablePostgres,
  startPostgres,
} from '../../packages/samekey/test/processes/.out/services/postgres.js';
import { postgresLane } from '../../packages/samekey/test/processes/.out/services/simulator-lanes.js';
import { historiesOn, PIECE } from './simulator-stores.mjs';

/** @typedef {import('../../packages/samekey/test/processes/.out/services/postgres.js').PostgresServer} PostgresServer */

export const name = 'simulator-postgres';

/** How many without `--rounds`. */
export const rounds = 5_000;

export const piece = PIECE;

/** One of each for a process; a server ends with the process that started it. @type {Map<string, Promise<PostgresServer>>} */
const servers = new Map();

export const run = historiesOn(name, async (n) => {
  const sources = availablePostgres();
  const source = sources[n % sources.length];
  if (source === undefined) throw new Error('There is no PostgreSQL to run on: npm ci brings one.');
  const started = servers.get(source.name) ?? startPostgres(source);
  servers.set(source.name, started);
  return postgresLane(await (await started).createDatabase(), 'simulated');
});
