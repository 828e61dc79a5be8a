/** The database itself: schema, durability, privileges, clock, size, and whether deleted is what has expired. */

import { errorCode, type SchemaError } from 'samekey';
import { messageOf } from '../cli-error.ts';
import { shortDuration } from '../operate/duration.ts';
import type { Check, Finding } from './finding.ts';
import { mysqlFindings } from './mysql.ts';
import { postgresFindings } from './postgres.ts';
import { sqliteFindings } from './sqlite.ts';

/** A second is what networks and schedulers add. */
const SKEW_MAX_MS = 2_000;

/** Whether an application can start on it. */
export const schema: Check = async ({ store }) => {
  const status = await store.status?.();
  if (status !== undefined && status.missing.length > 0) {
    return [
      {
        check: 'schema',
        level: 'failure',
        what: `Migrations are missing: ${status.missing.join(', ')}.`,
        measured: { found: status.version, needed: status.needed },
        remedy: 'npx samekey migrate',
      },
    ];
  }
  try {
    await store.ready();
  } catch (error) {
    if (errorCode(error) !== 'ERR_SAMEKEY_SCHEMA') throw error;
    const measured = { found: status?.version ?? null, needed: status?.needed ?? null };
    const { faults } = error as SchemaError;
    if (faults.length > 0)
      return faults.map(({ what, mend }) => ({
        check: 'schema',
        level: 'failure',
        what: `${what.charAt(0).toUpperCase()}${what.slice(1)}.`,
        measured,
        remedy: mend,
      }));
    return [
      {
        check: 'schema',
        level: 'failure',
        what: messageOf(error),
        measured,
        remedy: 'The message names what mends it.',
      },
    ];
  }
  const versions = { found: status?.version ?? null, needed: status?.needed ?? null };
  return [
    {
      check: 'schema',
      level: 'ok',
      what: 'Tables, indexes and privileges are what this version needs.',
      measured: versions,
      remedy: null,
    },
  ];
};

/**
 * A server's clock that is ahead of what processes have measured by less is no wonder: nobody may have swept for so
 * long.
 */
const SERVER_AHEAD_MAX_MS = 3_600_000;
/** And behind by less: it was slewed, or another server has taken over. */
const SERVER_BEHIND_MAX_MS = 60_000;

/** The clock of a database server against the time that its processes have measured and share. */
async function clockOfServer({ database, now }: Parameters<Check>[0]): Promise<readonly Finding[]> {
  if (database === null || database.address.kind === 'sqlite') return [];
  const [row] = await database.query(`SELECT value FROM samekey_meta WHERE name = 'last_now'`);
  const shared = Number(row?.['value'] ?? 0);
  const aheadMs = shared === 0 ? 0 : now - shared;
  const measured = { serverAheadMs: aheadMs };
  if (aheadMs > SERVER_AHEAD_MAX_MS)
    return [
      {
        check: 'clock',
        level: 'warning',
        what: `The server's clock is ${shortDuration(aheadMs)} ahead of the time that processes have measured: nobody has swept for so long, or this clock is wrong. Nothing expires by it until a process has seen it keep pace for ten minutes.`,
        measured,
        remedy:
          'If processes ran all the time, set the clock of the database server: run a time service. If none sweeps, start one: npx samekey janitor.',
      },
    ];
  if (aheadMs < -SERVER_BEHIND_MAX_MS)
    return [
      {
        check: 'clock',
        level: 'warning',
        what: `The server's clock is ${shortDuration(-aheadMs)} behind the time that processes have measured: it was ahead for ten minutes or more, so that keys were forgotten early by so much, or it went back. Processes go on by the time they measure.`,
        measured,
        remedy:
          'Run a time service on the database server; the times are one again when its clock has caught up.',
      },
    ];
  return [];
}

/** This machine's clock against the database's, and that against what processes have measured. */
export const clock: Check = async (patient) => [
  ...(await clockOfServer(patient)),
  ...clockOfMachine(patient.skewMs),
];

function clockOfMachine(skewMs: number | null): readonly Finding[] {
  if (skewMs === null) return [];
  const measured = { skewMs };
  if (Math.abs(skewMs) <= SKEW_MAX_MS)
    return [
      {
        check: 'clock',
        level: 'ok',
        what: `The clocks differ by ${shortDuration(Math.abs(skewMs))}.`,
        measured,
        remedy: null,
      },
    ];
  return [
    {
      check: 'clock',
      level: 'warning',
      what: `This machine's clock is ${shortDuration(Math.abs(skewMs))} ${skewMs > 0 ? 'behind' : 'ahead of'} the database's. Claims go by the database's; signed request times, logs and provider's retentions do not.`,
      measured,
      remedy: 'Run a time service (chrony, systemd-timesyncd) on both.',
    },
  ];
}

/** What only the kind of database can say. */
export const server: Check = async ({ database, store, now }) => {
  if (database === null) {
    if (store.name === 'redis' || store.name === 'dynamodb')
      return [
        {
          check: 'database',
          level: 'note',
          what: `Of a ${store.name} store only what ready() looks at is known, and its records: memory, load and size were not looked at.`,
          measured: {},
          remedy: null,
        },
      ];
    return [
      {
        check: 'database',
        level: 'note',
        what: 'The database itself was not looked at: with --app only its store is known.',
        measured: {},
        remedy: 'Run it again with --database.',
      },
    ];
  }
  switch (database.address.kind) {
    case 'postgres':
      return postgresFindings(database, now);
    case 'mysql':
      return mysqlFindings(database, now);
    default:
      return sqliteFindings(database, now);
  }
};

/** Records of several formats: a deploy under way, or newer code that older code cannot read. */
export const versions: Check = ({ recent, known }) => {
  const found = [...new Set(recent.map(({ formatVersion }) => formatVersion))].toSorted((a, b) => a - b);
  const newer = recent.filter(({ formatVersion }) => formatVersion > known).length;
  const sealKeys = new Set(recent.map(({ sealKeyId }) => sealKeyId ?? '(clear)')).size;
  const measured = { formats: found.join(', '), newer, sealKeys };
  const findings: Finding[] = [];
  if (newer > 0) {
    findings.push({
      check: 'versions',
      level: 'warning',
      what: `${newer} of the newest ${recent.length} records were written by newer code: processes of this version answer them 503.`,
      measured,
      remedy: 'Finish the deploy, or have the new code write the old format for now (writeVersion).',
    });
  } else if (found.length > 1) {
    findings.push({
      check: 'versions',
      level: 'note',
      what: `Recent records have the formats ${found.join(', ')}: code of several versions is running.`,
      measured,
      remedy: null,
    });
  }
  if (findings.length > 0) return findings;
  return [
    { check: 'versions', level: 'ok', what: 'All recent records have one format.', measured, remedy: null },
  ];
};
