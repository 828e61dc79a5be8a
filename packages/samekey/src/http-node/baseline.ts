/**
 * What outer middleware (CORS, request id, sessions) had put on the response before the capture: it belongs to this
 * request, not to the answer of the handler, and survives when that answer is replaced.
 *
 * Invariant: afterwards the response has no head, no trailers and exactly the headers of before.
 */
import type { ServerResponse } from 'node:http';
import type { CaptureState, HeaderValue } from './capture-state.ts';
import { forgetRemovals, playNothing } from './node-state.ts';

/** A header's value; lists are copied, since `appendHeader` changes them in place. */
export function headerValue(res: ServerResponse, name: string): HeaderValue {
  const value = res.getHeader(name);
  return Array.isArray(value) ? [...value] : (value ?? '');
}

/** Takes back whatever the handler has set. */
export function restoreHeaders(c: CaptureState): void {
  const { res } = c;
  playNothing(res);
  c.original.addTrailers.call(res, {});
  const before = new Set(c.baseNames.map((name) => name.toLowerCase()));
  for (const name of res.getHeaderNames()) if (!before.has(name)) res.removeHeader(name);
  for (const [i, name] of c.baseNames.entries()) res.setHeader(name, c.baseValues[i] as string);
  forgetRemovals(res);
  res.sendDate = c.baseSendDate;
  res.statusMessage = '';
}
