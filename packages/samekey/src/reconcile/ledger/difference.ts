/** In which ways two ledgers may differ, and what is shown of it. */

import type { LedgerSide } from './side.ts';

/** A line, as a difference shows it. */
export interface ShownLine {
  readonly line: number;
  /** Without trailing zeros. */
  readonly amount: string;
  /** In upper case. */
  readonly currency: string | null;
  readonly state: string | null;
}

/** Where the two ledgers do not say the same. A pair may differ in two ways: then there are two of them. */
export type LedgerDifference =
  /** The provider has it and we have not. */
  | { readonly kind: 'missing-here'; readonly reference: string; readonly theirs: ShownLine }
  /** We have it and the provider has not. */
  | { readonly kind: 'missing-there'; readonly reference: string; readonly ours: ShownLine }
  /** In another currency the amounts say nothing, so they are not compared. */
  | {
      readonly kind: 'different-currency' | 'different-amount' | 'different-state';
      readonly reference: string;
      readonly ours: ShownLine;
      readonly theirs: ShownLine;
    }
  /** One side has the reference again; its first line is the one that is compared. */
  | {
      readonly kind: 'duplicate';
      readonly reference: string;
      readonly side: LedgerSide;
      readonly first: ShownLine;
      readonly again: ShownLine;
    };

/** The kinds of difference, in the order in which reports list them. */
export const LEDGER_DIFFERENCES: readonly LedgerDifference['kind'][] = [
  'missing-here',
  'missing-there',
  'different-currency',
  'different-amount',
  'different-state',
  'duplicate',
];
