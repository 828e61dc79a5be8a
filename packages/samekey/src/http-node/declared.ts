/**
 * Whoever answers for a handler that throws makes Samekey see an error page and not the error. Two kinds of error must
 * be seen all the same: `NotExecutedError`, by which a handler says that nothing happened, and `OutcomeUnknownError`,
 * by which it says that nobody knows (contract §6.2).
 *
 * Invariant: the error goes on to whoever answers it; only the attempt is told.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { tellDeclared } from '../engine/attempt.ts';
import { noteThrown } from './capture.ts';
import { attemptOf } from './node-exchange.ts';

/**
 * Error middleware that tells the attempt what an error declares (`NotExecutedError`, `OutcomeUnknownError`), and
 * passes it on. It stands before error middleware of your own. Handlers that Samekey calls itself, and routes of
 * Express, need none.
 */
export function noteDeclared(
  error: unknown,
  req: IncomingMessage,
  res: ServerResponse,
  next: (error: unknown) => void,
): void {
  noteThrown(res, error);
  const attempt = attemptOf(req);
  if (attempt !== null) tellDeclared(attempt, error);
  next(error);
}

/** Runs a handler, and notes what it throws before anybody answers for it. */
export async function heard(
  handler: () => unknown,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  try {
    await handler();
  } catch (error) {
    noteDeclared(error, req, res, () => undefined);
    throw error;
  }
}
