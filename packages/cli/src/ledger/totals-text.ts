/** The totals of a comparison, for people. */

import { LEDGER_DIFFERENCES, type LedgerTotals } from 'samekey/reconcile';
import { oneLine } from '../operate/print.ts';

/**
 * Whether there was anything to compare: two empty files are more likely two wrong files than two equal ones (F156).
 */
export function isJudged({ linesOurs, linesTheirs }: LedgerTotals): boolean {
  return linesOurs + linesTheirs > 0;
}

/** Some lines: what was read, what differs, and the sums. */
export function totalsText(totals: LedgerTotals, leftOut: number, differencesMax: number): string {
  const { differences, equal, linesOurs, linesTheirs, paired, sums } = totals;
  const kinds = LEDGER_DIFFERENCES.filter((kind) => differences[kind] > 0).map(
    (kind) => `${differences[kind]} ${kind.replace('-', ' ')}`,
  );
  return [
    ...(leftOut > 0 ? [`… and ${leftOut} more (--max-differences ${differencesMax})`] : []),
    `Lines: ours ${linesOurs}, theirs ${linesTheirs}; references on both sides: ${paired}`,
    ...sums.map(
      ({ currency, ours, theirs }) =>
        `Sum ${oneLine(currency ?? '(no currency)')}: ours ${ours}, theirs ${theirs}`,
    ),
    !isJudged(totals)
      ? 'Not judged: neither side has a line.'
      : equal
        ? 'Equal.'
        : `Different: ${kinds.join(', ')}.`,
  ].join('\n');
}
