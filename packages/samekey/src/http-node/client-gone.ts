/**
 * A client that hangs up cancels nothing (F17): until the answer has been let go, the application does not hear of it,
 * so `pipe`, `pipeline` and `sendFile` run to their end and the answer is recorded as if the client were there (F18).
 *
 * Invariants: `close` reaches the listeners exactly once; `finish` is only ever told to listeners the application added
 * while captured, since Node's own `finish` listener frees the connection and must run at most once.
 *
 * Sources: https://nodejs.org/docs/latest-v20.x/api/http.html#event-close_2; lib/_http_server.js (emitCloseNT).
 */
import { brokenEnd } from './captured-answer.ts';
import type { CaptureState } from './capture-state.ts';
import { markClosed, playOpen } from './node-state.ts';

/** Keeps a `close` from the application and makes the response look alive again. */
export function withholdClose(c: CaptureState): boolean {
  c.gone = true;
  if (c.thrown !== null) breakOff(c);
  playOpen(c.res);
  // A writer that waits for a reader who will never read again.
  if (c.needDrain) c.res.emit('drain');
  return true;
}

/** A handler that threw after it had begun to answer, and whose connection is gone, ends here. */
export function breakOff(c: CaptureState): void {
  if (!c.ended && c.thrown !== null) c.settle(brokenEnd(c, c.thrown.error));
}

/** Tells the application, after the calls that let the answer go, what it would have heard. */
export function deliverClose(c: CaptureState): void {
  const { res } = c;
  let finished = false;
  res.once('finish', () => {
    finished = true;
  });
  // After Node's own nextTick chain, which may still emit finish.
  setImmediate(() => {
    if (c.ended && !finished) {
      for (const listener of res.rawListeners('finish').slice(c.outerFinishListeners)) listener.call(res);
    }
    if (markClosed(res)) res.emit('close');
  });
}
