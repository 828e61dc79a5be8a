/** The SQL of the audit: rows that are added by themselves, read, and deleted by age. */

import type { AuditRequest } from '../../../store/audit.ts';
import { AUDIT_COLUMNS } from '../../sql/audit-row.ts';
import { type Arity, type InputColumn, inputRows, textArray } from '../parameters.ts';
import type { SqlValue, Statement } from '../client.ts';
import { statement } from '../statements.ts';
import { interval, milliseconds, type Tables } from '../tables.ts';

/** A row of the audit, in the order of `auditValues`. */
export const AUDIT_INPUT: readonly InputColumn[] = AUDIT_COLUMNS.map((name) => ({
  name,
  type: name === 'attempt' ? 'int' : 'text',
}));

const COLUMNS = AUDIT_COLUMNS.join(', ');

export function noteStatement(tables: Tables, arity: Arity): Statement {
  return statement(
    'note_audit',
    `WITH ${tables.clock}
INSERT INTO ${tables.audit} (at, ${COLUMNS}) SELECT t.now, ${AUDIT_COLUMNS.map((name) => `q.${name}`).join(', ')}
FROM t, ${inputRows(AUDIT_INPUT, arity)}`,
  );
}

/** Newest first, by the primary key, or by the index of one key. */
export function listAuditStatement(
  { audit }: Tables,
  request: AuditRequest,
  limit: number,
): { readonly statement: Statement; readonly values: readonly SqlValue[] } {
  const values: SqlValue[] = [];
  const parameter = (value: string): string => `$${values.push(value)}`;
  const conditions = ['true'];
  const { scope, key, acts, before } = request;
  if (scope !== undefined) conditions.push(`a.scope = ${parameter(scope)}`);
  if (key !== undefined) conditions.push(`a.key = ${parameter(key)}`);
  if (acts !== undefined) conditions.push(`a.act = ANY (${parameter(textArray(acts))}::text[])`);
  if (before !== undefined) conditions.push(`a.seq < ${parameter(before)}::bigint`);
  return {
    statement: statement(
      'list_audit',
      `SELECT a.seq, ${milliseconds('a.at')} AS at_ms, ${AUDIT_COLUMNS.map((name) => `a.${name}`).join(', ')}
FROM ${audit} a WHERE ${conditions.join(' AND ')} ORDER BY a.seq DESC LIMIT ${parameter(String(limit))}::int`,
    ),
    values,
  };
}

/**
 * Deletes rows of the acts $1 older than $2 milliseconds, at most $3, the oldest of each act first; gives how many.
 * Locks none beforehand: that needs the right to UPDATE.
 */
export function pruneAuditStatement({ audit, clock }: Tables): Statement {
  return statement(
    'prune_audit',
    `WITH ${clock}, old AS MATERIALIZED (SELECT a.tid FROM t, unnest($1::text[]) AS q (act)
  CROSS JOIN LATERAL (SELECT a.ctid AS tid FROM ${audit} a WHERE a.act = q.act
    AND a.at <= t.now - ${interval('$2::bigint')} ORDER BY a.at LIMIT $3::int) a LIMIT $3::int),
gone AS (DELETE FROM ${audit} a USING old WHERE a.ctid = old.tid RETURNING 1)
SELECT count(*) FROM gone`,
  );
}
