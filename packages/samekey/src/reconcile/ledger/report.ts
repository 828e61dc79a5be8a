/** A whole comparison as one object, for jobs that send it on; bounded, whatever the files hold. */

import { refuseUnknown, wholeNumber } from '../../core/settings.ts';
import { compareLedgers, type CompareOptions, type LedgerDifference } from './compare.ts';
import type { Rows } from './side.ts';
import type { LedgerTotals } from './totals.ts';

/** What a comparison found. */
export interface LedgerReport extends LedgerTotals {
  /** The first of them, `differencesMax` at most; all are counted in `differences`. */
  readonly found: readonly LedgerDifference[];
  /** How many more there are. */
  readonly leftOut: number;
}

/**
 * Compares and gathers. `differencesMax` (default 1,000) bounds what is kept; `onDifference` is given every one as it is found.
 * Throws as {@link compareLedgers} does.
 */
export async function ledgerReport<Ours, Theirs>(
  ours: Rows<Ours>,
  theirs: Rows<Theirs>,
  options: CompareOptions<Ours, Theirs> & {
    readonly differencesMax?: number;
    readonly onDifference?: (difference: LedgerDifference) => void;
  },
): Promise<LedgerReport> {
  refuseUnknown('ledgerReport', options ?? {}, ['map', 'decimals', 'differencesMax', 'onDifference']);
  const { differencesMax = 1_000, onDifference, ...compared } = options;
  wholeNumber('differencesMax', differencesMax, 0);
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
