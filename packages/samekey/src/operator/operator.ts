/**
 * The operator's hand and eyes, as functions: what the command `samekey` does, an admin page or a script of yours can do too.
 *
 * Invariants: looking changes nothing · every act names who and why, and stands in the audit · an act is done to what was found,
 * never to what stands there by then: it is refused, and says what it found · nothing is forced.
 */

import { OptionsError } from '../core/errors.ts';
import type { RecordId, SamekeyRecord } from '../core/record.ts';
import { refuseUnknown } from '../core/settings.ts';
import type { ListRequest, Store } from '../core/store.ts';
import { lookAt, type WholeRecord } from './look.ts';

/** Options of {@link createOperator}. */
export interface OperatorOptions {
  /** Any store; `sealed(store, ring)` where answers are sealed and are to be read. */
  readonly store: Store;
  /** Who acts, for the audit: a name that leads to a person. Null: only where nobody acts, or nobody can be named. */
  readonly actor: string | null;
}

/** Which records to list; newest first. */
export interface OperatorListRequest extends ListRequest {}

/** An operator. */
export interface Operator {
  /** One record with its steps, messages and audit rows; null when there is none. Throws `StoreError`. */
  find(id: RecordId): Promise<WholeRecord | null>;
  /** Records, newest first. Throws `StoreError`. */
  list(request?: OperatorListRequest): Promise<readonly SamekeyRecord[]>;
}

/** Makes one. Throws `OptionsError`. */
export function createOperator(options: OperatorOptions): Operator {
  refuseUnknown('createOperator', options ?? {}, ['store', 'actor']);
  const { store, actor } = options;
  if (typeof store?.find !== 'function') {
    throw new OptionsError('createOperator needs a store: postgresStore(…), sqliteStore(…), sealed(…) …');
  }
  if (actor !== null && (typeof actor !== 'string' || actor.trim() === '')) {
    throw new OptionsError('actor must be the name of who acts, or null where nobody can be named.');
  }
  return Object.freeze<Operator>({
    find: (id) => lookAt(store, id),
    list: (request = {}) => store.list(request),
  });
}
