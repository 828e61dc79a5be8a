/**
 * The operator's hand and eyes, as functions: what the command `samekey` does, an admin page or a script of yours can
 * do too.
 *
 * Invariants: looking changes nothing · every act names who and why, and stands in the audit · an act is done to what
 * was found, never to what stands there by then: it is refused, and says what it found · nothing is forced.
 */

import type { AuditRequest, AuditRow } from '../store/audit.ts';
import { OptionsError } from '../core/errors.ts';
import type { MessageListRequest, StoredMessage } from '../store/message.ts';
import type { RecordId, SamekeyRecord } from '../core/record.ts';
import { callerScope } from '../core/scope.ts';
import { having, kindOf, orNull, readOptions, required, row, type Table } from '../core/options.ts';
import type { EraseResult, ListRequest, Store } from '../store/store.ts';
import { type ActResult, forget, reopen, settle } from './acts.ts';
import { type LetterRequest, requestsOf } from './letters.ts';
import { lookAt, messagesIn, type WholeRecord } from './look.ts';
import {
  type Act,
  checkAudit,
  checkLetters,
  checkList,
  type Forgetting,
  readErasing,
  readId,
  readLetters,
  type Reopening,
  type Settlement,
} from './requests.ts';

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
  /**
   * What was done by hand, what contradicted itself, and changes of state where they are kept; newest first. Throws
   * `StoreError`.
   */
  audit(request?: AuditRequest): Promise<readonly AuditRow[]>;
  /** Decides an unknown outcome. Throws `StoreError`, also for a reason that is missing or too long. */
  settle(id: RecordId, settlement: Settlement): Promise<ActResult>;
  /**
   * Lets a failed key run again, at least once; after six seconds if its answer could still be replayed elsewhere. One
   * whose outcome nobody came to know only with `effect: 'none'`.
   */
  reopen(id: RecordId, act: Reopening): Promise<ActResult>;
  /**
   * Drops a final or retryable record: the key acts as never used, after as long. What may have happened
   * (`outcome-never-known`, an effect that was begun and never ended) only with `effect: 'none'`.
   */
  forget(id: RecordId, act: Forgetting): Promise<ActResult>;
  /**
   * Empties the records of a caller, given by the parts of its scope or their encoding, at most `limit` of them
   * (default 1,000), and keeps their keys: an erased key never runs again. `left`: call again later.
   */
  erase(
    caller: string | readonly string[],
    act: Pick<Act, 'reason'> & { readonly limit?: number },
  ): Promise<EraseResult>;
  /** Messages that were given up, the oldest first; none where the store keeps no messages. */
  deadLetters(request?: Omit<MessageListRequest, 'states'>): Promise<readonly StoredMessage[]>;
  /**
   * Delivers dead letters again, under the same downstream key; gives the ids of those that are. Left as they are: what
   * is no dead letter (any more), and those whose request was decided or answered since, or is gone: `requestsOf` says
   * which.
   */
  requeue(ids: readonly string[], act: Pick<Act, 'reason'>): Promise<readonly string[]>;
  /**
   * Deletes dead letters; gives the ids of those that were. What is a message of its own is still owed to whoever it
   * was for: drop it only when it has been delivered otherwise.
   */
  drop(ids: readonly string[], act: Pick<Act, 'reason'>): Promise<readonly string[]>;
  /** What became of the request that each dead letter is the work of, in the order given. Throws `StoreError`. */
  requestsOf(letters: readonly StoredMessage[]): Promise<readonly LetterRequest[]>;
}

/** Few enough for one transaction. */
const ERASE_LIMIT = 1_000;

const OPERATOR_ROWS = {
  store: required(
    having<Store>(['find'], 'a store: postgresStore(…), sqliteStore(…), sealed(…) …'),
    'createOperator needs a store: postgresStore(…), sqliteStore(…), sealed(…) …',
  ),
  actor: required(
    orNull(
      row((given, path) => {
        if (typeof given === 'string' && given.trim() !== '') return given;
        throw new OptionsError(
          `${path} must be the name of who acts, or null where nobody can be named; it is ${kindOf(given)}.`,
        );
      }),
    ),
    'actor must be the name of who acts, or null where nobody can be named.',
  ),
} satisfies Table<OperatorOptions>;

/** Makes one. Throws `OptionsError`. */
export function createOperator(options: OperatorOptions): Operator {
  const { store, actor } = readOptions('createOperator', OPERATOR_ROWS, options);
  const messages = messagesIn(store);
  return Object.freeze<Operator>({
    find: async (id) => lookAt(store, readId(id)),
    list: async (request = {}) => store.list(checkList(request)),
    audit: async (request = {}) => store.audit(checkAudit(request)),
    settle: (id, settlement) => settle(store, actor, id, settlement),
    reopen: (id, act) => reopen(store, actor, id, act),
    forget: (id, act) => forget(store, actor, id, act),
    async erase(caller, given) {
      const { reason, limit = ERASE_LIMIT } = readErasing(given);
      const scope = typeof caller === 'string' ? caller : callerScope(caller);
      if (scope === '' || scope.includes('|'))
        throw new OptionsError('Erased is a whole caller: its part of the scope, before the operation.');
      return store.erase({ scope, reason, actor, limit });
    },
    async deadLetters(request = {}) {
      const checked = checkLetters(request);
      return (await messages?.list({ ...checked, states: ['dead'] })) ?? [];
    },
    async requeue(given, by) {
      const { ids, reason } = readLetters('requeue', given, by);
      return (await messages?.requeue(ids, { reason, actor })) ?? [];
    },
    async drop(given, by) {
      const { ids, reason } = readLetters('drop', given, by);
      return (await messages?.drop(ids, { reason, actor })) ?? [];
    },
    requestsOf: (letters) => requestsOf(store, letters),
  });
}
