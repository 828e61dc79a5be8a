/**
 * `samekey.deferred`: the request is only noted, with its input, in one write; a worker runs the operation in whatever
 * way it was defined. Its record is `pending` until then.
 */

import { readOptions, type Table, wholeNumber } from '../core/options.ts';
import { createOperation, type Operation, operationInternals } from './define-operation.ts';

/** Options of a deferred operation. */
export interface DeferredOptions {
  /** Not begun by then, it fails with 408; in milliseconds, default 1 h. */
  readonly pendingTimeMaxMs?: number;
}

const HOUR_MS = 60 * 60 * 1000;

const ROWS = { pendingTimeMaxMs: wholeNumber(1, undefined, HOUR_MS) } satisfies Table<DeferredOptions>;

/** Makes it of an operation. Throws `OptionsError`. */
export function defer<Input, Value>(
  operation: Operation<Input, Value>,
  options: DeferredOptions = {},
): Operation<Input, Value> {
  return createOperation<Input, Value>({
    ...operationInternals<Input>(operation),
    keepsInput: true,
    // Its requests have records from the first.
    mayBeUnseen: false,
    pendingTimeMaxMs: readOptions('samekey.deferred', ROWS, options).pendingTimeMaxMs,
  });
}
