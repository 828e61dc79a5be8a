/** Why: see simulator-stores.mjs. On SQLite files, by the client that comes with the development tools. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { roomyMemory } from '../../packages/samekey/test/processes/.out/services/machine.js';
import { sqliteLane } from '../../packages/samekey/test/processes/.out/services/simulator-lanes.js';
import { historiesOn, PIECE } from './simulator-stores.mjs';

export const name = 'simulator-sqlite';

/** How many without `--rounds`. */
export const rounds = 10_000;

export const piece = PIECE;

export const run = historiesOn(name, async () => {
  const Database = createRequire(import.meta.url)('libsql');
  const folder = mkdtempSync(join(roomyMemory() ?? tmpdir(), 'samekey-simulator-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return sqliteLane(() => new Database(join(folder, 'test.db')));
});

// The parent ends its workers by a signal, which alone would leave the files.
process.once('SIGTERM', () => process.exit());
