/** What the adapter needs of Koa's context, of whichever version and copy; how an answer is made and put there. */

import type { HeaderLine, StoredResponse } from '../../core/response.ts';
import type { NodeExchange } from '../../http-node/node-exchange.ts';
import { pipeBody } from '../../http-node/pipe-body.ts';
import { setKept } from '../../http-node/send-held.ts';

type NodeRequest = ConstructorParameters<typeof NodeExchange>[0];
type NodeResponse = ConstructorParameters<typeof NodeExchange>[1];

/** The context of Koa, as far as it is used. */
export interface KoaContext {
  readonly req: NodeRequest;
  readonly res: NodeResponse;
  readonly request: object;
  readonly response: object;
  readonly method: string;
  readonly path: string;
  readonly originalUrl: string;
  readonly message: string;
  status: number;
  type: string;
  body: unknown;
  length?: number | undefined;
  /** False: the handler answers on `res` by itself. */
  respond?: boolean | undefined;
  onerror: (error: Error) => void;
}

/** Statuses that Koa answers without a body, and without its type. */
export const EMPTY: readonly number[] = [204, 205, 304];

/**
 * Answers as Koa does once all middleware has ended.
 *
 * Source: koa 2.16 and 3.3, lib/application.js (`respond`).
 */
export function answerNow(ctx: KoaContext): void {
  const { res, body } = ctx;
  if (ctx.respond === false || res.writableEnded) return;
  if (EMPTY.includes(res.statusCode)) {
    ctx.body = null;
    res.end();
  } else if (body === null || body === undefined) {
    const isNothing =
      (ctx.response as { readonly _explicitNullBody?: boolean })['_explicitNullBody'] === true;
    const text = isNothing ? '' : ctx.message || String(ctx.status);
    if (isNothing) res.removeHeader('Content-Type');
    else ctx.type = 'text';
    ctx.length = Buffer.byteLength(text);
    res.end(text);
  } else if (typeof body === 'string' || Buffer.isBuffer(body)) res.end(body);
  else if (!pipeBody(Object(body), res, (error) => ctx.onerror(error))) {
    const text = JSON.stringify(body);
    ctx.length = Buffer.byteLength(text);
    res.end(text);
  }
}

/** Makes it the answer of the context, for whoever stands in front and for Koa, which sends it. */
export function putAnswer(ctx: KoaContext, { status, headers, body }: StoredResponse): void {
  const { res } = ctx;
  // A status that counts as set by hand: what middleware in front does to the body leaves it alone.
  ctx.status = 200;
  ctx.body = EMPTY.includes(status) ? null : bodyOf(Buffer.from(body ?? []), headers);
  // Koa guesses one.
  res.removeHeader('Content-Type');
  setKept(
    res,
    headers.filter(([name]) => !FRAMING.includes(name.toLowerCase())),
  );
  // Versions of Koa differ in the codes that they take.
  res.statusCode = status;
  res.statusMessage = '';
}

const FRAMING = ['content-length', 'transfer-encoding'];

/**
 * A text as text, and JSON as a value where that makes the very same bytes: middleware in front that changes texts or
 * wraps values does so to a replay, too.
 */
function bodyOf(bytes: Buffer, headers: readonly HeaderLine[]): unknown {
  const type = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
  const isJson = /\bjson\b/i.test(type);
  // Node writes a head that leaves together with a text in its coding, so octets of header lines would be coded again.
  // oxlint-disable-next-line no-control-regex
  const isOfOctets = headers.some(([, value]) => /[^\x00-\x7f]/.test(value));
  const text = bytes.toString();
  if (isOfOctets || !(isJson || /^text\//i.test(type)) || !bytes.equals(Buffer.from(text))) return bytes;
  return (isJson ? sameValue(text) : null) ?? text;
}

/** The value that a text was made of; null for a text that is no value's own. */
function sameValue(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && JSON.stringify(value) === text ? value : null;
  } catch {
    return null;
  }
}
