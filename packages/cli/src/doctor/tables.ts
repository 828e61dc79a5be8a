/** Rows that the tables must hold, times that nobody can have written yet, and counts that cannot be. */

import { shortDuration } from '../operate/duration.ts';
import { type Check, type Finding, fine } from './finding.ts';
import { instant, msOf, numberAt, textAt } from './sql.ts';
import type { OpenDatabase } from '../database/opened.ts';

/** A second is what networks and schedulers add; a minute is a wrong clock. */
const AHEAD_MAX_MS = 60_000;
/** The rows of `samekey_meta` without which upkeep says nothing and does nothing. */
const META: Readonly<Record<OpenDatabase['address']['kind'], readonly string[]>> = {
  postgres: ['schema_version', 'min_reader', 'swept_to', 'messages_listened_until', 'last_now'],
  mysql: ['schema_version', 'min_reader', 'last_now'],
  sqlite: ['schema_version', 'min_reader', 'last_now'],
};
/** Rows of `samekey_groups` on MySQL, for ever. */
const GROUP_SLOTS = 4_096;

/** The check. */
export const tables: Check = async ({ database, now }) => {
  if (database === null) return [];
  const { query } = database;
  const { kind } = database.address;
  const findings: Finding[] = [];
  const add = (
    level: Finding['level'],
    what: string,
    measured: Finding['measured'],
    remedy: string,
  ): void => {
    findings.push({ check: 'tables', level, what, measured, remedy });
  };
  const meta = new Map(
    (await query('SELECT name, value FROM samekey_meta')).map((row) => [
      textAt(row, 'name'),
      Number(row['value']),
    ]),
  );
  const missing = META[kind].filter((name) => !meta.has(name));
  if (missing.length > 0)
    add(
      'failure',
      `samekey_meta lacks the rows ${missing.join(', ')}: upkeep writes nothing there, and claims that are over may never be found.`,
      { missing: missing.join(', ') },
      missing.map((name) => `INSERT INTO samekey_meta (name, value) VALUES ('${name}', 0)`).join('; '),
    );
  const swept = meta.get('swept_to') ?? 0;
  if (kind === 'postgres' && swept > now + AHEAD_MAX_MS)
    add(
      'failure',
      `The sweeper's mark is ${shortDuration(swept - now)} from now: claims made until then are never ended.`,
      { sweptAheadMs: swept - now },
      "UPDATE samekey_meta SET value = 0 WHERE name = 'swept_to': the next sweep looks at all.",
    );
  for (const [table, column] of [
    ['samekey_records', 'created_at'],
    ['samekey_messages', 'created_at'],
    ['samekey_audit', 'at'],
  ] as const) {
    const [row] = await query(
      `SELECT COUNT(*) AS n, MAX(${msOf(kind, column)}) AS newest FROM ${table} WHERE ${column} > ${instant(kind, now + AHEAD_MAX_MS)}`,
    );
    const count = Number(row?.['n']);
    if (count === 0) continue;
    const aheadMs = (numberAt(row, 'newest') ?? now) - now;
    add(
      'warning',
      `${count} rows of ${table} were written by a clock up to ${shortDuration(aheadMs)} ahead: what goes by their age comes that much later.`,
      { table, count, aheadMs },
      'Set the clocks of all machines (chrony, systemd-timesyncd); such rows are right again when that time has come.',
    );
  }
  const [counters] = await query(
    'SELECT COUNT(*) AS n FROM (SELECT scope FROM samekey_counters GROUP BY scope HAVING SUM(count) < 0) c',
  );
  if (Number(counters?.['n']) > 0)
    add(
      'warning',
      `The counts of ${Number(counters?.['n'])} callers are below zero: rows were deleted by hand, or a copy was restored; their limits do not hold.`,
      { counters: Number(counters?.['n']) },
      'DELETE FROM samekey_counters: who needs a count takes it anew.',
    );
  if (kind === 'mysql') {
    const [row] = await query('SELECT COUNT(*) AS n FROM samekey_groups');
    const slots = Number(row?.['n']);
    if (slots < GROUP_SLOTS)
      add(
        'failure',
        `samekey_groups has ${slots} of ${GROUP_SLOTS} rows: messages of one group may be taken out of order.`,
        { slots },
        'Run the INSERT into samekey_groups of the SQL that npx samekey migrate --print shows.',
      );
  }
  if (findings.length > 0) return findings;
  return [fine('tables', 'Rows that must be there are, and no row is of a time to come.', {})];
};
