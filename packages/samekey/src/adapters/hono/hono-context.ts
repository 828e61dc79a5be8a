/**
 * What the adapter needs of Hono's context, and what bites there: setting `c.res` twice merges the headers of both
 * answers, and `c.executionCtx` throws where the runtime has none.
 */

import { OptionsError } from '../../core/errors.ts';
import type { MatchedRoute } from '../../core/operation.ts';
import type { HeaderLine } from '../../core/response.ts';

/** The context of Hono, as far as it is used: whichever copy of Hono it comes from. */
export interface HonoContext {
  readonly req: { raw: Request; readonly method: string };
  get res(): Response;
  set res(response: Response | undefined);
  finalized: boolean;
  /** What the handler threw and `onError` has answered. */
  readonly error: Error | undefined;
  newResponse(body: null): Response;
}

/**
 * What outer middleware has set. Asked without naming `c.res`, which would make a response and change what handlers
 * see.
 */
export function outerHeaders(c: HonoContext): readonly HeaderLine[] {
  return [...c.newResponse(null).headers];
}

/** The field lines as they came, in pairs, on servers of Node; null where the platform has joined them. */
export function rawHeadersOf(c: HonoContext): readonly string[] | null {
  const { env } = c as { readonly env?: { readonly incoming?: { readonly rawHeaders?: unknown } } };
  const raw = env?.incoming?.rawHeaders;
  return Array.isArray(raw) ? (raw as string[]) : null;
}

/** Makes it the answer, instead of whatever was there. */
export function setAnswer(c: HonoContext, response: Response): void {
  if (c.finalized && c.res === response) return;
  c.res = undefined;
  c.res = response;
}

/** Takes the handler's answer back, so that nothing of it is merged into what `onError` makes of an error of ours. */
export function setError(c: HonoContext, outer: readonly HeaderLine[]): void {
  if (!c.finalized) return;
  const headers = new Headers();
  for (const [name, value] of outer) headers.append(name, value);
  c.res = undefined;
  c.res = new Response(null, { headers });
}

/** The runtime's own context, where it has one: a Worker's `ctx`. */
export function executionOf(c: HonoContext): { waitUntil(work: Promise<unknown>): void } | null {
  try {
    return (
      (c as { readonly executionCtx?: { waitUntil(work: Promise<unknown>): void } }).executionCtx ?? null
    );
  } catch {
    return null;
  }
}

/** Hono's own record of what has matched; its helper for it would have to be imported. */
interface Matched {
  readonly routeIndex: number;
  readonly matchedRoutes?: readonly { readonly path: string; readonly method: string }[];
}

/**
 * The route at which the middleware stands, mounts included. Null where it covers a whole app or a part of one
 * (`app.use('/api/*', …)`): the routes below are one operation then, and the path counts by the fingerprint alone. The
 * handler's own pattern is not taken there, although Hono knows it: a handler or wildcard added later would change the
 * operation's name, and with it run a retry twice. Throws `OptionsError` where Hono does not tell and the operation has
 * no name.
 */
export function matchedRoute(c: HonoContext, isNamed: boolean): MatchedRoute | null {
  const { routeIndex, matchedRoutes } = c.req as unknown as Matched;
  const route = matchedRoutes?.[routeIndex];
  if (route === undefined) {
    if (isNamed) return null;
    throw new OptionsError('This version of Hono does not tell which route has matched: name the operation.');
  }
  const isForAll = route.method === 'ALL';
  if (isForAll && route.path.endsWith('*')) return null;
  // Letter case counts in Hono.
  return { pattern: route.path, mount: '', fitsPath: true, foldsCase: false, isForMethod: !isForAll };
}
