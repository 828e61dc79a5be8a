/**
 * The head of an answer, decided as Node decides it. Nothing is sent here.
 *
 * Invariant: after `fixHead`, `lines` are the lines Node would write (without those it adds itself: Date, Connection,
 * Keep-Alive, implicit Content-Length or Transfer-Encoding), in order, with repeats, as spelt.
 *
 * Sources: https://nodejs.org/docs/latest-v20.x/api/http.html#responsewriteheadstatuscode-statusmessage-headers;
 * RFC 9112 §6 (framing), RFC 9110 §6.4.1 (answers without a body).
 */
import { STATUS_CODES, validateHeaderValue } from 'node:http';
import type { CaptureState, RawHead } from './capture-state.ts';
import { copyRaw, linesOfRaw, linesOfResponse, mergeHeaders } from './header-lines.ts';
import { hasHadHeaders, isRemoved, playHeadFixed } from './node-state.ts';

/** Fixes the head with the arguments of `writeHead`. Throws what Node's `writeHead` throws for bad ones. */
export function fixHead(c: CaptureState, statusCode: unknown, reason?: unknown, headers?: unknown): void {
  const res = c.res;
  const status = Number(statusCode) | 0;
  if (status < 100 || status > 999) throw invalidStatus(statusCode);
  let given = headers;
  forget(c);
  if (typeof reason === 'string') {
    c.reason = reason;
    res.statusMessage = reason;
  } else {
    if (!res.statusMessage) res.statusMessage = STATUS_CODES[status] ?? 'unknown';
    given ??= reason;
  }
  res.statusCode = status;
  c.headByEnd = c.ending;
  if (given === undefined || given === null) {
    linesOfResponse(c);
  } else if (c.ending || hasHadHeaders(res)) {
    mergeHeaders(res, given as RawHead);
    linesOfResponse(c);
  } else {
    c.raw = copyRaw(given as RawHead);
    linesOfRaw(c, c.raw);
  }
  validateHeaderValue('statusMessage', res.statusMessage);
  c.status = status;
  c.statusMessage = res.statusMessage;
  // RFC 9110 §6.4.1, and what Node does: these never have a body, whatever the handler writes.
  c.hasBody = !(status === 204 || status === 304 || status < 200 || res.req.method === 'HEAD');
  if (c.hasTrailerField && !isChunked(c)) throw invalidTrailer();
  c.headFixed = true;
  playHeadFixed(res);
}

/** Whether Node frames this answer in chunks; only then can trailers reach the client (RFC 9112 §7.1.2). */
export function isChunked(c: CaptureState): boolean {
  if (!c.hasBody) return false;
  if (c.chunkedField) return true;
  if (c.declared !== undefined || isRemoved(c.res, 'transfer-encoding')) return false;
  const hasNoLength = !c.headByEnd || c.hasTrailerField || isRemoved(c.res, 'content-length');
  return c.res.useChunkedEncodingByDefault && hasNoLength;
}

/** A head that was refused (bad status, bad header) leaves nothing behind: the handler may try another. */
function forget(c: CaptureState): void {
  c.lines = [];
  c.raw = undefined;
  c.reason = undefined;
  c.declared = undefined;
  c.eventStream = false;
  c.hasTrailerField = false;
  c.chunkedField = false;
}

function invalidStatus(status: unknown): Error {
  const error = new RangeError(`Invalid status code: ${String(status)}`);
  return Object.assign(error, { code: 'ERR_HTTP_INVALID_STATUS_CODE' });
}

function invalidTrailer(): Error {
  const error = new Error('Trailers are invalid with this transfer encoding');
  return Object.assign(error, { code: 'ERR_HTTP_TRAILER_INVALID' });
}
