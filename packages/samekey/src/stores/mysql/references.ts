/**
 * References on MySQL: narrow rows beside the records, written and deleted in the transactions of theirs. They name
 * their record by the number of its row.
 *
 * Invariant: a look reads no answer, input or payload. Of a call under way it reads the steps, of which the last is its
 * intent.
 */

import { forgottenClaimId, type RecordId, type State } from '../../core/record.ts';
import type { CallUnderWay, NewReference, Referred, References } from '../../store/references.ts';
import type { FencedId } from '../../store/store.ts';
import { exact, number, shown } from '../sql/record-row.ts';
import type { Ask, SqlRow } from './client.ts';
import { idCondition, isOneOf } from './conditions.ts';
import type { Link } from './link.ts';
import { bytesOf, decoded, literalOf, numberOf } from './literals.ts';
import { quote, type Tables } from './tables.ts';

/** A reference, and the attempt that writes it. */
interface OwnedReference extends NewReference {
  readonly owner: FencedId;
}

/**
 * Writes references of records that are these attempts' still. Inside a transaction. What an earlier life of a key
 * has left leads nowhere, and goes with its row: to look for it would lock the gaps beside it, in a user's transaction
 * until its end, and every other reference would wait for that.
 */
export async function putReferences(
  ask: Ask,
  { records, references }: Tables,
  all: readonly OwnedReference[],
): Promise<void> {
  // Locked for writing, as what follows writes it, and so that nobody empties it meanwhile. One by one, not by joining
  // a table made of the values (see `records.ts`): few statements bring one.
  for (const { owner, reference, effect } of all) {
    await ask(
      `INSERT INTO ${references} (reference, record_id, created_at, attempt, effect) ` +
        `SELECT ${bytesOf(exact(reference))}, r.id, r.created_at, r.attempt, ${literalOf(shown(effect), true)} ` +
        `FROM ${records} AS r FORCE INDEX (samekey_identity) WHERE ${idCondition(owner)} ` +
        `AND r.claim_id = ${bytesOf(owner.claimId)} AND r.attempt = ${numberOf(owner.attempt)} FOR UPDATE ` +
        'ON DUPLICATE KEY UPDATE created_at = VALUES(created_at), attempt = VALUES(attempt), effect = VALUES(effect)',
    );
  }
}

/** Deletes those of records that are deleted; `rows`: the numbers of their rows. */
export async function dropReferences(
  ask: Ask,
  { references }: Tables,
  rows: readonly string[],
): Promise<void> {
  if (rows.length > 0) await ask(`DELETE FROM ${references} WHERE record_id IN (${rows.join(', ')})`);
}

/** The same for records that are emptied and stay. */
export async function dropReferencesOf(
  ask: Ask,
  { records, references }: Tables,
  ids: readonly RecordId[],
): Promise<void> {
  if (ids.length === 0) return;
  await ask(
    `DELETE f FROM ${records} AS r FORCE INDEX (samekey_identity) ` +
      `STRAIGHT_JOIN ${references} AS f FORCE INDEX (samekey_references_record) ON f.record_id = r.id ` +
      `WHERE ${ids.map((id) => `(${idCondition(id)})`).join(' OR ')}`,
  );
}

/** Makes the looks. */
export function createReferences(
  tables: Tables,
  { upkeep, reads }: { readonly upkeep: Link; readonly reads: Link },
): References {
  const { records, references, messages } = tables;
  const key = quote('key');
  const forgotten = forgottenClaimId('');
  const counts = `LEFT(r.claim_id, ${forgotten.length}) <> ${bytesOf(forgotten)}`;

  async function topics(): Promise<readonly string[]> {
    const rows = await reads.alone((ask) =>
      ask(`SELECT DISTINCT m.topic FROM ${messages} AS m FORCE INDEX (samekey_messages_due)`),
    );
    return rows.map(([topic]) => bytesOf(String(decoded(topic))));
  }

  async function calls(operations: readonly string[], limit: number): Promise<readonly CallUnderWay[]> {
    const rows = await reads.alone((ask) =>
      ask(
        `SELECT r.scope, r.${key}, r.operation, r.state, r.claim_id, r.locked_until, r.steps ` +
          `FROM ${records} AS r FORCE INDEX (samekey_due) WHERE r.state IN ('in_progress', 'unknown', 'retryable') ` +
          `AND r.intent_at IS NOT NULL AND ${isOneOf(operations)} LIMIT ${numberOf(limit)}`,
      ),
    );
    return rows.map(callOf);
  }

  async function deliveries(operations: readonly string[], limit: number): Promise<readonly CallUnderWay[]> {
    const all = await topics();
    if (all.length === 0) return [];
    const rows = await reads.alone((ask) =>
      ask(
        `SELECT r.scope, r.${key}, r.operation, r.state, COALESCE(m.lease_id, m.claim_id), 0, NULL ` +
          `FROM ${messages} AS m FORCE INDEX (samekey_messages_due) ` +
          `STRAIGHT_JOIN ${records} AS r FORCE INDEX (samekey_identity) ON r.scope = m.scope AND r.${key} = m.${key} ` +
          `WHERE m.topic IN (${all.join(', ')}) AND m.state = 'leased' AND m.provider_id IS NULL ` +
          `AND r.state = 'pending' AND ${isOneOf(operations)} LIMIT ${numberOf(limit)}`,
      ),
    );
    return rows.map(callOf);
  }

  return {
    async find(wanted, limit) {
      if (wanted.length === 0) return [];
      const each = [...new Set(wanted)].map((reference) => bytesOf(exact(reference)));
      const rows = await upkeep.alone((ask) =>
        ask(
          `SELECT r.scope, r.${key}, r.operation, f.created_at, f.attempt, f.effect FROM ${references} AS f FORCE INDEX (PRIMARY) ` +
            `STRAIGHT_JOIN ${records} AS r FORCE INDEX (PRIMARY) ON r.id = f.record_id ` +
            `WHERE f.reference IN (${each.join(', ')}) AND r.created_at = f.created_at AND ${counts} LIMIT ${numberOf(limit)}`,
        ),
      );
      return rows.map(referredOf);
    },
    async underWay(operations, limit) {
      if (operations.length === 0) return [];
      return [...(await calls(operations, limit)), ...(await deliveries(operations, limit))];
    },
  };
}

function referredOf([scope, key, operation, createdAt, attempt, effect]: SqlRow): Referred {
  return {
    scope: String(decoded(scope)),
    key: String(decoded(key)),
    operation: String(decoded(operation)),
    createdAt: number(createdAt),
    attempt: number(attempt),
    effect: textOrNull(effect),
  };
}

function callOf([scope, key, operation, state, claimId, lockedUntil, steps]: SqlRow): CallUnderWay {
  return {
    scope: String(decoded(scope)),
    key: String(decoded(key)),
    operation: String(decoded(operation)),
    state: String(decoded(state)) as State,
    claimId: String(decoded(claimId)),
    lockedUntil: number(lockedUntil),
    steps: textOrNull(steps),
  };
}

function textOrNull(value: unknown): string | null {
  return (decoded(value) ?? null) as string | null;
}
