/** The audit on MySQL. Rows of acts by hand are added inside the transaction of the act itself. */

import {
  type AuditRequest,
  auditLimit,
  type AuditStore,
  checkNotes,
  type NewAuditRow,
} from '../../store/audit.ts';
import { StoreError } from '../../core/errors.ts';
import { AUDIT_COLUMNS, auditRowOf, auditValues } from '../sql/audit-row.ts';
import type { Link } from './link.ts';
import { bytesOf, decoded, literalOf, numberOf, textOf } from './literals.ts';
import type { Ask } from './client.ts';
import { quote, type Tables } from './tables.ts';

const NAMES: string = AUDIT_COLUMNS.map(quote).join(', ');
const AS_BYTES: ReadonlySet<string> = new Set(['scope', 'key']);

/** Adds rows, in their order; the store numbers them and gives them its time. */
export async function insertAudit(
  ask: Ask,
  { audit, now }: Tables,
  rows: readonly NewAuditRow[],
): Promise<void> {
  if (rows.length === 0) return;
  const values = rows.map((row) => {
    const cells = auditValues(row).map((value, i) => literalOf(value, !AS_BYTES.has(AUDIT_COLUMNS[i] ?? '')));
    return `(${now}, ${cells.join(', ')})`;
  });
  await ask(`INSERT INTO ${audit} (at, ${NAMES}) VALUES ${values.join(', ')}`);
}

/** Makes the verbs. `reads`: the connection for reads that may take long. */
export function createAudit(
  tables: Tables,
  links: { readonly upkeep: Link; readonly reads: Link },
): AuditStore {
  function listStatement(request: AuditRequest): string {
    const { scope, key, acts, before } = request;
    const conditions = ['TRUE'];
    if (scope !== undefined) conditions.push(`scope = ${bytesOf(scope)}`);
    if (key !== undefined) conditions.push(`${quote('key')} = ${bytesOf(key)}`);
    if (acts !== undefined) conditions.push(`act IN (${acts.map(textOf).join(', ')})`);
    if (before !== undefined) conditions.push(`seq < ${place(before)}`);
    return (
      `SELECT seq, at, ${NAMES} FROM ${tables.audit} WHERE ${conditions.join(' AND ')} ` +
      `ORDER BY seq DESC LIMIT ${numberOf(auditLimit(request))}`
    );
  }

  return {
    async audit(request) {
      if (request.acts?.length === 0) return [];
      const rows = await links.reads.alone((ask) => ask(listStatement(request)));
      return rows.map((row) => auditRowOf(row.map(decoded)));
    },
    async note(rows) {
      checkNotes(rows);
      if (rows.length > 0) await links.upkeep.alone((ask) => insertAudit(ask, tables, rows));
    },
    async pruneAudit({ olderThanMs, acts, limit }) {
      if (acts.length === 0 || limit < 1) return 0;
      return links.upkeep.together(async (ask) => {
        const old = await ask(
          `SELECT seq FROM ${tables.audit} WHERE act IN (${acts.map(textOf).join(', ')}) ` +
            `AND at <= ${tables.now} - ${numberOf(olderThanMs)} ORDER BY at, seq LIMIT ${numberOf(limit)} FOR UPDATE SKIP LOCKED`,
        );
        if (old.length === 0) return 0;
        await ask(
          `DELETE FROM ${tables.audit} WHERE seq IN (${old.map((row) => String(row[0])).join(', ')})`,
        );
        return old.length;
      });
    },
  };
}

/** A number of the audit, which a double may not hold. */
function place(seq: string): string {
  if (/^\d{1,20}$/.test(seq)) return seq;
  throw new StoreError('before is the seq of a row of the audit, a decimal number; it is something else.', {
    applied: 'no',
    transient: false,
  });
}
