/**
 * Clients that mint a key per try: records of one caller with the same fingerprint under different keys. By an index,
 * the newest of the caller alone: it says how far back that reaches.
 */

import type { SamekeyRecord } from 'samekey';
import { callerOf, isPointer, type Operator } from 'samekey/operator';
import type { Minted } from './api.ts';
import { ConsoleFault } from './fault.ts';
import { newest, SEEN_MAX } from './newest-first.ts';
import { rowOf } from './shown.ts';

/** Of one caller. */
const LOOKED = 2_000;
const GROUPS = 50;
/** Of each group. */
const ROWS = 5;

/** Looks for them. Throws `ConsoleFault` where no caller is named. */
export async function mintedKeys(
  operator: Operator,
  caller: string | undefined,
  now: number,
): Promise<Minted> {
  if (caller === undefined)
    throw new ConsoleFault(400, 'bad-request', 'Name the caller: no index finds fingerprints of all.');
  const records = await newest(operator, { caller: callerOf(caller) }, LOOKED, narrow);
  const groups = new Map<string, Narrow[]>();
  for (const each of records) {
    if (each.print === null) continue;
    groups.set(each.print, [...(groups.get(each.print) ?? []), each]);
  }
  const several = [...groups.values()].filter((group) => group.length > 1);
  return {
    now,
    looked: records.length,
    from: records.at(-1)?.row.createdAt ?? null,
    isCut: records.length === LOOKED || several.length > GROUPS || isFullMoment(records),
    groups: several
      .toSorted((a, b) => b.length - a.length)
      .slice(0, GROUPS)
      .map((group) => ({ count: group.length, rows: group.slice(0, ROWS).map(({ row }) => row) })),
  };
}

/** Whether the last are so many of one millisecond that others of it cannot be listed, nor what is older. */
function isFullMoment(records: readonly Narrow[]): boolean {
  const [first, last] = [records.at(-SEEN_MAX), records.at(-1)].map((each) =>
    Math.floor(each?.row.createdAt ?? Number.NaN),
  );
  return first === last;
}

interface Narrow {
  readonly row: ReturnType<typeof rowOf>;
  /** Null: it has none to compare. */
  readonly print: string | null;
}

/** Of two operations, or by two recipes, no fingerprints are compared. */
function narrow(record: SamekeyRecord): Narrow {
  const { fingerprint, operation } = record;
  const print =
    fingerprint === null || isPointer(record)
      ? null
      : JSON.stringify([operation, fingerprint.label, fingerprint.digest]);
  return { row: rowOf(record), print };
}
