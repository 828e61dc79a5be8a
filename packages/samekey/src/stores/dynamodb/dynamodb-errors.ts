/**
 * What an error of the client says about a write: not applied, maybe applied, or refused by its condition. Sources: the AWS
 * developer guide, "Error handling with DynamoDB"; an SDK that tried several times may have been heard the first time.
 */

import { StoreError } from '../../core/errors.ts';
import type { Item } from './dynamodb-client.ts';

interface ClientError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly Item?: Item;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly attempts?: number };
  readonly $fault?: unknown;
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
