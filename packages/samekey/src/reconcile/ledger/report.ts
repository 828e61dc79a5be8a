/** A whole comparison as one object, for jobs that send it on; bounded, whatever the files hold. */

import { aFunction, readOptions, type Table, wholeNumber } from '../../core/options.ts';
import { COMPARE_ROWS, compareLedgers, type CompareOptions } from './compare.ts';
import type { Rows } from './side.ts';
import type { LedgerTotals } from './totals.ts';
import type { LedgerDifference } from './difference.ts';

/** What a comparison found. */
export interface LedgerReport extends LedgerTotals {
  /** The first of them, `differencesMax` at most; all are counted in `differences`. */
  readonly found: readonly LedgerDifference[];
  /** How many more there are. */
  readonly leftOut: number;
}

/** Options of {@link ledgerReport}. */
interface ReportOptions<Ours, Theirs> extends CompareOptions<Ours, Theirs> {
  /** How many differences are kept; default 1,000. */
  readonly differencesMax?: number;
  /** Given every one as it is found. */
  readonly onDifference?: (difference: LedgerDifference) => void;
}

const REPORT_ROWS = {
  ...COMPARE_ROWS,
  differencesMax: wholeNumber(0, undefined, 1_000),
  onDifference: aFunction<(difference: LedgerDifference) => void>(),
} satisfies Table<ReportOptions<never, never>>;

/**
 * Compares and gathers. `differencesMax` (default 1,000) bounds what is kept; `onDifference` is given every one as it
 * is found. Throws as {@link compareLedgers} does.
 */
export async function ledgerReport<Ours, Theirs>(
  ours: Rows<Ours>,
  theirs: Rows<Theirs>,
  options: ReportOptions<Ours, Theirs>,
): Promise<LedgerReport> {
  const { differencesMax, onDifference } = readOptions('ledgerReport', REPORT_ROWS, options);
  const { map, decimals } = options;
  const compared = decimals === undefined ? { map } : { map, decimals };
  const found: LedgerDifference[] = [];
  let leftOut = 0;
  const differences = compareLedgers(ours, theirs, compared);
  for (;;) {
    const next = await differences.next();
    if (next.done === true) return { ...next.value, found, leftOut };
    if (found.length < differencesMax) found.push(next.value);
    else leftOut += 1;
    onDifference?.(next.value);
  }
}
