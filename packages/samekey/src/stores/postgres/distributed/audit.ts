/** The audit. A row of an act by hand is added inside the transaction of the act itself. */

import {
  auditLimit,
  type AuditRequest,
  type AuditStore,
  checkNotes,
  type NewAuditRow,
} from '../../../store/audit.ts';
import { StoreError } from '../../../core/errors.ts';
import { AUDIT_COLUMNS, auditRowOf, auditValues } from '../../sql/audit-row.ts';
import type { Link } from '../link.ts';
import { textArray } from '../parameters.ts';
import type { Ask, SqlValue } from '../client.ts';
import { statement } from '../statements.ts';
import type { Layout } from './layout.ts';
import type { Bound } from './statements.ts';

const NAMES: string = AUDIT_COLUMNS.join(', ');
/** Rows that one call deletes at most; the next one goes on. */
const PRUNE_ROWS_MAX = 10_000;

/** Adds a row; the store numbers it and gives it its time. */
export async function insertAudit(ask: Ask, { audit, now }: Layout, row: NewAuditRow): Promise<void> {
  const values = AUDIT_COLUMNS.map((name, i) => `$${i + 1}::${name === 'attempt' ? 'integer' : 'text'}`);
  const text = `INSERT INTO ${audit} (at, ${NAMES}) VALUES (${now}, ${values.join(', ')})`;
  await ask(
    statement('plain_note', text),
    auditValues(row).map((value) => (value === null ? null : String(value))),
  );
}

/** Makes the verbs. `reads`: the connection for reads that may take long; `time`: the server's. */
export function createAudit(
  layout: Layout,
  links: { readonly upkeep: Link; readonly reads: Link },
  time: (ask: Ask) => Promise<number>,
): AuditStore {
  return {
    async audit(request) {
      const { statement: asked, values } = listStatement(layout, request);
      return (await links.reads.ask(asked, values)).map(auditRowOf);
    },
    async note(rows) {
      checkNotes(rows);
      if (rows.length === 0) return;
      await links.upkeep.together(async (ask) => {
        for (const row of rows) await insertAudit(ask, layout, row);
      });
    },
    async pruneAudit({ olderThanMs, acts, limit }) {
      if (acts.length === 0 || limit < 1) return 0;
      const before = String((await time(links.reads.ask)) - olderThanMs);
      const most = String(Math.min(limit, PRUNE_ROWS_MAX));
      const old = await links.reads.ask(
        statement(
          'plain_old_audit',
          `SELECT a.scope, a.seq FROM ${layout.audit} a WHERE a.act = ANY ($1::text[]) AND a.at <= $2::bigint ORDER BY a.at, a.seq LIMIT $3::bigint`,
        ),
        [textArray(acts), before, most],
      );
      const drop = statement(
        'plain_drop_audit',
        `DELETE FROM ${layout.audit} WHERE scope = $1::text AND seq = $2::bigint RETURNING seq`,
      );
      const gone = await Promise.all(
        old.map(([scope, seq]) => links.upkeep.ask(drop, [String(scope), String(seq)])),
      );
      return gone.filter((rows) => rows.length > 0).length;
    },
  };
}

function listStatement({ audit }: Layout, request: AuditRequest): Bound {
  const { scope, key, acts, before } = request;
  const values: SqlValue[] = [];
  const parameter = (value: SqlValue, type: string): string => `$${values.push(value)}::${type}`;
  const conditions = ['true'];
  if (scope !== undefined) conditions.push(`a.scope = ${parameter(scope, 'text')}`);
  if (key !== undefined) conditions.push(`a.key = ${parameter(key, 'text')}`);
  if (acts !== undefined) conditions.push(`a.act = ANY (${parameter(textArray(acts), 'text[]')})`);
  if (before !== undefined) conditions.push(`a.seq < ${parameter(place(before), 'bigint')}`);
  const names = AUDIT_COLUMNS.map((name) => `a.${name}`).join(', ');
  const text = `SELECT a.seq, a.at, ${names} FROM ${audit} a WHERE ${conditions.join(' AND ')} ORDER BY a.seq DESC LIMIT ${parameter(String(auditLimit(request)), 'bigint')}`;
  return { statement: statement('plain_audit', text), values };
}

/** A number of the audit, which a double may not hold. */
function place(seq: string): string {
  if (/^\d{1,19}$/.test(seq)) return seq;
  throw new StoreError('before is the seq of a row of the audit, a decimal number; it is something else.', {
    applied: 'no',
    transient: false,
  });
}
