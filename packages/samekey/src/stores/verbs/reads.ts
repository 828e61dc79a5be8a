/** What lists and counts of all stores have in common. */

import { STATES, type State } from '../../core/record.ts';

const LIST_LIMIT = 100;
const LIST_LIMIT_MAX = 1_000;

/** How many records, or messages, a `list` gives at most. */
export function listLimit({ limit }: { readonly limit?: number }): number {
  return Math.min(LIST_LIMIT_MAX, Math.max(1, limit ?? LIST_LIMIT));
}

/** Each state with its number, none left out; numbers of one state are added up. */
export function countsOf(counted: Iterable<readonly [state: State, records: number]>): Record<State, number> {
  const counts = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<State, number>;
  // Newer code may know more states.
  for (const [state, records] of counted) counts[state] = (counts[state] ?? 0) + records;
  return counts;
}
