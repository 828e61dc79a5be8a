/**
 * A handler that goes on answering after something else was sent in its place (the time limit of the attempt was met).
 * Its answer must not reach the client nor throw (an ERR_HTTP_HEADERS_SENT out of an asynchronous handler would end the
 * process), but it is an answer: the record may still take it (contract §8.5). It goes to a stand-in, a response of the
 * same request whose client is gone.
 *
 * Invariant: until the handler ends, every method that makes or asks about an answer is the stand-in's; what was really
 * sent shows in `statusCode` alone, for logs.
 */
import { ServerResponse } from 'node:http';
import { type CaptureState, captureOf } from './capture-state.ts';
import { rawHeaderNames } from './node-state.ts';

/** What is asked of headers; the overrides of a capture pass the rest on. */
const HEADER_METHODS = [
  'setHeader',
  'setHeaders',
  'appendHeader',
  'removeHeader',
  'getHeader',
  'getHeaders',
  'getHeaderNames',
  'getRawHeaderNames',
  'hasHeader',
] as const;
const OWN = [...HEADER_METHODS, 'headersSent', 'statusCode'] as const;

/** The stand-in, with the head as the handler has left it so far. To be called before the head is changed. */
export function standIn({ res }: CaptureState): ServerResponse {
  const copy = new ServerResponse(res.req);
  for (const name of rawHeaderNames(res)) copy.setHeader(name, res.getHeader(name) ?? '');
  copy.statusCode = res.statusCode;
  if (res.statusMessage) copy.statusMessage = res.statusMessage;
  return copy;
}

/** Makes the calls on the stand-in that the handler has made so far. */
export function catchUp(c: CaptureState, late: ServerResponse): void {
  if (!c.headFixed) return;
  const headers = (c.raw ?? []) as string[];
  if (c.reason === undefined) late.writeHead(c.status, headers);
  else late.writeHead(c.status, c.reason, headers);
  for (const { data, encoding } of c.chunks) late.write(data, encoding ?? 'utf8');
}

/** From here on the handler answers on the stand-in. */
export function discard(c: CaptureState, late: ServerResponse): void {
  c.phase = 'discarding';
  c.late = late;
  const { res } = c;
  const own = res as unknown as Record<string, unknown>;
  const methods = late as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const name of HEADER_METHODS) {
    own[name] = (...args: unknown[]): unknown => {
      const result = methods[name]?.(...args);
      return result === late ? res : result;
    };
  }
  Object.defineProperty(res, 'headersSent', { configurable: true, get: () => late.headersSent });
  const sent = res.statusCode;
  Object.defineProperty(res, 'statusCode', {
    configurable: true,
    enumerable: true,
    get: () => sent,
    set: (status: number) => {
      late.statusCode = status;
    },
  });
}

/** The handler has ended. */
export function undiscard(c: CaptureState): void {
  const sent = c.res.statusCode;
  for (const name of OWN) delete (c.res as unknown as Record<string, unknown>)[name];
  c.res.statusCode = sent;
}

/** The stand-in of a response whose handler goes on into the void; undefined for any other. */
export function lateOf(res: ServerResponse): ServerResponse | undefined {
  const c = captureOf(res);
  return c?.phase === 'discarding' ? c.late : undefined;
}
