/**
 * Captures the answer a handler gives on a `ServerResponse`, whichever way it gives it, and holds it until its record
 * is stored: what is acknowledged can be replayed (contract §8.3; F2, F17, F18, F38–F41).
 *
 * Invariants: nothing of an answer reaches the socket before `release` or `replace`, except that answers which cannot
 * wait stream through, and then all but what completes them; the application sees Node's own behaviour throughout;
 * 1xx answers pass; after the answer has been let go the response has no override left.
 *
 * Sources: https://nodejs.org/docs/latest-v20.x/api/http.html#class-httpserverresponse; RFC 9110 §15.2 (1xx);
 * RFC 9112 §6 (framing).
 */
import type { ServerResponse } from 'node:http';
import type { HeaderLine, StoredResponse } from '../core/response.ts';
import { mayBeTimeout, watchAfterwards } from './afterwards.ts';
import { answerOf, openHead, replayCalls, sendHead } from './captured-answer.ts';
import { headerValue, restoreHeaders } from './baseline.ts';
import {
  CAPTURE,
  type Capturable,
  type CaptureEnd,
  type CapturedAnswer,
  type CaptureOptions,
  type CaptureState,
  captureOf,
  type Methods,
} from './capture-state.ts';
import { breakOff } from './client-gone.ts';
import { catchUp, discard, standIn } from './discard.ts';
import { setLines } from './header-lines.ts';
import { letGo, OVERRIDDEN } from './let-go.ts';
import { playNothing, playOpen, rawHeaderNames, swapOnFinished } from './node-state.ts';
import { OVERRIDES } from './overrides.ts';
import { sendAnswer } from './send-held.ts';
import { hideSocket, showSocket } from './socket-view.ts';

export type { CaptureEnd, CapturedAnswer, CaptureOptions } from './capture-state.ts';

/**
 * The hold on one response. Exactly one of `release`, `replace`, `drop`, `part` and `destroy` is to be called in the
 * end.
 */
export interface Capture {
  /**
   * Resolves when the application has ended its answer, or given it up by `res.destroy()`. Never rejects; never
   * resolves for a handler that never answers.
   */
  readonly ended: Promise<CaptureEnd>;
  /**
   * The answer as decided by its head so far (`body` null), or null while there is no head. `streamed` tells whether
   * the client has that head: an attempt at its time limit is then settled by it (F18).
   */
  headAnswer(): CapturedAnswer | null;
  /**
   * Lets the answer go, with header lines added if its head has not left yet. Before the application has ended, what
   * there is goes and the rest follows as Node does it by itself. Throws what outer middleware's hooks throw.
   */
  release(extraHeaders?: readonly HeaderLine[]): void;
  /**
   * Sends `answer` instead, keeping the headers that were there before the capture. A handler that has not ended may go
   * on: `ended` still tells its answer, which goes nowhere. An answer whose head has left cannot be replaced: its
   * connection is destroyed.
   */
  replace(answer: StoredResponse): void;
  /**
   * Takes an ended answer off the response, for a framework that sends it by itself: the response is as it was before.
   * False, and nothing is changed: some of it has left.
   */
  drop(): boolean;
  /**
   * Parts the handler from the response, which is as it was before and somebody else's from now on. Gives the stand-in
   * on which the handler is to answer: `ended` tells that answer. Null: the handler has begun to answer.
   */
  part(): ServerResponse | null;
  /** Destroys the connection: the client sees an incomplete answer, never a wrong one. */
  destroy(): void;
}

/**
 * Captures what is answered on `res` from now on. To be called before the handler runs, on a response whose head is not
 * fixed, once per response.
 */
export function captureResponse(res: ServerResponse, options: CaptureOptions): Capture {
  return new ResponseCapture(res, options);
}

class ResponseCapture implements Capture {
  readonly ended: Promise<CaptureEnd>;
  readonly #state: CaptureState;

  constructor(res: ServerResponse, options: CaptureOptions) {
    const c = capture(res, options);
    this.#state = c;
    this.ended = new Promise((resolve) => {
      c.settle = resolve;
    });
  }

  headAnswer(): CapturedAnswer | null {
    const c = this.#state;
    return c.headFixed ? { ...answerOf(c), body: null } : null;
  }

  release(extraHeaders: readonly HeaderLine[] = []): void {
    const c = this.#state;
    if (c.phase === 'over' || c.phase === 'discarding') return;
    const streamed = c.phase === 'streaming';
    letGo(c);
    if (streamed) {
      playNothing(c.res);
      replayCalls(c, c.held);
      this.#watch();
      return;
    }
    if (!c.headFixed) {
      setLines(c.res, extraHeaders);
      return;
    }
    try {
      openHead(c, extraHeaders);
      if (c.leavesWith === 'a flush') sendHead(c);
      replayCalls(c, c.chunks);
    } catch (error) {
      // What Node refuses now is nobody's any more: its client must not wait for it.
      c.res.destroy();
      throw error;
    }
    this.#watch();
  }

  #watch(): void {
    const c = this.#state;
    const { onLateAnswer } = c.options;
    if (onLateAnswer === undefined || !c.ended || !mayBeTimeout(c.status)) return;
    watchAfterwards(c, (late) => {
      void captureLate(late, c.options).then(onLateAnswer);
    });
  }

  replace(answer: StoredResponse): void {
    const c = this.#state;
    if (c.phase === 'over' || c.phase === 'discarding') return;
    if (c.phase === 'streaming') {
      this.destroy();
      return;
    }
    c.timer?.cancel();
    const late = c.ended ? null : standIn(c);
    restoreHeaders(c);
    if (late === null) letGo(c);
    else showSocket(c);
    sendAnswer(c.res, answer, c.original);
    if (late !== null) this.#goOn(late);
    c.chunks = [];
  }

  /** What the handler answers from now on is its answer all the same; only nobody waits for it. */
  #goOn(late: ServerResponse): void {
    const c = this.#state;
    const ended = captureLate(late, c.options);
    catchUp(c, late);
    discard(c, late);
    void ended.then((end) => c.settle(end));
  }

  drop(): boolean {
    const c = this.#state;
    if (c.phase !== 'held' || !c.ended) return false;
    restoreHeaders(c);
    letGo(c);
    return true;
  }

  part(): ServerResponse | null {
    const c = this.#state;
    if (c.phase !== 'held' || c.headFixed) return null;
    const late = standIn(c);
    restoreHeaders(c);
    c.res.statusCode = c.baseStatus;
    letGo(c);
    // A body that was too large to keep has reached nobody.
    void captureLate(late, c.options).then((end) => c.settle(isLost(end) ? lost(end) : end));
    return late;
  }

  destroy(): void {
    const c = this.#state;
    if (c.phase === 'over') return;
    playNothing(c.res);
    letGo(c);
    c.res.destroy();
  }
}

/**
 * For adapters: the handler of this response threw. If it had begun to answer, the end of the connection is the end of
 * its answer, as Express ends it; if it ends its answer all the same, that is the answer.
 */
export function noteThrown(res: ServerResponse, error: unknown): void {
  const c = captureOf(res);
  if (c === undefined || !c.headFixed || c.ended || c.phase === 'over') return;
  c.thrown = { error };
  // The client has left before: nobody will tell of the end again.
  if (c.gone) setImmediate(() => breakOff(c));
}

/** Captures an answer that reaches nobody, on a stand-in. */
async function captureLate(late: ServerResponse, options: CaptureOptions): Promise<CaptureEnd> {
  const { ended } = captureResponse(late, { ...options, onLateAnswer: undefined });
  // Told at once, so that nothing waits for a reader: an answer too large to keep is swallowed.
  late.emit('close');
  const end = await ended;
  captureOf(late)?.copy?.drop();
  // For the callback of its `end`: there is nothing left to send.
  late.emit('finish');
  return end;
}

function isLost(end: CaptureEnd): end is CapturedAnswer {
  return end.kind === 'answer' && end.body === null;
}

function lost(answer: CapturedAnswer): CaptureEnd {
  return { kind: 'failed', error: new Error('The body was too large to be kept.'), answer };
}

/** Until the promise is made, in the next statement. */
function nobody(): void {}

function capture(res: ServerResponse, options: CaptureOptions): CaptureState {
  const { writeHead, write, end, flushHeaders, addTrailers, destroy, emit } = res as unknown as Methods;
  const baseNames = rawHeaderNames(res);
  const baseValues = baseNames.map((name) => headerValue(res, name));
  for (const [name, value] of Object.entries(options.outer ?? {})) {
    if (value === undefined || res.hasHeader(name)) continue;
    baseNames.push(name);
    baseValues.push(value);
  }
  let ownBefore = 0;
  for (let i = 0; i < OVERRIDDEN.length; i++) {
    if (Object.hasOwn(res, OVERRIDDEN[i] as string)) ownBefore |= 1 << i;
  }
  const c: CaptureState = {
    res,
    options,
    original: { writeHead, write, end, flushHeaders, addTrailers, destroy, emit },
    overrides: OVERRIDES,
    ownBefore,
    baseNames,
    baseValues,
    baseSendDate: res.sendDate,
    baseStatus: res.statusCode,
    outerFinishListeners: res.listenerCount('finish'),
    outerOnFinished: swapOnFinished(res, null),
    settle: nobody,
    goneBefore: res.destroyed,
    phase: 'held',
    ended: false,
    gone: false,
    headFixed: false,
    ending: false,
    headByEnd: false,
    status: 0,
    statusMessage: '',
    reason: undefined,
    raw: undefined,
    lines: [],
    hasBody: true,
    declared: undefined,
    eventStream: false,
    hasTrailerField: false,
    chunkedField: false,
    leavesWith: undefined,
    chunks: [],
    size: 0,
    endChunk: false,
    trailers: [],
    timer: undefined,
    copy: null,
    thrown: null,
    holdLast: false,
    held: [],
    passed: false,
    needDrain: false,
    socketHidden: false,
    socket: undefined,
    view: undefined,
    late: undefined,
    inside: false,
  };
  if (c.goneBefore) playOpen(res);
  // Redefining `socket` turns the response into a table, where what is added costs nothing (node-exchange.ts); so it
  // comes first.
  hideSocket(c);
  (res as Capturable)[CAPTURE] = c;
  Object.assign(res, OVERRIDES);
  return c;
}
