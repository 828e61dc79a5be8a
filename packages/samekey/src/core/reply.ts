/**
 * The answer of a handler that runs without HTTP: any JSON value, or a reply with a status of its own. Both are stored as
 * bytes, so that the first caller and every retry get what was stored.
 */

import { OptionsError } from './errors.ts';
import { type HeaderLine, response, type StoredResponse } from './response.ts';

/** An answer with a status, made by {@link reply}. */
export interface Reply<Value = unknown> {
  readonly [REPLY]: true;
  readonly status: number;
  readonly headers: readonly HeaderLine[];
  readonly value: Value;
}

/** The value that a handler's return stands for: itself, or what its reply carries. */
export type ReplyValue<Returned> = Returned extends Reply<infer Value> ? Value : Returned;

const REPLY: unique symbol = Symbol.for('samekey.reply');

/**
 * A handler's answer with a status: the policy looks at it, so `reply(409, { code: 'out-of-stock' })` is a refusal that
 * every retry gets again. `value` is any JSON value; undefined for none.
 */
export function reply<Value>(
  status: number,
  value: Value,
  headers: readonly HeaderLine[] = [],
): Reply<Value> {
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new OptionsError(`A reply's status is a whole number from 200 to 599; it is ${status}.`);
  }
  for (const line of headers) checkLine(line);
  return { [REPLY]: true, status, headers, value };
}

/** Names and values as RFC 9110 §5 has them: once stored, a line that no server sends would fail every answer of the key. */
function checkLine(line: HeaderLine): void {
  const [name, value] = Array.isArray(line) ? (line as readonly unknown[]) : [];
  if (typeof name !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
    throw new OptionsError(
      `A reply's headers are lines of name and value; ${JSON.stringify(name)} is no name of one.`,
    );
  if (typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    throw new OptionsError(
      `The value of the reply's header "${name}" holds what a header cannot: encode it.`,
    );
}

/** What a handler returned, as the bytes that are stored. Throws `OptionsError` for what JSON cannot hold. */
export function toResponse(returned: unknown): StoredResponse {
  if (isReply(returned)) return encode(returned.status, returned.headers, returned.value);
  return encode(returned === undefined ? 204 : 200, [], returned);
}

/** The value that the stored bytes stand for. */
export function valueOf(stored: StoredResponse | null): unknown {
  if (stored === null || stored.body === null || stored.body.length === 0) return undefined;
  return JSON.parse(new TextDecoder().decode(stored.body));
}

function encode(status: number, headers: readonly HeaderLine[], value: unknown): StoredResponse {
  if (value === undefined) return response(status, headers);
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) {
    throw new OptionsError(`A handler's answer must be a JSON value; it is of type ${typeof value}.`);
  }
  return response(status, typed(headers), text);
}

/** Whether it was made by {@link reply}. */
/** Served over HTTP it is JSON, unless the handler said what it is. */
function typed(headers: readonly HeaderLine[]): readonly HeaderLine[] {
  return headers.some(([name]) => name.toLowerCase() === 'content-type') ? headers : [JSON_TYPE, ...headers];
}

const JSON_TYPE: HeaderLine = ['Content-Type', 'application/json'];

export function isReply(value: unknown): value is Reply {
  return typeof value === 'object' && value !== null && REPLY in value;
}
