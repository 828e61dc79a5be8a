/**
 * The answer of a handler that runs without HTTP: any JSON value, or a reply with a status of its own. Both are stored
 * as bytes, so that the first caller and every retry get what was stored.
 */

import { isValueError, OptionsError, ValueError } from '../core/errors.ts';
import type { Owner } from '../engine/owner.ts';
import { jsonOf } from '../fingerprint/json-value.ts';
import { type HeaderLine, response, type StoredResponse } from '../core/response.ts';
import { checkLines, withoutFraming } from '../core/stored-response.ts';

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
  checkLines('A reply', headers);
  return { [REPLY]: true, status, headers, value };
}

/** What a handler returned, as the bytes that are stored. Throws `ValueError` for what JSON cannot hold. */
export function toResponse(returned: unknown): StoredResponse {
  const { status, headers, value } = partsOf(returned);
  const text = jsonOf(ANSWER, value);
  return text === undefined ? response(status, headers) : response(status, typed(headers), text);
}

/** An answer; with `error` one whose value cannot be stored: status and headers stand, the body is lost. */
export interface Answer {
  readonly response: StoredResponse;
  readonly error?: ValueError;
}

/**
 * What a handler returned that has run, and whose work nobody takes back: it has answered, also where its value cannot
 * be stored (F66). Then the status still says how it ended.
 */
export function answerOf(returned: unknown): Answer {
  try {
    return { response: toResponse(returned) };
  } catch (error) {
    if (!isValueError(error)) throw error;
    const { status, headers } = partsOf(returned);
    return { response: { status, headers, body: null }, error };
  }
}

/**
 * The value that the stored bytes stand for. Throws `ValueError` when they are no JSON: an answer given over HTTP, or
 * by hand.
 */
export function valueOf(stored: StoredResponse | null): unknown {
  if (stored === null || stored.body === null || stored.body.length === 0) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(stored.body)) as unknown;
  } catch (cause) {
    throw new ValueError(
      'unreadable',
      '',
      'The stored answer of this key is no JSON: it was given over HTTP or by hand. Read it where it was given, or settle with reply(status, value).',
      { cause },
    );
  }
}

const ANSWER = "The handler's answer";

function partsOf(returned: unknown): Omit<Reply, typeof REPLY> {
  if (!isReply(returned)) return { status: returned === undefined ? 204 : 200, headers: [], value: returned };
  const { status, headers, value } = returned;
  return { status, headers: withoutFraming(headers).filter(isOfJson), value };
}

/** The body is our JSON: another's coding or range would make it unreadable. */
function isOfJson([name]: HeaderLine): boolean {
  const lower = name.toLowerCase();
  return lower !== 'content-encoding' && lower !== 'content-range';
}

/** Served over HTTP it is JSON, unless the handler said what it is. */
function typed(headers: readonly HeaderLine[]): readonly HeaderLine[] {
  return headers.some(([name]) => name.toLowerCase() === 'content-type') ? headers : [JSON_TYPE, ...headers];
}

const JSON_TYPE: HeaderLine = ['Content-Type', 'application/json'];

/**
 * Tells of a return that has a status and was not made by {@link reply}, as an upstream's answer: it is a value like
 * any other, and a refusal would be kept as a success.
 */
export function tellIfUnmade(returned: unknown, owner: Pick<Owner, 'attempt' | 'misuse'>): void {
  const status = unmadeStatus(returned);
  if (status === null) return;
  const said = `"${owner.attempt.operation}" returned an object with status ${status} that was not made by reply(): it is sent and kept as a value, under 200. Return reply(${status}, body) to answer with that status.`;
  owner.misuse('status-ignored', said);
}

function unmadeStatus(returned: unknown): number | null {
  if (typeof returned !== 'object' || returned === null) return null;
  try {
    if (isReply(returned) || !('body' in returned || 'headers' in returned)) return null;
    const { status } = returned as { readonly status?: unknown };
    return typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599
      ? status
      : null;
  } catch {
    // The handler has run: a member that throws is told where the value is stored, and is no throw of the handler's.
    return null;
  }
}

/** Whether it was made by {@link reply}. */
export function isReply(value: unknown): value is Reply {
  return typeof value === 'object' && value !== null && REPLY in value;
}
