/** What only an SQLite file can say: its mode, its size, its clock, and the reaper's lag. */

import { statSync } from 'node:fs';
import { shortDuration } from '../operate/duration.ts';
import type { Finding } from './finding.ts';
import { lagFinding, megabytes } from './postgres.ts';
import type { OpenDatabase } from '../database/opened.ts';

/** A log that never gets shorter makes each read slower: a reader is holding it. */
const WAL_BYTES_MAX = 256 * 1024 * 1024;
const CLOCK_BACK_MAX_MS = 2_000;
/** Longer than a process that lives leaves the file's time alone. */
const CLOCK_AHEAD_MAX_MS = 3_600_000;

/** Looks. */
export async function sqliteFindings(database: OpenDatabase, now: number): Promise<readonly Finding[]> {
  return [
    ...(await durability(database)),
    ...(await size(database)),
    ...(await clockOfFile(database, now)),
    ...(await reaperLag(database, now)),
  ];
}

async function durability({ query }: OpenDatabase): Promise<readonly Finding[]> {
  const mode = String((await query('PRAGMA journal_mode'))[0]?.['journal_mode']);
  const synchronous = Number((await query('PRAGMA synchronous'))[0]?.['synchronous']);
  const measured = { journalMode: mode, synchronous };
  if (mode !== 'wal')
    return [
      {
        check: 'durability',
        level: 'failure',
        what: `The file is in journal mode "${mode}": readers and writers wait for each other, and the store does not start on it.`,
        measured,
        remedy: 'npx samekey migrate',
      },
    ];
  return [
    {
      check: 'durability',
      level: synchronous < 2 ? 'warning' : 'ok',
      what: `Journal mode WAL; a new connection here has synchronous = ${synchronous}. Each process of yours sets its own: the store refuses to start below FULL (2).`,
      measured,
      remedy: synchronous < 2 ? 'Run PRAGMA synchronous = FULL on every connection.' : null,
    },
  ];
}

async function size({ address, query }: OpenDatabase): Promise<readonly Finding[]> {
  const [pages, free, pageSize] = await Promise.all(
    ['page_count', 'freelist_count', 'page_size'].map(async (name) =>
      Number((await query(`PRAGMA ${name}`))[0]?.[name]),
    ),
  );
  const bytes = (pages ?? 0) * (pageSize ?? 0);
  const freeBytes = (free ?? 0) * (pageSize ?? 0);
  const walBytes =
    address.kind === 'sqlite' ? (statSync(`${address.path}-wal`, { throwIfNoEntry: false })?.size ?? 0) : 0;
  const measured = { bytes, freeBytes, walBytes };
  const facts = `The file has ${megabytes(bytes)}, ${megabytes(freeBytes)} of them free to be used again; its log has ${megabytes(walBytes)}`;
  return [
    walBytes > WAL_BYTES_MAX
      ? {
          check: 'growth',
          level: 'warning',
          what: `${facts}: some process holds a read open, so that it cannot be taken over.`,
          measured,
          remedy: 'End that process or its statement; then PRAGMA wal_checkpoint(TRUNCATE).',
        }
      : { check: 'growth', level: 'ok', what: `${facts}.`, measured, remedy: null },
  ];
}

/** The file's own time never goes back, and follows a clock that is ahead only after ten minutes. */
async function clockOfFile({ query }: OpenDatabase, now: number): Promise<readonly Finding[]> {
  const [row] = await query(`SELECT value FROM samekey_meta WHERE name = 'last_now'`);
  const fileNow = Number(row?.['value'] ?? 0);
  const aheadMs = fileNow === 0 ? 0 : fileNow - now;
  const measured = { fileAheadMs: aheadMs };
  if (aheadMs < -CLOCK_AHEAD_MAX_MS)
    return [
      {
        check: 'clock',
        level: 'warning',
        what: `This machine's clock is ${shortDuration(-aheadMs)} ahead of the newest time in the file: nobody has used the file for so long, or this clock is wrong. Nothing expires by it until a process has seen it keep pace for ten minutes.`,
        measured,
        remedy: 'If the file was in use all the time, set the clock: run a time service.',
      },
    ];
  if (aheadMs <= CLOCK_BACK_MAX_MS)
    return [
      {
        check: 'clock',
        level: 'ok',
        what: "This machine's clock and the newest time in the file do not contradict each other.",
        measured,
        remedy: null,
      },
    ];
  return [
    {
      check: 'clock',
      level: 'warning',
      what: `This machine's clock is ${shortDuration(aheadMs)} behind the newest time in the file: some process's clock was ahead for ten minutes or more, so that keys were forgotten early by so much, or this one went back. The file goes on by its own time.`,
      measured,
      remedy: 'Run a time service on every machine that opens the file.',
    },
  ];
}

async function reaperLag({ query }: OpenDatabase, now: number): Promise<readonly Finding[]> {
  let oldest = now;
  let due = 0;
  // By the index on (state, expires_at + tombstone_ms), state by state.
  for (const state of ['completed', 'failed', 'retryable']) {
    const [row] = await query(
      `SELECT min(expires_at + tombstone_ms) AS oldest, count(*) AS due FROM samekey_records
       WHERE state = ? AND expires_at + tombstone_ms < ? AND (state <> 'retryable' OR intent_at IS NULL)`,
      [state, now],
    );
    if (row?.['oldest'] !== null && row?.['oldest'] !== undefined)
      oldest = Math.min(oldest, Number(row['oldest']));
    due += Number(row?.['due'] ?? 0);
  }
  return [lagFinding(now - oldest, due)];
}
