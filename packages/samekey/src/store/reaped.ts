/** What a reap tells, from the scopes of the records it deleted. */

import type { Reaped } from './store.ts';

/** One scope for each record that was deleted. */
export function reapedOf(scopes: readonly string[]): Reaped {
  const byScope = new Map<string, number>();
  for (const scope of scopes) byScope.set(scope, (byScope.get(scope) ?? 0) + 1);
  return { count: scopes.length, byScope };
}
