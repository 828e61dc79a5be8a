/** The one error of `verify`. */

import { SamekeyError } from 'samekey/internals/core/errors';

/**
 * The service could not be judged at all: it does not answer, a plain request does not succeed, or executions cannot be
 * counted. The message says what to do.
 */
export class VerifyError extends SamekeyError {
  constructor(message: string) {
    super('ERR_SAMEKEY_VERIFY', message);
  }
}
