/**
 * References on SQLite: rows beside the records, written and deleted in the transactions of theirs.
 *
 * Invariant: a look reads no wide column: those of a record stand behind its narrow ones, and a message's payload
 * stands last.
 */

import { forgottenClaimId, type RecordId, type State } from '../../core/record.ts';
import type { CallUnderWay, NewReference, Referred, References } from '../../store/references.ts';
import type { FencedId } from '../../store/store.ts';
import { exact, number, type Row, shown } from '../sql/record-row.ts';
import type { Connection } from './client.ts';
import type { Writer } from './writer.ts';

/** Them, and what writes them. */
export interface SqliteReferences {
  readonly references: References;
  /** Inside an open transaction; nothing where the record is another attempt's by now. */
  put(owner: FencedId, reference: NewReference): void;
  /** Those of a record that is deleted or emptied, inside the transaction that does it. */
  remove(id: RecordId): void;
  /** The same for the records of these rowids, before they are deleted. */
  removeOf(rowids: readonly number[]): void;
}

const OWNED = 'r.scope = ? AND r.key = ? AND r.claim_id = ? AND r.attempt = ?';
const PUT =
  'INSERT INTO samekey_references (reference, scope, key, created_at, attempt, effect) ' +
  `SELECT ?, r.scope, r.key, r.created_at, r.attempt, ? FROM samekey_records AS r WHERE ${OWNED} ` +
  'ON CONFLICT (reference, scope, key) DO UPDATE SET ' +
  'created_at = excluded.created_at, attempt = excluded.attempt, effect = excluded.effect';
/** What an earlier life of the key has left. */
const REMOVE_EARLIER =
  'DELETE FROM samekey_references WHERE scope = ? AND key = ? AND created_at <> ' +
  `(SELECT r.created_at FROM samekey_records AS r WHERE ${OWNED})`;
const REMOVE = 'DELETE FROM samekey_references WHERE scope = ? AND key = ?';
const REMOVE_OF =
  'DELETE FROM samekey_references WHERE (scope, key) IN (SELECT r.scope, r.key FROM samekey_records AS r ' +
  'WHERE r.rowid IN (SELECT value FROM json_each(?)))';

const FIND =
  'SELECT f.scope, f.key, r.operation, f.created_at, f.attempt, f.effect FROM samekey_references AS f ' +
  'CROSS JOIN samekey_records AS r ON r.scope = f.scope AND r.key = f.key AND r.created_at = f.created_at ' +
  `WHERE f.reference IN (SELECT value FROM json_each(?)) AND r.claim_id NOT GLOB '${forgottenClaimId('')}*' LIMIT ?`;

/** Indexes are named, so that no plan walks the tables instead. */
const CALLS =
  'SELECT r.scope, r.key, r.operation, r.state, r.claim_id, r.locked_until, r.steps FROM samekey_records AS r INDEXED BY samekey_open ' +
  "WHERE r.state NOT IN ('completed', 'failed') AND r.state IN ('in_progress', 'unknown', 'retryable') " +
  'AND r.intent_at IS NOT NULL AND r.operation IN (SELECT value FROM json_each(?)) ORDER BY r.rowid DESC LIMIT ?';
const DELIVERIES =
  'SELECT r.scope, r.key, r.operation, r.state, coalesce(m.lease_id, m.claim_id) AS claim_id, 0 AS locked_until, NULL AS steps ' +
  'FROM samekey_messages AS m INDEXED BY samekey_messages_leased CROSS JOIN samekey_records AS r ON r.scope = m.scope AND r.key = m.key ' +
  "WHERE m.state = 'leased' AND m.scope IS NOT NULL AND m.provider_id IS NULL AND r.state = 'pending' " +
  'AND r.operation IN (SELECT value FROM json_each(?)) LIMIT ?';

/** Makes them. */
export function createReferences(connection: Connection, writer: Writer): SqliteReferences {
  return {
    references: {
      find: (references, limit) =>
        writer.read(() => connection.all(FIND, JSON.stringify(references), limit).map(referredOf)),
      underWay: (operations, limit) =>
        writer.read(() =>
          [CALLS, DELIVERIES].flatMap((text) =>
            connection.all(text, JSON.stringify(operations), limit).map(callOf),
          ),
        ),
    },
    put({ scope, key, claimId, attempt }, { reference, effect }) {
      connection.run(REMOVE_EARLIER, scope, key, scope, key, claimId, attempt);
      connection.run(PUT, exact(reference), shown(effect), scope, key, claimId, attempt);
    },
    remove: ({ scope, key }) => void connection.run(REMOVE, scope, key),
    removeOf: (rowids) => void connection.run(REMOVE_OF, JSON.stringify(rowids)),
  };
}

function referredOf(row: Row): Referred {
  return {
    scope: String(row['scope']),
    key: String(row['key']),
    operation: String(row['operation']),
    createdAt: number(row['created_at']),
    attempt: number(row['attempt']),
    effect: textOrNull(row['effect']),
  };
}

function callOf(row: Row): CallUnderWay {
  return {
    scope: String(row['scope']),
    key: String(row['key']),
    operation: String(row['operation']),
    state: String(row['state']) as State,
    claimId: String(row['claim_id']),
    lockedUntil: number(row['locked_until']),
    steps: textOrNull(row['steps']),
  };
}

function textOrNull(value: unknown): string | null {
  return (value ?? null) as string | null;
}
