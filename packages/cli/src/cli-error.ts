/** What went wrong, in words for the person at the keyboard. */

import { errorCode } from 'samekey';

/** An expected failure: its message says what happened and what to do, in one line. */
export class CliError extends Error {
  override readonly name: string = 'CliError';
}

/** One line for what was expected to go wrong; the whole stack for a bug. */
export function explain(error: unknown): string {
  if (error instanceof CliError) return error.message;
  if (error instanceof Error && errorCode(error) !== undefined) {
    const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
    return error.message + cause;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
