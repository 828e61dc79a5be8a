/**
 * An answer after the answer. A time-out in front of a handler answers in its place while the handler is still at work,
 * and nothing of Node tells whose answer it was; but the handler answers too, later, and that is seen (F68). Then the
 * first answer was somebody else's, and the handler's is told to whoever keeps the record.
 *
 * Invariants: only after answers by which time-outs speak (408, 503, 504): a handler that fails and goes on by mistake
 * does not thereby succeed · what is set or written afterwards reaches nobody and throws nothing, as with an attempt
 * that was given up (discard.ts) · a bare second `end()` is no answer, as for Node.
 */
import { ServerResponse } from 'node:http';
import { CAPTURE, type Capturable, type CaptureState } from './capture-state.ts';
import { discard } from './discard.ts';

/** What begins an answer; Node would throw ERR_HTTP_HEADERS_SENT. */
const BEGINS = ['writeHead', 'setHeader', 'setHeaders', 'appendHeader'] as const;

const watched = new WeakSet<ServerResponse>();

/** Whether an answer of the handler's is still looked out for, after one that may have been a time-out's. */
export function isWatchedAfterwards(res: ServerResponse): boolean {
  return watched.has(res);
}

/** Whether a time-out may have given an answer of this status. */
export function mayBeTimeout(status: number): boolean {
  return status === 408 || status === 503 || status === 504;
}

/**
 * Watches a response whose answer has been let go; calls `begun` once with the stand-in on which the handler's own
 * answer is given from now on.
 */
export function watchAfterwards(c: CaptureState, begun: (late: ServerResponse) => void): void {
  const res = c.res as unknown as Record<string, unknown>;
  const sent = c.res.statusCode;
  watched.add(c.res);
  const begin = (): void => {
    watched.delete(c.res);
    for (const name of BEGINS) Reflect.deleteProperty(res, name);
    Object.defineProperty(res, 'statusCode', {
      value: sent,
      writable: true,
      configurable: true,
      enumerable: true,
    });
    const late = new ServerResponse(c.res.req);
    for (const [i, name] of c.baseNames.entries()) late.setHeader(name, c.baseValues[i] ?? '');
    late.statusCode = c.baseStatus;
    // Whoever was to hear of a client that has left has heard of it.
    c.gone = false;
    begun(late);
    (c.res as Capturable)[CAPTURE] = c;
    Object.assign(c.res, c.overrides);
    discard(c, late);
  };
  for (const name of BEGINS) {
    res[name] = (...args: unknown[]): unknown => {
      begin();
      return (res[name] as (...all: unknown[]) => unknown)(...args);
    };
  }
  Object.defineProperty(res, 'statusCode', {
    configurable: true,
    enumerable: true,
    get: () => sent,
    set: (status: number) => {
      begin();
      c.res.statusCode = status;
    },
  });
}
