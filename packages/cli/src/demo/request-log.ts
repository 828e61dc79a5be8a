/**
 * One line per request, with what Samekey made of it. Samekey tells outcomes as events; the request they belong to is
 * the one whose asynchronous context they are told in.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestHandler } from 'express';
import type { EventListener, OutcomeKind } from 'samekey';

/** What is known of a request when it is over. */
export interface RequestSeen {
  readonly method: string;
  readonly path: string;
  /** Null when the client hung up before the answer. */
  readonly status: number | null;
  /** Null for requests that are not protected. */
  readonly outcome: OutcomeKind | null;
  /** Null when the handler did not run. */
  readonly attempt: number | null;
  /** By `performance.now()`. */
  readonly startedAt: number;
  readonly durationMs: number;
}

/** The middleware, and the listener for `createSamekey`. */
interface RequestLog {
  readonly middleware: RequestHandler;
  readonly onEvent: EventListener;
}

/** What is told while a request is on its way. */
interface Trace {
  outcome: OutcomeKind | null;
  attempt: number | null;
}

/** Makes a log that hands every finished request to `print`. */
export function createRequestLog(print: (seen: RequestSeen) => void): RequestLog {
  const current = new AsyncLocalStorage<Trace>();
  return {
    middleware(req, res, next) {
      const trace: Trace = { outcome: null, attempt: null };
      const startedAt = performance.now();
      const { method, path } = req;
      let answered = false;
      res.once('finish', () => {
        answered = true;
      });
      // When the client hangs up, Samekey keeps `close` back until the payment is recorded.
      res.once('close', () => {
        print({
          method,
          path,
          status: answered ? res.statusCode : null,
          outcome: trace.outcome,
          attempt: trace.attempt,
          startedAt,
          durationMs: performance.now() - startedAt,
        });
      });
      current.run(trace, next);
    },
    onEvent(event) {
      const trace = current.getStore();
      if (trace === undefined) return;
      if (event.type === 'outcome') trace.outcome = event.kind;
      if (event.type === 'claimed') trace.attempt = event.attempt;
    },
  };
}
