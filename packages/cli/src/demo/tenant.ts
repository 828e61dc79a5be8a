/** Who is calling. A demo's authentication: the bearer token is the tenant's name. */

import type { Request, RequestHandler } from 'express';
import { sendProblem } from './api-answers.ts';

/** The tenant of a request without an Authorization header. */
export const DEMO_TENANT = 'demo';

/** The tenant that a request's Authorization header names; null if it names none that could be. */
export function tenantOf(req: Request): string | null {
  const { authorization } = req.headers;
  if (authorization === undefined) return DEMO_TENANT;
  return /^Bearer ([\w-]{1,64})$/i.exec(authorization)?.[1] ?? null;
}

/** Refuses callers nobody knows. It stands before Samekey: what it refuses is never stored. */
export const authenticate: RequestHandler = (req, res, next) => {
  if (tenantOf(req) !== null) {
    next();
    return;
  }
  res.set('WWW-Authenticate', 'Bearer');
  sendProblem(res, 401, 'Unauthorized', 'Leave Authorization out, or send "Authorization: Bearer tenant-b".');
};
