/**
 * Lists of records, newest first, in pages.
 *
 * Invariants: whatever is filtered, a statement reads by an index, and one request looks at a bounded number of
 * records: what has no index (an operation, a key without its caller, most states) is looked for from the newest back,
 * and the page says how far it has come.
 */

import { hashKey, type SamekeyRecord, type State } from 'samekey';
import { callerOf, isPointer, type Operator, type OperatorListRequest } from 'samekey/operator';
import type { List, Row } from './api.ts';
import { textOf } from './asked-body.ts';
import { recordsReferred } from './by-reference.ts';
import { ConsoleFault } from './fault.ts';
import { after, cursorOf, isFull, PAGE, readPage, textOfCursor } from './newest-first.ts';
import type { StoreOfConsole } from './overview.ts';
import { rowOf } from './shown.ts';

/** What one request looks at, at most. */
const LOOKED_MAX = 5_000;
const ROWS = 50;
const ROWS_MAX = 200;
/** All that a record can be in. */
export const STATES: readonly State[] = [
  'pending',
  'in_progress',
  'completed',
  'failed',
  'retryable',
  'unknown',
];

/** What is asked for. */
interface Filter {
  readonly states: readonly State[] | undefined;
  readonly operation: string | undefined;
  readonly who: { readonly caller?: string; readonly scope?: string };
  readonly key: string | undefined;
  readonly hash: string | undefined;
  readonly limit: number;
}

/** Reads a page. Throws `ConsoleFault` for what is no filter. */
export async function listRecords(
  store: StoreOfConsole,
  operator: Operator,
  body: Readonly<Record<string, unknown>>,
  now: number,
): Promise<List> {
  const filter = readFilter(body);
  const reference = textOf(body, 'reference');
  if (reference !== undefined) {
    const { records, isCut } = await recordsReferred(store, reference);
    const rows = records.filter((record) => isOf(record, filter) && isWanted(record, filter)).map(rowOf);
    return { now, rows, cursor: null, looked: records.length, passedOver: null, isCut };
  }
  const byIndex = indexed(filter);
  let cursor = cursorOf(textOf(body, 'cursor'));
  const rows: Row[] = [];
  let passedOver: number | null = null;
  for (let looked = 0; ; ) {
    const most = Math.min(PAGE, isWhole(filter) ? filter.limit : PAGE);
    const { fresh, isLast } = await readPage(operator, byIndex, cursor, most);
    let used = 0;
    for (const record of fresh) {
      used += 1;
      looked += 1;
      cursor = after(record, cursor);
      if (isWanted(record, filter)) rows.push(rowOf(record));
      if (rows.length === filter.limit) break;
    }
    // Not by the page's last record: those of one moment come in any order.
    const isEnd = isLast && used === fresh.length;
    if (!isEnd && cursor !== null && isFull(cursor)) {
      passedOver = cursor.at;
      cursor = { at: cursor.at - 1, seen: [] };
    }
    if (isEnd || rows.length === filter.limit || looked >= LOOKED_MAX)
      return {
        now,
        rows,
        cursor: isEnd || cursor === null ? null : textOfCursor(cursor),
        looked,
        passedOver,
        isCut: false,
      };
  }
}

/** The part of a filter that every store has an index for. */
function indexed({ states, who, key }: Filter): OperatorListRequest {
  const isOneCaller = who.caller !== undefined || who.scope !== undefined;
  const isUnknown = states?.length === 1 && states[0] === 'unknown';
  return {
    ...who,
    ...(isOneCaller && key !== undefined ? { key } : {}),
    ...(isUnknown ? { states: ['unknown'] as const } : {}),
  };
}

/** Whether the index finds all of it, so that a page is no more than its rows. */
function isWhole({ states, operation, hash, key, who }: Filter): boolean {
  const isUnknown = states === undefined || (states.length === 1 && states[0] === 'unknown');
  const isKeyFound = key === undefined || who.caller !== undefined || who.scope !== undefined;
  return isUnknown && operation === undefined && hash === undefined && isKeyFound;
}

/** Whether it is the caller's; where a list was asked for, the store has seen to that. */
function isOf({ scope }: SamekeyRecord, { who }: Filter): boolean {
  return (
    (who.scope === undefined || who.scope === scope) &&
    (who.caller === undefined || who.caller === callerOf(scope))
  );
}

function isWanted(record: SamekeyRecord, { states, operation, key, hash }: Filter): boolean {
  return (
    // Where a bridge stands, a pointer has the same key: it is no record, and nobody acts on it.
    !isPointer(record) &&
    (states === undefined || states.includes(record.state)) &&
    (operation === undefined || record.operation === operation) &&
    (key === undefined || record.key === key) &&
    (hash === undefined || hashKey(record) === hash)
  );
}

/** Reads it. Throws `ConsoleFault` for what is no filter. */
export function readFilter(body: Readonly<Record<string, unknown>>): Filter {
  const states = body['states'];
  if (
    states !== undefined &&
    !(Array.isArray(states) && states.every((each) => STATES.includes(each as State)))
  )
    throw new ConsoleFault(400, 'bad-request', `states is a list of ${STATES.join(', ')}.`);
  const limit = body['limit'] ?? ROWS;
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > ROWS_MAX)
    throw new ConsoleFault(400, 'bad-request', `limit is a number from 1 to ${ROWS_MAX}.`);
  const caller = textOf(body, 'caller');
  const key = textOf(body, 'key');
  const hash = key !== undefined && /^#[\w-]{16}$/.test(key) ? key.slice(1) : undefined;
  return {
    states: states === undefined || (states as unknown[]).length === 0 ? undefined : (states as State[]),
    operation: textOf(body, 'operation'),
    who: caller === undefined ? {} : caller.includes('|') ? { scope: caller } : { caller },
    key: hash === undefined ? key : undefined,
    hash,
    limit,
  };
}
