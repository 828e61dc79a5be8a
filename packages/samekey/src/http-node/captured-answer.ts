/**
 * Turns what the application did into the answer that is recorded, and lets the same calls loose on the real response.
 *
 * Invariant: the calls that reach Node are those the application made, with the arguments it made them with (plus
 * header lines of ours), so that framing and head encoding are Node's own choice in both cases.
 *
 * Sources: RFC 9112 §6 and §7.1.2 (chunked coding, trailers); Node's lib/_http_outgoing.js for the encoding of a head.
 */
import { ServerResponse } from 'node:http';
import type { HeaderLine } from '../core/response.ts';
import {
  bytesOf,
  type CapturedAnswer,
  type CaptureFailed,
  type CaptureState,
  type Chunk,
  type Methods,
  type NodeMethod,
  type RawHead,
} from './capture-state.ts';
import { isChunked } from './head.ts';
import { linesOfResponse, setLines, withLines } from './header-lines.ts';
import { playNothing } from './node-state.ts';

const { write: NODE_WRITE } = ServerResponse.prototype as unknown as Methods;
const EMPTY = new Uint8Array(0);

/** The answer as ended by the application, or by its head alone when it has not ended. */
export function answerOf(c: CaptureState): CapturedAnswer {
  return {
    kind: 'answer',
    status: c.status,
    statusMessage: c.statusMessage,
    headers: wireLines(c),
    body: c.ended ? keptBody(c) : null,
    trailers: isChunked(c) ? c.trailers : [],
    streamed: c.phase === 'streaming',
  };
}

/** The end of an answer that the application gave up: the status it had given decides (F104). */
export function brokenEnd(c: CaptureState, error: unknown): CaptureFailed {
  if (c.headFixed) return { kind: 'failed', error, answer: { ...answerOf(c), body: null } };
  if (c.res.statusCode === c.baseStatus) return { kind: 'failed', error, answer: null };
  linesOfResponse(c);
  const { statusCode: status, statusMessage } = c.res;
  return { kind: 'failed', error, answer: { ...answerOf(c), status, statusMessage, body: null } };
}

/** Notes what the head leaves with, which is the first chunk unless it was flushed before. */
export function noteFirst(c: CaptureState, chunk: Chunk): void {
  if (c.leavesWith !== undefined || !c.hasBody) return;
  const isText =
    typeof chunk.data === 'string' && (chunk.encoding === undefined || chunk.encoding === 'utf8');
  // The size of a chunk comes before it, in latin1; an empty one has none.
  const isAfterSize = isChunked(c) && chunk.data.length > 0;
  c.leavesWith = isText && !isAfterSize ? 'text' : 'bytes';
}

/** Sends a head that was flushed, or whose first chunk stays behind, as Node would have sent it. */
export function sendHead(c: CaptureState): void {
  if (c.leavesWith === undefined) return;
  c.inside = true;
  try {
    if (c.leavesWith === 'a flush') c.original.flushHeaders.call(c.res);
    // Node's own: whoever compresses in front would keep an empty chunk back.
    else NODE_WRITE.call(c.res, c.leavesWith === 'text' ? '' : EMPTY);
  } finally {
    c.inside = false;
  }
}

/** Gives the real response the head; a head fixed by `end` is left to Node's `end`, which knows the length. */
export function openHead(c: CaptureState, extra: readonly HeaderLine[]): void {
  const { res } = c;
  playNothing(res);
  res.statusCode = c.status;
  res.statusMessage = c.statusMessage;
  if (c.raw === undefined) setLines(res, extra);
  if (c.headByEnd) return;
  const { writeHead } = c.original;
  const headers: RawHead | undefined = c.raw === undefined ? undefined : withLines(c.raw, extra);
  if (c.reason === undefined) writeHead.call(res, c.status, headers);
  else writeHead.call(res, c.status, c.reason, headers);
}

/** Makes the calls of body and end on the real response. */
export function replayCalls(c: CaptureState, chunks: readonly Chunk[]): void {
  const { res, original } = c;
  const last = c.ended && c.endChunk ? chunks.at(-1) : undefined;
  for (const chunk of chunks) if (chunk !== last) writeChunk(c, chunk);
  if (!c.ended) return;
  const methods = res as { writeHead: NodeMethod };
  const top = methods.writeHead;
  // Node's end calls res.writeHead: patches laid over ours have had their turn already.
  if (c.headByEnd && top !== original.writeHead) methods.writeHead = original.writeHead;
  if (last === undefined) original.end.call(res);
  else original.end.call(res, last.data, last.encoding);
  if (methods.writeHead !== top) methods.writeHead = top;
}

/** Writes one chunk to the real response. */
export function writeChunk(c: CaptureState, chunk: Chunk, callback?: () => void): boolean {
  c.inside = true;
  try {
    return c.original.write.call(c.res, chunk.data, chunk.encoding, callback);
  } finally {
    c.inside = false;
  }
}

function keptBody(c: CaptureState): Uint8Array | null {
  if (!c.hasBody) return EMPTY;
  if (c.copy !== null) return c.copy.bytes();
  return c.size <= c.options.responseSizeMaxBytes ? bodyOf(c.chunks) : null;
}

function bodyOf(chunks: readonly Chunk[]): Uint8Array {
  const [first] = chunks;
  if (first === undefined) return EMPTY;
  return chunks.length === 1 ? bytesOf(first) : Buffer.concat(chunks.map(bytesOf));
}

// oxlint-disable-next-line no-control-regex
const NON_ASCII = /[^\x00-\x7f]/;

/**
 * Header values as octets. Node writes a head that leaves together with a UTF-8 string, or by a flush, as UTF-8, any
 * other as latin1, and mangles Content-Disposition once it knows a length; a replay of bytes must look like what the
 * first client saw.
 */
function wireLines(c: CaptureState): readonly HeaderLine[] {
  if (!c.lines.some((line) => NON_ASCII.test(line[1]))) return c.lines;
  const utf8 = c.leavesWith === 'a flush' || c.leavesWith === 'text';
  let lengthKnown = c.headByEnd && c.size > 0;
  return c.lines.map(([name, value]): HeaderLine => {
    const field = name.toLowerCase();
    lengthKnown ||= field === 'content-length' && Number(value) > 0;
    const seen =
      lengthKnown && field === 'content-disposition' ? Buffer.from(value, 'latin1').toString() : value;
    return [name, Buffer.from(seen, utf8 ? 'utf8' : 'latin1').toString('latin1')];
  });
}
