/* oxlint-disable no-underscore-dangle -- the one module that touches these properties */
/**
 * The state of a `ServerResponse` as Node and the frameworks of the field read it, which a capture has to play.
 *
 * Beside documented properties a few underscored ones are used: `_header` (non-null = head is fixed; makes
 * `headersSent`, `setHeader`, `appendHeader`, `removeHeader` and `compression` behave exactly as after Node's own
 * head), `_closed` (read by `stream.finished`), `_removed…` (set by `removeHeader`) and `finished` (documented,
 * deprecated; what `writableEnded` returns); and the symbol `kOutHeaders` (not null: a header has been set). The tests
 * of this folder fail on a Node that reads them no longer.
 *
 * Source: lib/_http_outgoing.js of Node 20, 22 and 24.
 */
import type { ServerResponse } from 'node:http';

interface State {
  _header: string | null;
  _closed: boolean;
  _removedConnection: boolean;
  _removedContLen: boolean;
  _removedTE: boolean;
  finished: boolean;
  destroyed: boolean;
  __onFinished?: unknown;
  getRawHeaderNames(): string[];
}

/** What `_header` holds while the real head waits; never sent. */
const HELD = 'held by samekey\r\n\r\n';

function stateOf(res: ServerResponse): State {
  return res as unknown as State;
}

/** Makes the head look fixed: it can no longer be changed. */
export function playHeadFixed(res: ServerResponse): void {
  stateOf(res)._header = HELD;
}

/** Makes the answer look ended. */
export function playEnded(res: ServerResponse): void {
  stateOf(res).finished = true;
}

/** Ends both plays: Node's own methods work again. */
export function playNothing(res: ServerResponse): void {
  const state = stateOf(res);
  if (state._header === HELD) state._header = null;
  state.finished = false;
}

/** Makes a response whose connection was closed look open. */
export function playOpen(res: ServerResponse): void {
  stateOf(res).destroyed = false;
  stateOf(res)._closed = false;
}

/** Marks a response as closed; false if it was already. */
export function markClosed(res: ServerResponse): boolean {
  const state = stateOf(res);
  const first = !state._closed;
  state.destroyed = true;
  state._closed = true;
  return first;
}

/** `removeHeader` also means "and do not add it by yourself": takes that back. */
export function forgetRemovals(res: ServerResponse): void {
  const state = stateOf(res);
  state._removedConnection = false;
  state._removedContLen = false;
  state._removedTE = false;
}

/** Whether a header that Node adds by itself was taken away, so that it does not. */
export function isRemoved(res: ServerResponse, name: 'content-length' | 'transfer-encoding'): boolean {
  const { _removedContLen, _removedTE } = stateOf(res);
  return name === 'content-length' ? _removedContLen : _removedTE;
}

/**
 * Whether a header has been set, be it there still: from then on Node merges what `writeHead` is given, so that of
 * several lines of a name the last one counts.
 */
export function hasHadHeaders(res: ServerResponse): boolean {
  if (res.getHeaderNames().length > 0) return true;
  // Looked for once: it is the same of every response.
  outHeaders ??= Object.getOwnPropertySymbols(res).find(({ description }) => description === 'kOutHeaders');
  const headers = outHeaders && (res as unknown as Record<symbol, unknown>)[outHeaders];
  return headers !== null && headers !== undefined;
}

let outHeaders: symbol | undefined;

/** Exchanges the shared listener that the package `on-finished` keeps on a response. */
export function swapOnFinished(res: ServerResponse, listener: unknown): unknown {
  const state = stateOf(res);
  const before = state.__onFinished;
  if (before || listener) state.__onFinished = listener;
  return before;
}

/** The names of the headers as spelt (typed for client requests only, but every outgoing message has it). */
export function rawHeaderNames(res: ServerResponse): string[] {
  return stateOf(res).getRawHeaderNames();
}
