/**
 * Sends an answer that is held as data: a replay, a problem document.
 *
 * Invariants: header lines go out in order and as spelt, values as octets; headers that outer middleware has set (CORS,
 * request id) stay unless the answer names the same field; `Content-Length` is computed (RFC 9110 §8.6: never with 204
 * and 304), unless trailers need the chunked coding (RFC 9112 §7.1.2).
 */
import type { ServerResponse } from 'node:http';
import type { HeaderLine, StoredResponse } from '../core/response.ts';
import type { Methods } from './capture-state.ts';
import { setLines } from './header-lines.ts';

/** Sends `answer` on `res`, whose head must not be fixed. `via` are the methods to use; default: those of `res`. */
export function sendAnswer(
  res: ServerResponse,
  answer: StoredResponse,
  via: Pick<Methods, 'writeHead' | 'addTrailers' | 'end'> = res,
): void {
  const { status } = answer;
  const body = answer.body ?? new Uint8Array(0);
  const trailers = answer.trailers ?? [];
  const hasBody = !(status === 204 || status === 304 || res.req.method === 'HEAD');
  // Last, and the body as bytes: Node then writes the values of the lines before it unchanged, as latin1.
  const length: HeaderLine[] =
    hasBody && trailers.length === 0 ? [['Content-Length', String(body.byteLength)]] : [];
  if (res.getHeaderNames().length === 0) {
    const flat: string[] = [];
    for (const [name, value] of answer.headers) flat.push(name, value);
    for (const [name, value] of length) flat.push(name, value);
    via.writeHead.call(res, status, flat);
  } else {
    res.removeHeader('Content-Length');
    setKept(res, [...answer.headers, ...length]);
    via.writeHead.call(res, status);
  }
  if (trailers.length > 0) via.addTrailers.call(res, trailers);
  if (hasBody && body.byteLength > 0) via.end.call(res, body);
  else via.end.call(res);
}

/** Sets the header lines of an answer on a response that may have others. */
export function setKept(res: ServerResponse, lines: readonly HeaderLine[]): void {
  setLines(res, withKnownCookies(res, lines));
}

/** Cookies of outer middleware belong to this request: they stay, and stored ones are added to them. */
function withKnownCookies(res: ServerResponse, lines: readonly HeaderLine[]): readonly HeaderLine[] {
  const known = res.getHeader('Set-Cookie');
  if (known === undefined) return lines;
  const have = (Array.isArray(known) ? known : [String(known)]).map(
    (value): HeaderLine => ['Set-Cookie', value],
  );
  const fresh = lines.filter((line) => isCookie(line) && have.every((old) => old[1] !== line[1]));
  return [...lines.filter((line) => !isCookie(line)), ...have, ...fresh];
}

function isCookie(line: HeaderLine): boolean {
  return line[0].toLowerCase() === 'set-cookie';
}
