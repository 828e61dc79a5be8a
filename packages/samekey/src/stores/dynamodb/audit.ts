/**
 * The audit in the same table: an item for each row, in shards by record. A row is first written inside the record,
 * with the change it is about, and then put into its place under a number it already has; doing that twice does
 * nothing. DynamoDB counts nothing for us, so numbers are made of time, a count and chance: they grow with time, and
 * rows of one millisecond stand in the order of their process only.
 */

import {
  type AuditRequest,
  type AuditRow,
  auditLimit,
  type AuditStore,
  checkNotes,
  type NewAuditRow,
} from '../../store/audit.ts';
import { type Calls, inParallel, writeInParallel } from './calls.ts';
import type { StoreClock } from './clock.ts';
import type { Item } from './client.ts';
import { auditItem, auditRow, shardOf, textOf } from './item.ts';
import { pagesOf } from './pages.ts';
import { SHARDS } from './table.ts';

/** The audit of one store. */
export interface DynamoAudit extends AuditStore {
  /** The row with its number and time. */
  numbered(row: NewAuditRow, now: number): AuditRow;
  /** A numbered row as the item that it is in its place. */
  itemOf(row: AuditRow): Item;
  /** Puts rows into their place; again is no harm. */
  put(rows: readonly AuditRow[]): Promise<void>;
}

const TIME_DIGITS = 15;
const COUNT_DIGITS = 6;
const CHANCE_DIGITS = 4;

// Of the module: rows of one millisecond stand in their order, whichever store of this process wrote them.
let count = 0;

/** Makes it. */
export function createAudit(
  calls: Calls,
  clock: StoreClock,
  atOnceMax: number,
  random: () => number,
): DynamoAudit {
  const shards = Array.from({ length: SHARDS }, (_, shard) => `a|${shard}`);

  function numbered(row: NewAuditRow, now: number): AuditRow {
    count = (count + 1) % 10 ** COUNT_DIGITS;
    const chance = Math.floor(random() * 10 ** CHANCE_DIGITS);
    const tail = [digits(count, COUNT_DIGITS), digits(chance, CHANCE_DIGITS)].join('');
    const { scope, key, operation, attempt, act, from, to, reason, actor } = row;
    const seq = `${Math.max(1, now)}${tail}`;
    return { seq, at: now, scope, key, operation, attempt, act, from, to, reason, actor };
  }

  async function put(rows: readonly AuditRow[]): Promise<void> {
    await writeInParallel(rows, atOnceMax, async (row) => {
      await calls.write('putItem', { Item: itemOf(row) });
    });
  }

  /** Rows of one shard that match, at most so many. */
  async function rowsOf(
    pk: string,
    range: Item,
    isForward: boolean,
    limit: number,
    matches: (row: AuditRow) => boolean,
  ) {
    const rows: { readonly row: AuditRow; readonly sk: string; readonly pk: string }[] = [];
    const pages = pagesOf(calls, 'query', {
      KeyConditionExpression: 'pk = :pk AND sk < :to',
      ExpressionAttributeValues: { ':pk': { S: pk }, ...range },
      ScanIndexForward: isForward,
      ConsistentRead: true,
    });
    for await (const item of pages) {
      const row = auditRow(item);
      if (matches(row)) rows.push({ row, pk, sk: textOf(item['sk']) });
      if (rows.length >= limit) break;
    }
    return rows;
  }

  return {
    numbered,
    itemOf,
    put,
    async audit(request: AuditRequest) {
      const { scope, key, acts, before } = request;
      if (acts?.length === 0) return [];
      const limit = auditLimit(request);
      const one = scope !== undefined && key !== undefined ? [`a|${shardOf({ scope, key })}`] : shards;
      const to =
        before === undefined ? '~' : before.padStart(TIME_DIGITS + COUNT_DIGITS + CHANCE_DIGITS, '0');
      const matches = (row: AuditRow): boolean =>
        (scope === undefined || row.scope === scope) &&
        (key === undefined || row.key === key) &&
        (acts === undefined || acts.includes(row.act));
      const found = await inParallel(one, atOnceMax, (pk) =>
        rowsOf(pk, { ':to': { S: to } }, false, limit, matches),
      );
      const newest = found.flat().toSorted((a, b) => (a.sk < b.sk ? 1 : -1));
      return newest.slice(0, limit).map(({ row }) => row);
    },
    async note(rows) {
      checkNotes(rows);
      if (rows.length === 0) return;
      const now = await clock.now();
      await put(rows.map((row) => numbered(row, now)));
    },
    async pruneAudit({ olderThanMs, acts, limit }) {
      if (acts.length === 0 || limit < 1) return 0;
      const until = Math.max(0, (await clock.now()) - olderThanMs + 1);
      const to: Item = { ':to': { S: digits(until, TIME_DIGITS) } };
      const found = await inParallel(shards, atOnceMax, (pk) =>
        rowsOf(pk, to, true, limit, ({ act }) => acts.includes(act)),
      );
      const oldest = found
        .flat()
        .toSorted((a, b) => (a.sk < b.sk ? -1 : 1))
        .slice(0, limit);
      const gone = await writeInParallel(oldest, atOnceMax, async ({ pk, sk }) => {
        const answer = await calls.write('deleteItem', {
          Key: { pk: { S: pk }, sk: { S: sk } },
          ConditionExpression: 'attribute_exists(pk)',
        });
        return answer.kind === 'written';
      });
      return gone.filter(Boolean).length;
    },
  };
}

/** A numbered row as the item that it is in its place. */
function itemOf(row: AuditRow): Item {
  const sk = row.seq.padStart(TIME_DIGITS + COUNT_DIGITS + CHANCE_DIGITS, '0');
  return { ...auditItem(row), pk: { S: `a|${shardOf(row)}` }, sk: { S: sk } };
}

function digits(value: number, length: number): string {
  return String(value).padStart(length, '0');
}
