/**
 * Which transactions are open now, and the store's verbs inside each: so that whoever holds the application's own `tx`
 * (a client of pg, a Kysely transaction …) can enqueue in it, whatever library it is of.
 */

import { registered } from '../core/registered.ts';
import type { Within } from '../store/transaction.ts';

const open = registered('enrolled', () => new WeakMap<object, Within>());

/** The transaction is open; what it returns ends that. */
export function enroll(tx: unknown, within: Within): () => void {
  if ((typeof tx !== 'object' || tx === null) && typeof tx !== 'function') return () => undefined;
  open.set(tx, within);
  return () => void open.delete(tx);
}

/** The verbs inside a transaction that Samekey has opened; undefined for any other. */
export function enrolledWithin(tx: unknown): Within | undefined {
  return typeof tx === 'object' || typeof tx === 'function' ? open.get(tx as object) : undefined;
}
