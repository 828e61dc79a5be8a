/** The audit on SQLite. Rows of acts by hand are added inside the transaction of the act itself. */

import {
  type AuditRequest,
  type AuditRow,
  auditLimit,
  type AuditStore,
  checkNotes,
  type NewAuditRow,
} from '../../store/audit.ts';
import { AUDIT_COLUMNS, auditRowOf, auditValues } from '../sql/audit-row.ts';
import type { ColumnValue } from '../sql/record-row.ts';
import type { StoreClock } from './clock.ts';
import { type Connection, expectOne } from './client.ts';
import type { Writer } from './writer.ts';

const NAMES = ['seq', 'at', ...AUDIT_COLUMNS];
const INSERT = `INSERT INTO samekey_audit (at, ${AUDIT_COLUMNS.join(', ')}) VALUES (?, ${AUDIT_COLUMNS.map(() => '?').join(', ')})`;

/** The audit of one store. */
export interface SqliteAudit extends AuditStore {
  /** Inside an open transaction. */
  add(rows: readonly NewAuditRow[], now: number): void;
}

/** Makes it. */
export function createAudit(connection: Connection, writer: Writer, clock: StoreClock): SqliteAudit {
  function add(rows: readonly NewAuditRow[], now: number): void {
    for (const row of rows) expectOne(connection.run(INSERT, now, ...auditValues(row)), 'insert');
  }

  function list(request: AuditRequest): AuditRow[] {
    const { scope, key, acts, before } = request;
    if (acts?.length === 0) return [];
    const conditions = ['1'];
    const values: ColumnValue[] = [];
    const where = (condition: string, ...added: ColumnValue[]): void => {
      conditions.push(condition);
      values.push(...added);
    };
    if (scope !== undefined) where('scope = ?', scope);
    if (key !== undefined) where('key = ?', key);
    if (acts !== undefined) where(`act IN (${acts.map(() => '?').join(', ')})`, ...acts);
    if (before !== undefined) where('seq < ?', Number(before));
    const text = `SELECT ${NAMES.join(', ')} FROM samekey_audit WHERE ${conditions.join(' AND ')} ORDER BY seq DESC LIMIT ?`;
    return connection
      .all(text, ...values, auditLimit(request))
      .map((row) => auditRowOf(NAMES.map((name) => row[name])));
  }

  return {
    add,
    audit: (request) => writer.read(() => list(request)),
    async note(rows) {
      checkNotes(rows);
      if (rows.length === 0) return;
      await writer.write(() => {
        const now = clock.now(connection);
        add(rows, now);
        clock.save(connection, now);
      });
    },
    async pruneAudit({ olderThanMs, acts, limit }) {
      if (acts.length === 0 || limit < 1) return 0;
      const names = acts.map(() => '?').join(', ');
      const old = `SELECT seq FROM samekey_audit WHERE act IN (${names}) AND at <= ? ORDER BY at, seq LIMIT ?`;
      const values = (): ColumnValue[] => [...acts, clock.now(connection) - olderThanMs];
      // Looked for first: nothing to do costs no write.
      const found = await writer.read(() => connection.get(old, ...values(), 1));
      if (found === undefined) return 0;
      return writer.write(() =>
        connection.run(`DELETE FROM samekey_audit WHERE seq IN (${old})`, ...values(), limit),
      );
    },
  };
}
