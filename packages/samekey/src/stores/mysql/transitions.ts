/**
 * The triggers that write each change of a record's state into the audit, in the transaction that makes it: also what a
 * caller's own transaction writes, and processes of other versions. Each is one statement, so that tools that take SQL
 * apart at semicolons leave it whole.
 *
 * Invariants: one row for each record that is new, and for each that has another state, attempt or claim than before ·
 * none for a renewal, a checkpoint, a deletion, a duplicate that is left as it is · they are made anew only where they
 * are not these: MySQL has no way to replace one without a moment in which there is none.
 */

import { SchemaError } from '../../core/errors.ts';
import { decoded, textOf } from './literals.ts';
import type { Ask } from './client.ts';
import { quote, type Tables } from './tables.ts';

const INSERTED = 'samekey_audit_inserted';
const UPDATED = 'samekey_audit_updated';

/** The triggers' names. */
export const TRANSITIONS: ReadonlySet<string> = new Set([INSERTED, UPDATED]);

/** A trigger, as this code wants it. */
interface Trigger {
  readonly name: string;
  readonly event: 'INSERT' | 'UPDATE';
  readonly body: string;
}

function triggersOf({ audit, clock }: Tables): readonly Trigger[] {
  const row = (before: string, condition: string): string =>
    `INSERT INTO ${audit} (at, scope, \`key\`, operation, attempt, act, from_state, to_state, reason) ` +
    `SELECT ${clock}, NEW.scope, NEW.\`key\`, NEW.operation, NEW.attempt, 'transition', ${before}, NEW.state, NEW.reason FROM DUAL${condition}`;
  const isSame = 'OLD.state = NEW.state AND OLD.attempt = NEW.attempt AND OLD.claim_id = NEW.claim_id';
  return [
    { name: INSERTED, event: 'INSERT', body: row('NULL', '') },
    { name: UPDATED, event: 'UPDATE', body: row('OLD.state', ` WHERE NOT (${isSame})`) },
  ];
}

/** Beside the table, in its database. */
function qualified({ records }: Tables, name: string): string {
  const dot = records.lastIndexOf('.');
  return `${dot < 0 ? '' : records.slice(0, dot + 1)}${quote(name)}`;
}

/** What makes them, or makes them anew. */
export function transitionStatements(tables: Tables): readonly string[] {
  return [
    ...noTransitionStatements(tables),
    ...triggersOf(tables).map(
      ({ name, event, body }) =>
        `CREATE TRIGGER ${qualified(tables, name)} AFTER ${event} ON ${tables.records} FOR EACH ROW ${body}`,
    ),
  ];
}

/** What takes them away. */
export function noTransitionStatements(tables: Tables): readonly string[] {
  return [INSERTED, UPDATED].map((name) => `DROP TRIGGER IF EXISTS ${qualified(tables, name)}`);
}

/**
 * `all`: both are there and do what this code's do; `some`: anything else of them is. Who may not have triggers sees
 * none.
 */
async function findTransitions(ask: Ask, tables: Tables): Promise<'all' | 'some' | 'none'> {
  const database = tables.database === undefined ? 'DATABASE()' : textOf(tables.database);
  const rows = await ask(
    'SELECT TRIGGER_NAME, ACTION_STATEMENT FROM information_schema.TRIGGERS ' +
      `WHERE EVENT_OBJECT_SCHEMA = ${database} AND EVENT_OBJECT_TABLE = 'samekey_records' AND TRIGGER_NAME IN ('${INSERTED}', '${UPDATED}')`,
  );
  if (rows.length === 0) return 'none';
  const found = new Map(rows.map(([name, body]) => [String(decoded(name)), String(decoded(body))]));
  return triggersOf(tables).every(({ name, body }) => found.get(name)?.trim() === body) ? 'all' : 'some';
}

/** Installs or removes them, where that changes something. */
export async function switchTransitions(ask: Ask, tables: Tables, on: boolean): Promise<void> {
  if ((await findTransitions(ask, tables)) === (on ? 'all' : 'none')) return;
  for (const statement of on ? transitionStatements(tables) : noTransitionStatements(tables))
    await ask(statement);
}

/** What `migrate()` would do about them, as `status()` names it; `wanted` undefined: nothing. */
export async function missingTransitions(
  ask: Ask,
  tables: Tables,
  version: number,
  wanted: boolean | undefined,
): Promise<readonly string[]> {
  if (wanted === undefined) return [];
  const found = version === 0 ? 'none' : await findTransitions(ask, tables);
  return found === (wanted ? 'all' : 'none') ? [] : ['audit-transitions'];
}

/** Throws `SchemaError` when transitions are to be audited and no trigger does. */
export async function checkTransitions(ask: Ask, tables: Tables): Promise<void> {
  if ((await findTransitions(ask, tables)) === 'all') return;
  throw new SchemaError(
    `The triggers that audit transitions are not on ${tables.records}, or not these, or this user lacks the privilege TRIGGER on it, without ` +
      'which they cannot be seen: run `await store.migrate()`, or `npx samekey migrate --audit-transitions` of @samekey/cli, or grant it.',
  );
}
