/** What a load did, and whether it was charged right. */

import type { IntentCharges } from './intents.ts';

/** How far a load is. */
export interface LoadProgress {
  readonly customers: number;
  /** Customers whose clicks have all been answered. */
  readonly served: number;
  /** Handlers run, and answers given from the record, as Samekey tells it. */
  readonly executed: number;
  readonly replayed: number;
  /** Requests under way. */
  readonly inProgress: number;
  /** Answers that were cut off on their way to the customer. */
  readonly lost: number;
}

/**
 * What the clicks of one customer came to: the answers' texts, null where there was none in the end; none of one who
 * left.
 */
export interface Served {
  readonly intent: string;
  readonly answers: readonly (string | null)[];
}

/** The ledger of a load. */
export interface LoadLedger {
  readonly intents: number;
  readonly clicks: number;
  readonly requests: number;
  readonly lost: number;
  readonly executed: number;
  readonly replayed: number;
  readonly charges: number;
  /** Empty when every intent was charged once and all its answers are one. */
  readonly faults: readonly string[];
}

/** Judges by the provider's books and by what the customers got, not by what Samekey says of itself. */
export function judge(served: readonly Served[], intents: readonly IntentCharges[]): string[] {
  const charges = new Map(intents.map((entry) => [entry.intent, entry.charges]));
  const faults: string[] = [];
  const report = (count: number, what: string): void => {
    if (count > 0) faults.push(`${count} ${count === 1 ? 'intent' : 'intents'} ${what}`);
  };
  const countOf = ({ intent }: Served): number => charges.get(intent) ?? 0;
  report(served.filter((one) => countOf(one) > 1).length, 'charged more than once');
  report(served.filter((one) => countOf(one) === 0).length, 'not charged');
  report(served.filter(({ answers }) => answers.includes(null)).length, 'left without an answer');
  report(
    served.filter(({ answers }) => new Set(answers.filter((answer) => answer !== null)).size > 1).length,
    'with two different answers',
  );
  return faults;
}
