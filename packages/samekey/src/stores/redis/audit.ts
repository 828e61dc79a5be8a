/**
 * The audit: a sorted set per act in each shard, so that an act by hand and its row are one script. Rows are numbered
 * by the server's microseconds: those of one server in their order; those of two servers of a Cluster as their clocks
 * agree.
 */

import {
  AUDIT_ACTS,
  type AuditRow,
  type AuditStore,
  auditLimit,
  checkNotes,
  type NewAuditRow,
} from '../../store/audit.ts';
import { auditRowOf, auditText, microsBefore } from './audit-text.ts';
import { textOf } from './fields.ts';
import type { Keys } from './key-names.ts';
import { answersOf, scriptOf, type Server } from './server.ts';
import { ADD_NOTE, OLD_NOTES } from './statements.ts';

/** Rows of a shard and an act that are read at once, and that one call prunes at most. */
const ROWS_MAX = 1_000;

const addNote = scriptOf(ADD_NOTE);
const oldNotes = scriptOf(OLD_NOTES);

/** Makes its verbs. */
export function createAudit(server: Server, keys: Keys, time: () => string, isCluster: boolean): AuditStore {
  return {
    async audit(request) {
      const limit = auditLimit(request);
      const { scope, key, before } = request;
      const acts = request.acts ?? AUDIT_ACTS;
      const isFiltered = scope !== undefined || key !== undefined;
      const sets = keys.shards.flatMap((shard) => [...new Set(acts)].map((act) => ({ shard, act })));
      const found = await Promise.all(
        sets.map(async ({ shard, act }) => {
          const kept: AuditRow[] = [];
          const from = before === undefined ? '+inf' : `(${microsBefore(before, shard)}`;
          const size = isFiltered ? ROWS_MAX : limit;
          for (let offset = 0; kept.length < limit; offset += size) {
            const page = ['LIMIT', String(offset), String(size)];
            const texts = await server.ask(
              'ZREVRANGEBYSCORE',
              keys.set(shard, `audit:${act}`),
              from,
              '-inf',
              ...page,
            );
            for (const text of texts) {
              const row = auditRowOf(textOf(text), shard);
              if ((scope === undefined || row.scope === scope) && (key === undefined || row.key === key))
                kept.push(row);
            }
            if (texts.length < size) break;
          }
          return kept;
        }),
      );
      return found.flat().toSorted(newestFirst).slice(0, limit);
    },

    async note(rows) {
      checkNotes(rows);
      const texts = rows.map(auditText);
      const noteOne = (row: NewAuditRow, n: number): Promise<readonly unknown[]> =>
        server.run(addNote, [keys.set(keys.of(row).shard, `audit:${row.act}`)], [time(), texts[n] as string]);
      if (isCluster) {
        // Several servers would number them in the order in which they come to it.
        for (const [n, row] of rows.entries()) await noteOne(row, n);
        return;
      }
      for (const answer of await answersOf(rows.map(noteOne))) if ('error' in answer) throw answer.error;
    },

    async pruneAudit({ olderThanMs, acts, limit }) {
      const most = Math.min(ROWS_MAX, limit);
      if (most < 1) return 0;
      const sets = keys.shards.flatMap((shard) =>
        [...new Set(acts)].map((act) => ({ shard, set: keys.set(shard, `audit:${act}`) })),
      );
      const args = [time(), String(olderThanMs), String(most)];
      const found = await Promise.all(sets.map(({ set }) => server.run(oldNotes, [set], args)));
      const oldest = found
        .flatMap((texts, n) =>
          texts.map((text) => ({ ...(sets[n] as (typeof sets)[number]), text: textOf(text) })),
        )
        .map((one) => ({ ...one, row: auditRowOf(one.text, one.shard) }))
        .toSorted((a, b) => newestFirst(b.row, a.row))
        .slice(0, most);
      const gone = await Promise.all(oldest.map(({ set, text }) => server.ask('ZREM', set, text)));
      return gone.reduce((sum, [count]) => sum + Number(count), 0);
    },
  };
}

function newestFirst(a: AuditRow, b: AuditRow): number {
  const [first, second] = [BigInt(a.seq), BigInt(b.seq)];
  return first === second ? 0 : first > second ? -1 : 1;
}
