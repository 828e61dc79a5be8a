/**
 * A handler that goes on answering after its answer was thrown away (the time limit of the attempt was met, or its fence
 * was lost, and `replace` has sent something else). It must neither reach the client nor throw: an
 * ERR_HTTP_HEADERS_SENT out of an asynchronous handler would end the process.
 *
 * Invariant: until the handler ends its answer, every method that changes one is a no-op for it; `headersSent` tells the
 * handler's own story.
 */
import type { ServerResponse } from 'node:http';
import { type CaptureState, captureOf } from './capture-state.ts';

const SETTERS = ['setHeader', 'setHeaders', 'appendHeader', 'removeHeader'] as const;

const HEADERS_SENT: PropertyDescriptor & ThisType<ServerResponse> = {
  configurable: true,
  enumerable: false,
  get(): boolean {
    return captureOf(this)?.headFixed ?? true;
  },
};

/** From here on the handler answers into the void. */
export function discard(c: CaptureState): void {
  c.phase = 'discarding';
  c.headFixed = false;
  for (const name of SETTERS) (c.res as unknown as Record<string, unknown>)[name] = returnThis;
  Object.defineProperty(c.res, 'headersSent', HEADERS_SENT);
}

/** The handler has ended. */
export function undiscard(c: CaptureState): void {
  for (const name of [...SETTERS, 'headersSent']) delete (c.res as unknown as Record<string, unknown>)[name];
}

function returnThis(this: ServerResponse): ServerResponse {
  return this;
}
