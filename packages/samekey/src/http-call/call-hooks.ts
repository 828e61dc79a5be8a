/**
 * What an application changes of the answers of calls: the hooks of HTTP (`http/answer-hooks`) over values instead of
 * bytes.
 *
 * Invariants: both hooks get a value as a caller gets it: a copy that was read back, which belongs to them · what they
 * give is stored or told as the handler's own value would be · a navigation has no value, and stays as it is · what
 * cannot be read is told as it is stored, and is not stored by who redacts.
 */

import { isValueError } from '../core/errors.ts';
import { kindOf } from '../core/options.ts';
import type { StoredResponse } from '../core/response.ts';
import type { GivenReplay, RedactFunction, ReplayFunction } from '../http/answer-hooks.ts';
import { reply, toResponse, valueOf } from '../ways/reply.ts';

/** The answer of a call as a hook gets it. */
export interface CallAnswer {
  /** 200 for a value; that of its code for an error. */
  readonly status: number;
  /** What the caller is given; of an error, what is stored of it. */
  readonly value: unknown;
}

/** What a retry is to be told. */
export interface CallReplay extends CallAnswer, Pick<GivenReplay, 'key' | 'attempt' | 'expiresAt'> {}

/** What is told, or stored, in place of an answer. */
interface OtherValue {
  /** JSON, or what the door's transformer writes. */
  readonly value: unknown;
}

/** What a retry is told in place of the stored answer. */
export interface OtherCallAnswer extends OtherValue {
  /** 200–599; default 200. From 400 on it is an error, and `value` what the door stores of one. */
  readonly status?: number;
}

/** Changes what is stored; nothing: it stays as it is. At once, and the same for the same answer. */
export type CallRedactFunction = (answer: CallAnswer) => OtherValue | null | undefined;

/** What a retry is told; nothing: the stored answer. */
export type CallReplayFunction<Native> = (
  replay: CallReplay,
  call: Native,
) => OtherCallAnswer | null | undefined | Promise<OtherCallAnswer | null | undefined>;

/** How a door stores what its handlers give. */
export interface ValueForm {
  /** What a caller is given of it; null: no value, and of no hook. */
  read(status: number, stored: unknown): { readonly value: unknown } | null;
  write(status: number, value: unknown): unknown;
}

/** Stored as it is. */
const PLAIN: ValueForm = { read: (_status, value) => ({ value }), write: (_status, value) => value };

/** The hook of a route that a call's own stands for. */
export function redactOf(own: CallRedactFunction, form: ValueForm = PLAIN): RedactFunction {
  return (answer) => {
    // What cannot be read cannot be redacted: it throws, and nothing is stored.
    const read = form.read(answer.status, valueOf(answer));
    const given = read === null ? null : own({ status: answer.status, ...read });
    if (given === null || given === undefined) return null;
    const { headers, body } = stored(answer.status, given, form);
    return body === null ? { headers } : { headers, body };
  };
}

/** The hook of a route that a call's own stands for. */
export function replayOf<Native>(
  own: CallReplayFunction<Native>,
  form: ValueForm = PLAIN,
): ReplayFunction<Native> {
  return async ({ key, attempt, expiresAt, ...answer }, native) => {
    const read = readBack(answer, form);
    if (read === null) return null;
    const given = await own({ status: answer.status, ...read, key, attempt, expiresAt }, native);
    if (given === null || given === undefined) return null;
    const { status, headers, body } = stored(given.status ?? 200, given, form);
    return body === null ? { status, headers } : { status, headers, body };
  };
}

/** Null for an answer that was given over HTTP or by hand and is no JSON: its caller is told so, as ever. */
function readBack(answer: StoredResponse, form: ValueForm): { readonly value: unknown } | null {
  let value: unknown;
  try {
    value = valueOf(answer);
  } catch (error) {
    if (isValueError(error)) return null;
    throw error;
  }
  return form.read(answer.status, value);
}

/** Throws for what is no answer: a value instead of an object that holds it would be an answer of nothing. */
function stored(status: number, given: OtherValue, form: ValueForm): StoredResponse {
  if (typeof given !== 'object' || 'then' in given || !('value' in given))
    throw new TypeError(`it gives { value }, and gave ${kindOf(given)}`);
  return toResponse(reply(status, form.write(status, given.value)));
}
