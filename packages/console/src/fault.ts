/** What the console refuses, as a status, a code for programs and a sentence for people. */

import { errorCode } from 'samekey';
import { isStoreError } from 'samekey/internals/core/errors';

/** Thrown by what serves a request; it becomes its answer. */
export class ConsoleFault extends Error {
  override readonly name: string = 'ConsoleFault';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.code = code;
  }
}

/** The fault that a request is answered with; null for a bug, whose words nobody outside is to read. */
export function faultOf(error: unknown): ConsoleFault | null {
  if (error instanceof ConsoleFault) return error;
  if (isStoreError(error)) {
    // What is wrong with the request itself, such as a reason of 2,000 characters, no repeating mends.
    if (!error.transient && error.applied === 'no') return new ConsoleFault(400, 'refused', error.message);
    return error.applied === 'no'
      ? new ConsoleFault(503, 'store', `The store did not answer, and nothing was done: ${error.message}`)
      : new ConsoleFault(
          503,
          'uncertain',
          'The store did not say whether this was done. Look at the record again before you repeat it.',
        );
  }
  const code = errorCode(error);
  if (code === 'ERR_SAMEKEY_OPTIONS' || code === 'ERR_SAMEKEY_VALUE')
    return new ConsoleFault(400, 'bad-request', (error as Error).message);
  if (code === 'ERR_SAMEKEY_SCHEMA') return new ConsoleFault(503, 'schema', (error as Error).message);
  return null;
}
