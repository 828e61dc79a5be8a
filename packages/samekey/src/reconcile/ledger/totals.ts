/** What a comparison counts while it goes: lines, differences by kind, and exact sums by currency. */

import { LedgerError } from '../../core/errors.ts';
import { add, type Decimal, decimalText, ZERO } from './decimal.ts';
import type { LedgerSide, ReadLine } from './side.ts';
import { LEDGER_DIFFERENCES, type LedgerDifference } from './difference.ts';

/** The sum of a side in one currency. */
export interface LedgerSum {
  /** Null for lines that do not say. */
  readonly currency: string | null;
  readonly ours: string;
  readonly theirs: string;
}

/** What a comparison came to. */
export interface LedgerTotals {
  /** Whether no difference was found. */
  readonly equal: boolean;
  readonly linesOurs: number;
  readonly linesTheirs: number;
  /** References that both sides have. */
  readonly paired: number;
  readonly differences: Readonly<Record<LedgerDifference['kind'], number>>;
  /** Exact, duplicates included, by currency. */
  readonly sums: readonly LedgerSum[];
}

/**
 * There are fewer than 200; a column taken for the currency by mistake has one value a line, and memory must not grow
 * with it.
 */
const CURRENCIES_MAX = 1_000;

/** Counts. */
interface Totals {
  read(side: LedgerSide, line: ReadLine): void;
  paired(): void;
  told(difference: LedgerDifference): LedgerDifference;
  sum(): LedgerTotals;
}

/** Begins to count. */
export function countTotals(): Totals {
  const lines = { ours: 0, theirs: 0 };
  const differences = Object.fromEntries(LEDGER_DIFFERENCES.map((kind) => [kind, 0])) as Record<
    LedgerDifference['kind'],
    number
  >;
  const sums = new Map<string | null, Record<LedgerSide, Decimal>>();
  let pairs = 0;
  return {
    read(side, { amount, currency, line }) {
      lines[side] += 1;
      let sum = sums.get(currency);
      if (sum === undefined) {
        if (sums.size >= CURRENCIES_MAX) {
          throw new LedgerError(
            side,
            line,
            `Line ${line} of ${side} has the currency number ${CURRENCIES_MAX + 1}: is the right column mapped to currency?`,
          );
        }
        sum = { ours: ZERO, theirs: ZERO };
        sums.set(currency, sum);
      }
      sum[side] = add(sum[side], amount);
    },
    paired() {
      pairs += 1;
    },
    told(difference) {
      differences[difference.kind] += 1;
      return difference;
    },
    sum: () => ({
      equal: Object.values(differences).every((count) => count === 0),
      linesOurs: lines.ours,
      linesTheirs: lines.theirs,
      paired: pairs,
      differences,
      sums: [...sums]
        .toSorted(([a], [b]) => ((a ?? '') < (b ?? '') ? -1 : 1))
        .map(([currency, { ours, theirs }]) => ({
          currency,
          ours: decimalText(ours),
          theirs: decimalText(theirs),
        })),
    }),
  };
}
