/** What went wrong, in words for the person at the keyboard. */

import { errorCode } from 'samekey';

/** Exit codes of all commands: docs/reference/cli.md says them. */
export const EXIT = { failed: 1, refused: 2, notJudged: 4, contradiction: 5 } as const;

/** An expected failure: its message says what happened and what to do, in one line. */
export class CliError extends Error {
  override readonly name: string = 'CliError';
  /** What the process ends with. */
  readonly exitCode: number = EXIT.failed;
}

/** Nothing failed, and nothing was done: what was found is not what was asked for, or nobody confirmed it. */
export class RefusedError extends CliError {
  override readonly name = 'RefusedError';
  override readonly exitCode: number = EXIT.refused;
}

/** Nothing was done: somebody else has said otherwise, which stands. */
export class ContradictionError extends CliError {
  override readonly name = 'ContradictionError';
  override readonly exitCode: number = EXIT.contradiction;
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

/** The exit code for it. */
export function exitCodeOf(error: unknown): number {
  return error instanceof CliError ? error.exitCode : EXIT.failed;
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
