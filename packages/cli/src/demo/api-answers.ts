/** Answers of the demo itself; refusals are problem documents (RFC 9457), as Samekey's own are. */

import type { Response } from 'express';

/** Headers of operations' answers. */
export const JSON_TYPE = ['Content-Type', 'application/json'] as const;
export const PROBLEM_TYPE = ['Content-Type', 'application/problem+json'] as const;

/** Answers with JSON that ends in a newline, so that a terminal's prompt starts on a line of its own. */
export function sendJson(res: Response, status: number, value: unknown): void {
  if (!res.hasHeader('Content-Type')) res.type('application/json');
  res.status(status).send(`${JSON.stringify(value)}\n`);
}

/** Answers with a problem document. */
export function sendProblem(res: Response, status: number, title: string, detail: string): void {
  res.type('application/problem+json');
  sendJson(res, status, problemOf(status, title, detail));
}

/** A problem document. */
export function problemOf(
  status: number,
  title: string,
  detail: string,
): { readonly type: string; readonly title: string; readonly status: number; readonly detail: string } {
  return { type: 'about:blank', title, status, detail };
}
