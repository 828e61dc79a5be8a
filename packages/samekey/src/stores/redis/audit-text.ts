/** Rows of the audit as text: number, time, and the row as JSON, in a sorted set per act. */

import type { AuditRow, NewAuditRow } from '../../store/audit.ts';
import { exact, shown } from '../sql/record-row.ts';

/** What a script is given of a new row. Throws `StoreError` for identifying text that cannot be kept. */
export function auditText(row: NewAuditRow): string {
  const { attempt, act, from, to } = row;
  const named = { scope: exact(row.scope), key: exact(row.key), operation: shown(row.operation) };
  return JSON.stringify({
    ...named,
    attempt,
    act,
    from,
    to,
    reason: shown(row.reason),
    actor: shown(row.actor),
  });
}

/**
 * A row as it stands in its set. Its number is the server's microseconds and the shard, so that two shards give no
 * number twice.
 */
export function auditRowOf(text: string, shard: number): AuditRow {
  const [, micros, at, json] = /^(\d+) (\d+) (.*)$/s.exec(text) as unknown as [
    string,
    string,
    string,
    string,
  ];
  // A script that puts a member in writes them all in an order of its own.
  const { scope, key, operation, attempt, act, from, to, reason, actor } = JSON.parse(json) as NewAuditRow;
  const seq = String(BigInt(micros) * SHARDS_MAX + BigInt(shard));
  return { seq, at: Number(at), scope, key, operation, attempt, act, from, to, reason, actor };
}

/** The microseconds below which rows of a shard are smaller than a number. */
export function microsBefore(seq: string, shard: number): string {
  const number = BigInt(seq);
  const micros = number / SHARDS_MAX;
  return String(number % SHARDS_MAX > BigInt(shard) ? micros + 1n : micros);
}

const SHARDS_MAX = 1_024n;
