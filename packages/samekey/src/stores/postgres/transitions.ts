/**
 * The triggers that write each change of a record's state into the audit, in the transaction that makes it: also what a
 * caller's own transaction writes, and processes of other versions. Without them nothing is paid for;
 * docs/internals/postgres.md has the figures.
 *
 * Invariants: one row for each record that is new, and for each that has another state, attempt or claim than before ·
 * none for a renewal, a checkpoint, a deletion · names are qualified, so no caller's search_path leads elsewhere.
 */

import type { Statement } from './client.ts';
import type { Tables } from './tables.ts';

const FUNCTION = 'samekey_audit_transition';
const INSERTED = 'samekey_audit_inserted';
const UPDATED = 'samekey_audit_updated';

/** The triggers' names. */
export const TRANSITIONS: ReadonlySet<string> = new Set([INSERTED, UPDATED]);

/** What they do. Of a new row, OLD is null, and so is its state. */
export function transitionBody({ audit, now }: Tables): string {
  // On one line: tools that take SQL apart at semicolons that end a line leave it whole.
  return ` BEGIN INSERT INTO ${audit} (at, scope, key, operation, attempt, act, from_state, to_state, reason) VALUES (pg_catalog.date_trunc('milliseconds', ${now}), NEW.scope, NEW.key, NEW.operation, NEW.attempt, 'transition', OLD.state, NEW.state, NEW.reason); RETURN NULL; END `;
}

/** What makes them, or makes them anew. */
export function transitionStatements(tables: Tables): readonly string[] {
  const { schema, records } = tables;
  const run = `EXECUTE FUNCTION ${schema}.${FUNCTION}()`;
  return [
    `CREATE OR REPLACE FUNCTION ${schema}.${FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $samekey$${transitionBody(tables)}$samekey$`,
    `CREATE OR REPLACE TRIGGER ${INSERTED} AFTER INSERT ON ${records} FOR EACH ROW ${run}`,
    `CREATE OR REPLACE TRIGGER ${UPDATED} AFTER UPDATE ON ${records} FOR EACH ROW
  WHEN (OLD.state IS DISTINCT FROM NEW.state OR OLD.attempt IS DISTINCT FROM NEW.attempt
    OR OLD.claim_id IS DISTINCT FROM NEW.claim_id) ${run}`,
  ];
}

/** What takes them away. */
export function noTransitionStatements({ schema, records }: Tables): readonly string[] {
  return [
    `DROP TRIGGER IF EXISTS ${INSERTED} ON ${records}`,
    `DROP TRIGGER IF EXISTS ${UPDATED} ON ${records}`,
    `DROP FUNCTION IF EXISTS ${schema}.${FUNCTION}()`,
  ];
}

/** Which of them are there: whether each is enabled, and what it does. */
export function findTransitionsStatement({ records }: Tables): Statement {
  return {
    name: '',
    text: `SELECT t.tgenabled IN ('O', 'A'), p.prosrc FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
WHERE t.tgrelid = '${records.replaceAll("'", "''")}'::regclass AND t.tgname IN ('${INSERTED}', '${UPDATED}')`,
  };
}
