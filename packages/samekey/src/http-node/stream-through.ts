/**
 * Answers that cannot wait in memory: too large, event streams, explicit flushes, slow ones. Head and body leave as
 * they come; what completes the answer waits for `release`. Meanwhile a copy is kept for the record, as far as it may
 * be (F81).
 *
 * Invariants: the client never sees a complete answer before the record is stored, also when Content-Length says how
 * many bytes to expect; a reader who is gone is a sink, so the source runs to its end (F17, F18); a reader holds no
 * claim: while a copy is kept nothing waits for him (the copy is in memory anyway), and once it is not, the answer is
 * decided at once and the rest has Node's own backpressure.
 *
 * Sources: contract §8.3; RFC 9112 §8 (an incomplete message is seen as incomplete).
 */
import { nextTick } from 'node:process';
import { answerOf, openHead, sendHead, writeChunk } from './captured-answer.ts';
import { bytesOf, type CaptureState, type Chunk, copyChunk, sizeOf } from './capture-state.ts';
import { realSocket } from './socket-view.ts';

/** Whether the answer may leave early: one without a body would be complete with its head. */
export function canStream(c: CaptureState): boolean {
  return c.phase === 'held' && c.headFixed && !c.ended && c.hasBody && c.declared !== 0;
}

/**
 * Sends head and buffered chunks. With `holdLast` the most recent chunk always waits for the next one; without
 * (event streams, explicit flush) only what completes the answer waits. Returns what the last write returned.
 */
export function streamThrough(c: CaptureState, holdLast: boolean): boolean {
  c.timer?.cancel();
  c.phase = 'streaming';
  c.holdLast = holdLast;
  c.copy = c.options.newCopy();
  const chunks = c.chunks;
  c.chunks = [];
  c.size = 0;
  c.inside = true;
  try {
    openHead(c, c.options.streamHeaders?.() ?? []);
  } finally {
    c.inside = false;
  }
  let flowing = true;
  for (const chunk of chunks) flowing = streamChunk(c, chunk, undefined);
  if (!c.passed) sendHead(c);
  return flowing;
}

/** Takes one chunk of a streaming answer; false asks the application to wait for `drain`. */
export function streamChunk(c: CaptureState, chunk: Chunk, callback: (() => void) | undefined): boolean {
  const size = sizeOf(chunk);
  const isKept = size === 0 ? c.copy?.isKept === true : keep(c, chunk);
  // Nor is a reader who does not read waited for by a callback.
  const isAwaited = isKept && callback !== undefined;
  if (isAwaited) nextTick(callback);
  const flowing = isAwaited
    ? forward(c, copyChunk(chunk), size, undefined)
    : forward(c, chunk, size, callback);
  if (!isKept) decideEarly(c);
  // Held in memory either way, so the application is not made to wait.
  if (isKept || flowing) return true;
  c.needDrain = true;
  return false;
}

function forward(c: CaptureState, chunk: Chunk, size: number, callback: (() => void) | undefined): boolean {
  if (isSink(c) || size === 0) {
    // It has no bytes, but the head leaves with it.
    if (size === 0 && !c.passed && !isSink(c)) sendHead(c);
    if (callback !== undefined) nextTick(callback);
    return true;
  }
  const complete = c.declared !== undefined && c.size >= c.declared;
  c.size += size;
  const completes = c.declared !== undefined && c.size >= c.declared;
  if (complete || (c.held.length === 0 && (c.holdLast || completes))) {
    c.held.push(callback === undefined ? chunk : copyChunk(chunk));
    if (callback !== undefined) nextTick(callback);
    return true;
  }
  const [before] = c.held;
  c.held = [];
  if (c.holdLast || completes) {
    c.held.push(callback === undefined ? chunk : copyChunk(chunk));
    return before === undefined || pass(c, before, callback);
  }
  const flowing = before === undefined || pass(c, before, undefined);
  return pass(c, chunk, callback) && flowing;
}

/**
 * The callback of a write says "you may go on": it carries no error, since a reader who left must not stop the handler.
 */
function pass(c: CaptureState, chunk: Chunk, callback: (() => void) | undefined): boolean {
  c.passed = true;
  return writeChunk(c, chunk, callback === undefined ? undefined : () => callback());
}

function keep(c: CaptureState, chunk: Chunk): boolean {
  return c.copy?.isKept === true && c.copy.add(bytesOf(chunk));
}

/** Nothing that is still to come changes what the record holds. */
function decideEarly(c: CaptureState): void {
  if (!c.ended && c.options.isDecidedEarly(c.status)) c.settle({ ...answerOf(c), body: null });
}

function isSink(c: CaptureState): boolean {
  return c.gone || realSocket(c)?.destroyed === true;
}
