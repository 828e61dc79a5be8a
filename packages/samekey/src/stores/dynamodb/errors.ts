/**
 * What an error of the client says about a write: not applied, maybe applied, or refused by its condition. Sources: the
 * AWS developer guide, "Error handling with DynamoDB"; an SDK that tried several times may have been heard the first
 * time.
 */

import { errorCode, StoreError } from '../../core/errors.ts';
import type { TransactionFault } from '../../store/transaction.ts';
import type { Item } from './client.ts';

interface ClientError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly Item?: Item;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly attempts?: number };
  /** Of a cancelled transaction: one for each element, `None` for those that are not why. */
  readonly CancellationReasons?: readonly { readonly Code?: string }[];
  readonly cause?: unknown;
}

/** Asking again, a little later, is the answer to these; nothing was written. */
const THROTTLES: ReadonlySet<unknown> = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'ThrottledException',
  'RequestLimitExceeded',
  'LimitExceededException',
  'TransactionConflictException',
  'TransactionInProgressException',
  // Another region was writing the item, in a global table that is strongly consistent.
  'ReplicatedWriteConflictException',
]);

/** The request never left this machine. */
const NOT_SENT: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'CredentialsProviderError',
]);

/** Whether asking again a little later may help, and nothing was written. */
export function isThrottle(error: unknown): boolean {
  return THROTTLES.has((error as ClientError | null)?.name);
}

/** Whether the condition of the write did not hold. */
export function isConflict(error: unknown): boolean {
  return (error as ClientError | null)?.name === 'ConditionalCheckFailedException';
}

/** The item that stood there, if the engine says so (`ReturnValuesOnConditionCheckFailure`). */
export function conflictItem(error: unknown): Item | undefined {
  return (error as ClientError).Item;
}

/** The error of a call as the store throws it; `mayHaveRun`: an earlier try of the same write got no clear answer. */
export function storeError(error: unknown, isWrite: boolean, mayHaveRun: boolean): StoreError {
  const { name, code, $metadata } = (error ?? {}) as ClientError;
  const status = $metadata?.httpStatusCode ?? 0;
  const refused =
    (status >= 400 && status < 500) || NOT_SENT.has(code) || NOT_SENT.has(name) || isThrottle(error);
  const applied = !isWrite || (refused && !mayHaveRun) ? 'no' : 'unknown';
  const what = typeof name === 'string' && name !== '' ? name : 'an error without a name';
  // No text of the client's: messages of validation carry values.
  return new StoreError(`DynamoDB answered ${what}${ADVICE[what] ?? ''}.`, {
    applied,
    transient: what !== 'ValidationException',
    busy: isThrottle(error),
    cause: error,
  });
}

const ADVICE: Readonly<Record<string, string>> = {
  ResourceNotFoundException: ': create the table with createTableInput(name), or mend its name or region',
  AccessDeniedException:
    ': the role needs GetItem, PutItem, UpdateItem, DeleteItem, Query and Scan on table and indexes',
};

/**
 * Why a transaction was cancelled that may succeed when it is made anew: somebody else's write stood in between, or
 * what the handler had read, or this record, was no longer so.
 */
const PASSING: ReadonlySet<string | undefined> = new Set([
  'None',
  'TransactionConflict',
  'ConditionalCheckFailed',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

/** How deep users wrap; a circle ends here too. */
const DEPTH_MAX = 8;

/** What an error of `fromDynamodb` means, in whatever a handler wrapped it. */
export function transactionFault(error: unknown): TransactionFault {
  let one = error as ClientError | null | undefined;
  for (let depth = 0; depth < DEPTH_MAX && typeof one === 'object' && one !== null; depth += 1) {
    if (one.name === 'TransactionUnclear') return 'unclear';
    if (one.name === 'TransactionCanceledException') {
      const isPassing = one.CancellationReasons?.every(({ Code }) => PASSING.has(Code)) ?? false;
      return isPassing ? 'again' : 'rolled-back';
    }
    if (isThrottle(one)) return 'again';
    const status = one.$metadata?.httpStatusCode ?? 0;
    if (status >= 400 && status < 500) return 'rolled-back';
    // Refused before it was sent.
    if (one.name === 'TransactionNotSent' || errorCode(one) === 'ERR_SAMEKEY_OPTIONS') return 'rolled-back';
    if (NOT_SENT.has(one.code) || NOT_SENT.has(one.name)) return 'rolled-back';
    one = one.cause as ClientError | null | undefined;
  }
  return 'unclear';
}
