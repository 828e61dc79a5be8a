/**
 * Compares our ledger with the provider's: two streams, both sorted by reference, merged line by line. What an effect
 * did is known for certain only when both sides say the same; this finds where they do not.
 *
 * Invariants: one line of each side is held, so memory does not grow with the files · amounts are exact decimals ·
 * every line is counted, and every line that has no equal on the other side is told.
 */

import { OptionsError } from '../../core/errors.ts';
import {
  anything,
  nestedWithDefaults,
  readOptions,
  required,
  type Table,
  wholeNumber,
} from '../../core/options.ts';
import { decimalText, isSame } from './decimal.ts';
import {
  compareReferences,
  type LedgerLine,
  type LedgerSide,
  type ReadLine,
  readSide,
  type Rows,
} from './side.ts';
import { countTotals, type LedgerTotals } from './totals.ts';
import type { LedgerDifference, ShownLine } from './difference.ts';

/** How the two sides are read. */
export interface CompareOptions<Ours, Theirs> {
  /** Makes a line of each side into what is compared. One function serves both if their lines are alike. */
  readonly map:
    | ((row: Ours | Theirs, side: LedgerSide) => LedgerLine)
    | {
        readonly ours: (row: Ours) => LedgerLine;
        readonly theirs: (row: Theirs) => LedgerLine;
      };
  /** Digits behind a point that is not written, by side: `{ theirs: 2 }` when the provider exports cents. Default 0. */
  readonly decimals?: { readonly ours?: number; readonly theirs?: number };
}

/**
 * Gives every difference, in the order of references, and returns the totals. Both sides must be sorted by reference,
 * by bytes. Throws `OptionsError`, and `LedgerError` for a line that cannot be compared or is out of order.
 *
 * @example
 * for await (const difference of compareLedgers(ours, theirs, { map: (row) => row })) console.log(difference.kind);
 */
export async function* compareLedgers<Ours, Theirs>(
  ours: Rows<Ours>,
  theirs: Rows<Theirs>,
  options: CompareOptions<Ours, Theirs>,
): AsyncGenerator<LedgerDifference, LedgerTotals> {
  const { map, decimals } = checked(options);
  const totals = countTotals();
  const here = createCursor('ours', readSide('ours', ours, { map: map.ours, decimals: decimals.ours }));
  const there = createCursor(
    'theirs',
    readSide('theirs', theirs, { map: map.theirs, decimals: decimals.theirs }),
  );
  try {
    await here.next();
    await there.next();
    while (here.line !== null || there.line !== null) {
      const { line: ourLine } = here;
      const { line: theirLine } = there;
      const order = orderOf(ourLine, theirLine);
      const ourFirst = order <= 0 ? ourLine : null;
      const theirFirst = order >= 0 ? theirLine : null;
      for (const difference of pair(ourFirst, theirFirst)) yield totals.told(difference);
      if (ourFirst !== null && theirFirst !== null) totals.paired();
      for (const [cursor, first] of [
        [here, ourFirst],
        [there, theirFirst],
      ] as const) {
        if (first === null) continue;
        totals.read(cursor.side, first);
        for (await cursor.next(); cursor.line?.reference === first.reference; await cursor.next()) {
          const { side } = cursor;
          totals.read(side, cursor.line);
          const { reference } = first;
          yield totals.told({
            kind: 'duplicate',
            reference,
            side,
            first: shown(first),
            again: shown(cursor.line),
          });
        }
      }
    }
    return totals.sum();
  } finally {
    // Whoever stops early, or meets a line out of order, leaves no file open.
    await Promise.all([here.close(), there.close()]);
  }
}

/** What differs of two lines with one reference, of which one may be missing. */
function* pair(ours: ReadLine | null, theirs: ReadLine | null): Generator<LedgerDifference> {
  if (ours === null) {
    if (theirs !== null) yield { kind: 'missing-here', reference: theirs.reference, theirs: shown(theirs) };
    return;
  }
  const { reference } = ours;
  if (theirs === null) {
    yield { kind: 'missing-there', reference, ours: shown(ours) };
    return;
  }
  const both = { reference, ours: shown(ours), theirs: shown(theirs) };
  if (differs(ours.currency, theirs.currency)) yield { kind: 'different-currency', ...both };
  else if (!isSame(ours.amount, theirs.amount)) yield { kind: 'different-amount', ...both };
  if (differs(ours.state, theirs.state)) yield { kind: 'different-state', ...both };
}

/** What one side does not say is not compared. */
function differs(ours: string | null, theirs: string | null): boolean {
  return ours !== null && theirs !== null && ours !== theirs;
}

function orderOf(ours: ReadLine | null, theirs: ReadLine | null): number {
  if (ours === null) return 1;
  if (theirs === null) return -1;
  return compareReferences(ours.reference, theirs.reference);
}

function shown({ line, amount, currency, state }: ReadLine): ShownLine {
  return { line, amount: decimalText(amount), currency, state };
}

/** The line that a side has come to; null behind the last. */
interface Cursor {
  readonly side: LedgerSide;
  readonly line: ReadLine | null;
  next(): Promise<void>;
  close(): Promise<void>;
}

function createCursor(side: LedgerSide, lines: AsyncGenerator<ReadLine, undefined>): Cursor {
  let line: ReadLine | null = null;
  return {
    side,
    get line() {
      return line;
    },
    async next() {
      line = (await lines.next()).value ?? null;
    },
    async close() {
      await lines.return(undefined);
    },
  };
}

const NO_MAP =
  'compareLedgers needs map: a function from your line to { reference, amount, currency, state }, or { ours, theirs } with one for each side.';

const ROWS = {
  map: required(anything<CompareOptions<never, never>['map']>(), NO_MAP),
  decimals: nestedWithDefaults({ ours: wholeNumber(0, 12, 0), theirs: wholeNumber(0, 12, 0) }),
} satisfies Table<CompareOptions<never, never>>;

/** The rows of {@link CompareOptions}. */
export const COMPARE_ROWS: Table<CompareOptions<never, never>> = ROWS;

function checked<Ours, Theirs>(
  options: CompareOptions<Ours, Theirs>,
): {
  readonly map: { ours: (row: Ours) => LedgerLine; theirs: (row: Theirs) => LedgerLine };
  readonly decimals: { readonly ours: number; readonly theirs: number };
} {
  const { decimals } = readOptions('compareLedgers', ROWS, options);
  const { map } = options;
  const each =
    typeof map === 'function'
      ? { ours: (row: Ours) => map(row, 'ours'), theirs: (row: Theirs) => map(row, 'theirs') }
      : map;
  if (typeof each?.ours !== 'function' || typeof each.theirs !== 'function') {
    throw new OptionsError(NO_MAP);
  }
  return {
    map: { ours: each.ours, theirs: each.theirs },
    decimals,
  };
}
