/**
 * The methods that stand on a captured response in place of Node's. They are shared, not closures: the state of the
 * capture is found on `this`. Whatever Node would throw or emit for misuse is left to Node's own method, which sees a
 * fixed head (`_header`) and an ended answer (`finished`) and refuses as always.
 *
 * Invariant: the head is fixed through `this.writeHead`, as Node's `_implicitHeader` does, so that patches laid over
 * ours (on-headers, compression) get their turn exactly once.
 *
 * Source: https://nodejs.org/docs/latest-v20.x/api/http.html#class-httpserverresponse
 */
import { ServerResponse } from 'node:http';
import { nextTick } from 'node:process';
import { isUint8Array } from 'node:util/types';
import { answerOf, brokenEnd, noteFirst, sendHead } from './captured-answer.ts';
import {
  type CaptureState,
  type Chunk,
  captureOf,
  copyChunk,
  type Methods,
  type NodeMethod,
  sizeOf,
} from './capture-state.ts';
import { withholdClose } from './client-gone.ts';
import { lateOf } from './discard.ts';
import { fixHead } from './head.ts';
import { trailerLines } from './header-lines.ts';
import { letGo } from './let-go.ts';
import { playEnded } from './node-state.ts';
import { canStream, streamChunk, streamThrough } from './stream-through.ts';

type Callback = () => void;

/** Node's own methods. */
const NODE = ServerResponse.prototype as unknown as Methods;

/** The methods to lay over a response, shared by all captures. */
export const OVERRIDES: Methods = {
  writeHead,
  write,
  end,
  flushHeaders,
  addTrailers,
  destroy,
  emit,
};

/** A response whose capture still decides. */
function deciding(res: ServerResponse): CaptureState | undefined {
  const c = captureOf(res);
  return c === undefined || c.phase === 'over' ? undefined : c;
}

/** What stood there before, for a patch that kept hold of our function after the capture was over. */
function before(res: ServerResponse, name: keyof Methods): NodeMethod {
  return captureOf(res)?.original[name] ?? NODE[name];
}

function writeHead(
  this: ServerResponse,
  status: unknown,
  reason?: unknown,
  headers?: unknown,
): ServerResponse {
  const c = deciding(this);
  if (c === undefined) return before(this, 'writeHead').call(this, status, reason, headers);
  const late = lateOf(this);
  if (late !== undefined) {
    callOn(late, 'writeHead', status, reason, headers);
    return this;
  }
  // Node's own refusal: ERR_HTTP_HEADERS_SENT.
  if (c.headFixed) return NODE.writeHead.call(this, status);
  fixHead(c, status, reason, headers);
  if (c.ending) return this;
  if (c.eventStream && canStream(c)) streamThrough(c, false);
  else if (canStream(c)) startTimer(c);
  return this;
}

function write(this: ServerResponse, chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
  const c = deciding(this);
  if (c === undefined) return before(this, 'write').call(this, chunk, encoding, callback);
  const late = lateOf(this);
  if (late !== undefined) return callOn(late, 'write', chunk, encoding, callback) as boolean;
  const done = (typeof encoding === 'function' ? encoding : callback) as Callback | undefined;
  if (c.ended || this.destroyed || !isChunk(chunk)) {
    return NODE.write.call(this, chunk, encoding, callback);
  }
  implicitHead(c);
  if (c.hasBody) return take(c, { data: chunk, encoding: codingOf(chunk, encoding) }, done);
  if (done !== undefined) nextTick(done);
  return true;
}

function end(this: ServerResponse, chunk?: unknown, encoding?: unknown, callback?: unknown): ServerResponse {
  const c = deciding(this);
  if (c === undefined) return before(this, 'end').call(this, chunk, encoding, callback);
  const late = lateOf(this);
  if (late !== undefined) {
    callOn(late, 'end', chunk, encoding, callback);
    if (late.writableEnded) letGo(c);
    return this;
  }
  // Ended already, or nothing Node can write: Node's own refusal, or its patience with a second end.
  if (c.ended) return NODE.end.call(this, chunk, encoding, callback);
  if (chunk && typeof chunk !== 'function' && !isChunk(chunk)) {
    return NODE.write.call(this, chunk);
  }
  const data = isChunk(chunk) && chunk.length > 0 ? chunk : undefined;
  const done = [chunk, encoding, callback].find((one) => typeof one === 'function') as Callback | undefined;
  c.ending = !c.headFixed;
  try {
    implicitHead(c);
  } finally {
    c.ending = false;
  }
  if (done !== undefined) this.once('finish', done);
  c.timer?.cancel();
  // A body that Node will drop still tells it a length, where it decides the head.
  if (data !== undefined && (c.hasBody || c.headByEnd)) {
    // Whatever came with the end waits for the release.
    const last = { data, encoding: codingOf(data, encoding) };
    noteFirst(c, last);
    c.holdLast = true;
    if (c.phase === 'streaming') streamChunk(c, last, undefined);
    else keep(c, last);
    c.endChunk = true;
  }
  c.ended = true;
  playEnded(this);
  c.settle(answerOf(c));
  return this;
}

function flushHeaders(this: ServerResponse): void {
  const c = deciding(this);
  if (c === undefined) return before(this, 'flushHeaders').call(this);
  const late = lateOf(this);
  if (late !== undefined) return late.flushHeaders();
  implicitHead(c);
  c.leavesWith ??= 'a flush';
  if (canStream(c)) streamThrough(c, false);
  else if (c.phase === 'streaming') sendHead(c);
}

function addTrailers(this: ServerResponse, trailers: object): void {
  const c = deciding(this);
  const late = lateOf(this);
  if (late !== undefined) return void callOn(late, 'addTrailers', trailers);
  // Node checks them and keeps them for the end; nothing is sent.
  before(this, 'addTrailers').call(this, trailers);
  if (c !== undefined) c.trailers = trailerLines(trailers);
}

function destroy(this: ServerResponse, error?: Error): ServerResponse {
  const c = deciding(this);
  if (c === undefined) return before(this, 'destroy').call(this, error);
  const late = lateOf(this);
  if (late !== undefined) {
    late.destroy(error);
    letGo(c);
    return this;
  }
  if (!c.ended) {
    c.settle(brokenEnd(c, error));
    c.timer?.cancel();
    letGo(c);
  }
  c.original.destroy.call(this, error);
  return this;
}

function emit(this: ServerResponse, event: string | symbol, ...args: unknown[]): boolean {
  const c = deciding(this);
  if (event === 'close' && c !== undefined && c.phase !== 'discarding') return withholdClose(c);
  return before(this, 'emit').call(this, event, ...args);
}

/** Calls a method with its arguments as they came: the overloads are sorted out there. */
function callOn(res: ServerResponse, name: keyof Methods, ...args: unknown[]): unknown {
  return (res as unknown as Methods)[name].apply(res, args);
}

function startTimer(c: CaptureState): void {
  c.timer = c.options.setTimer(c.options.bufferTimeMaxMs, () => {
    if (canStream(c)) streamThrough(c, true);
  });
}

function implicitHead(c: CaptureState): void {
  if (c.headFixed) return;
  c.res.writeHead(c.res.statusCode);
  if (!c.headFixed) fixHead(c, c.res.statusCode);
}

function take(c: CaptureState, chunk: Chunk, done: Callback | undefined): boolean {
  noteFirst(c, chunk);
  if (c.phase === 'streaming') return streamChunk(c, chunk, done);
  keep(c, done === undefined ? chunk : copyChunk(chunk));
  if (done !== undefined) nextTick(done);
  return c.size > c.options.responseSizeMaxBytes && canStream(c) ? streamThrough(c, true) : true;
}

function keep(c: CaptureState, chunk: Chunk): void {
  c.chunks.push(chunk);
  c.size += sizeOf(chunk);
}

function isChunk(chunk: unknown): chunk is string | Uint8Array {
  return typeof chunk === 'string' || isUint8Array(chunk);
}

function codingOf(data: string | Uint8Array, encoding: unknown): BufferEncoding | undefined {
  if (typeof data !== 'string' || typeof encoding !== 'string') return undefined;
  if (Buffer.isEncoding(encoding)) return encoding;
  throw Object.assign(new TypeError(`Unknown encoding: ${encoding}`), { code: 'ERR_UNKNOWN_ENCODING' });
}
