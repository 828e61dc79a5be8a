/**
 * What must come of a plan, by the contract and by what the server without Samekey gave for it. It shares no code with
 * the doors.
 *
 * Sources: contract §4.1 (rows 7 to 10), §6.1 to §6.3, §8.2, §8.3.
 */

import type { PolicyName } from 'samekey/internals/core/policy';
import type { HeaderLine } from 'samekey/internals/core/response';
import type { SeenAnswer } from './raw-client.ts';

/** What the record of an attempt becomes. */
export type Becomes = 'final' | 'retryable' | 'unknown';

/** Contract §6.1. */
export function becomesBy(policy: PolicyName, status: number): Becomes {
  if (status < 400) return 'final';
  if ([401, 407, 425, 429].includes(status)) return 'retryable';
  if (status === 408 || status === 502 || status === 504) return policy === 'stripe' ? 'final' : 'unknown';
  if (status >= 500) return AFTER_SERVER_ERROR[policy];
  return 'final';
}

/** Contract §6.1 and §6.2: the handler ended, and nobody has heard a status. */
export function becomesSilent(policy: PolicyName): Becomes {
  return policy === 'stripe' ? 'final' : 'unknown';
}

const AFTER_SERVER_ERROR = { standard: 'retryable', payments: 'unknown', stripe: 'final' } as const;

/** Contract §8.2, and what belongs to the framing of one connection. */
const NOT_STORED =
  /^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|http2-settings|proxy-.*|content-length|date|access-control-.*|x-request-id|request-id|x-correlation-id|x-trace-id|traceresponse|server-timing|x-response-time|idempotency-replayed|idempotent-replayed|idempotency-stored|idempotency-key-expires)$/i;

/** The lines of an answer that every retry gets too. */
export function keptLines(headers: readonly HeaderLine[], storesCookies: boolean): readonly HeaderLine[] {
  const named = headers
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((name) => name.trim());
  return headers.filter(([name]) => {
    const field = name.toLowerCase();
    if (NOT_STORED.test(field) || named.includes(field)) return false;
    return storesCookies || !/^set-cookie2?$/.test(field);
  });
}

/** Lines without what a connection adds by itself. */
export function ownLines(headers: readonly HeaderLine[]): readonly HeaderLine[] {
  return headers.filter(
    ([name]) => !/^(connection|keep-alive|date|content-length|transfer-encoding)$/i.test(name),
  );
}

const EXPIRES = 'idempotency-key-expires';

/** An answer's lines without the one that Samekey adds to what is stored, and how often it stands there. */
export function withoutExpiry(headers: readonly HeaderLine[]): {
  readonly lines: readonly HeaderLine[];
  readonly count: number;
} {
  const lines = headers.filter(([name]) => name.toLowerCase() !== EXPIRES);
  return { lines, count: headers.length - lines.length };
}

/** All bytes of a connection, without the date and without what Samekey adds to answers that are stored. */
export function comparable(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replaceAll(/^Date: \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT\r$/gm, 'Date: now\r')
    .replaceAll(/^Idempotency-Key-Expires: [^\r]*\r\n/gm, '');
}

/** What is wrong with a problem document; null: nothing. */
export function faultOfProblem(answer: SeenAnswer, status: number, code: string): string | null {
  if (answer.status !== status || !answer.isComplete)
    return `must be ${status} ${code}, is ${answer.status}${answer.isComplete ? '' : ', cut short'}`;
  const text = answer.body.toString();
  return text.includes(code) ? null : `must say ${code}, says ${text.slice(0, 200)}`;
}

/** The first difference of two texts, with what stands around it. */
export function difference(expected: string, actual: string): string {
  let at = 0;
  while (at < expected.length && expected[at] === actual[at]) at += 1;
  const from = Math.max(0, at - 60);
  const shown = (text: string): string => JSON.stringify(text.slice(from, at + 160));
  return `at ${at}: expected ${shown(expected)}, came ${shown(actual)}`;
}
