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

/** This machine's clock against the database's. */
export const clock: Check = ({ skewMs }) => {
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
};

/** What only the kind of database can say. */
export const server: Check = async ({ database, now }) => {
  if (database === null) {
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
