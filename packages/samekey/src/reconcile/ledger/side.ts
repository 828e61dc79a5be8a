/**
 * One side of a comparison, read line by line: each line is checked as it comes, and must not stand before the one
 * before it.
 *
 * Invariants: one line is held and no more · references are in the order of their bytes (`LC_ALL=C sort`,
 * `COLLATE "C"`), which is that of their code points · an error names side and line, never what stands there.
 */

import { LedgerError } from '../../core/errors.ts';
import { type Decimal, toDecimal } from './decimal.ts';

/** What is compared of one line; a `map` makes it of yours. */
export interface LedgerLine {
  /** What both sides call it: the provider's id, or yours that it was given. Not empty. */
  readonly reference: string;
  /**
   * Decimal text (`'12.50'`), a bigint, or a whole number. Other numbers are refused: a double has lost what it had to
   * round.
   */
  readonly amount: string | bigint | number;
  /** Compared without regard to case; null or absent if the side does not say. */
  readonly currency?: string | null;
  /** Compared as it is, so map both sides to the same words; null or absent if the side does not say. */
  readonly state?: string | null;
  /** The line of the file, for messages; default: how many lines have been read, from 1. */
  readonly line?: number;
}

/** Which side. `ours` is here, `theirs` is there. */
export type LedgerSide = 'ours' | 'theirs';

/** A line that was read. */
export interface ReadLine {
  readonly reference: string;
  readonly amount: Decimal;
  readonly currency: string | null;
  readonly state: string | null;
  readonly line: number;
}

/** How a side is read. */
interface SideOptions<Row> {
  /** Makes a line of yours into what is compared. */
  readonly map: (row: Row) => LedgerLine;
  /**
   * How many digits of the amounts stand behind a point that is not written: 2 for cents. Default 0. A written point is
   * refused then.
   */
  readonly decimals?: number;
}

/** Rows of a side. */
export type Rows<Row> = AsyncIterable<Row> | Iterable<Row>;

/** Reads a side. Throws {@link LedgerError} for a line that cannot be compared, or is out of order. */
export async function* readSide<Row>(
  side: LedgerSide,
  rows: Rows<Row>,
  { map, decimals = 0 }: SideOptions<Row>,
): AsyncGenerator<ReadLine, undefined> {
  let count = 0;
  let before: ReadLine | null = null;
  for await (const row of rows) {
    count += 1;
    const read = check(side, map(row), decimals, count);
    if (before !== null && compareReferences(before.reference, read.reference) > 0) {
      throw new LedgerError(
        side,
        read.line,
        `Line ${read.line} of ${side} is out of order: its reference comes before that of line ${before.line}. Sort both sides by reference, by bytes: LC_ALL=C sort, or ORDER BY … COLLATE "C".`,
      );
    }
    before = read;
    yield read;
  }
  return undefined;
}

function check(side: LedgerSide, given: LedgerLine, decimals: number, count: number): ReadLine {
  const line = given?.line ?? count;
  const fail = (what: string): LedgerError =>
    new LedgerError(side, line, `Line ${line} of ${side} cannot be compared: ${what}`);
  const { reference, amount, currency = null, state = null } = given ?? {};
  if (typeof reference !== 'string' || reference === '')
    throw fail('it has no reference. Map each line to a text that is not empty.');
  if (decimals > 0 && typeof amount === 'string' && /^[^e]*\.[^e]*$/i.test(amount)) {
    throw fail(
      `its amount has a point, and decimals for ${side} is ${decimals}: 12.00 would be 0.12. Leave decimals away where the point is written.`,
    );
  }
  const exact = toDecimal(amount, decimals);
  if (exact === null) {
    throw fail(
      'its amount is not a decimal such as -12.50. Give text without separators of thousands, a bigint or a whole number.',
    );
  }
  for (const [name, value] of [
    ['currency', currency],
    ['state', state],
  ] as const) {
    if (value !== null && typeof value !== 'string') throw fail(`its ${name} is not a text.`);
  }
  return { reference, amount: exact, currency: currency?.toUpperCase() ?? null, state, line };
}

/**
 * Negative, 0 or positive, by code points: the order of UTF-8's bytes, which the units of JavaScript's texts are not
 * in.
 */
export function compareReferences(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above all others. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
