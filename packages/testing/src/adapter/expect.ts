/**
 * What answers must look like: a replay, a problem document.
 */

import assert from 'node:assert/strict';
import type { World } from 'samekey/internals/core/world';
import type { WireAnswer } from './client.ts';

/** A header's values, one for each line. */
export function lines(answer: WireAnswer, name: string): string[] {
  return answer.headers.filter(([given]) => given.toLowerCase() === name).map(([, value]) => value);
}

/** A header's value; several lines as one list (RFC 9110 §5.3). */
export function header(answer: WireAnswer, name: string): string | undefined {
  const values = lines(answer, name);
  return values.length === 0 ? undefined : values.join(', ');
}

/** The body as text. */
export function text(answer: WireAnswer): string {
  return answer.body.toString();
}

/** The body as JSON. */
export function json(answer: WireAnswer): Record<string, unknown> {
  return JSON.parse(text(answer)) as Record<string, unknown>;
}

/** Of one connection or one moment, or the mark itself. */
const NOT_COMPARED = [
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'date',
  'idempotency-replayed',
];

/** Status, header lines in order, and bytes of `again` are those of `first`, and it says that it is a replay. */
export function assertReplay(first: WireAnswer, again: WireAnswer): void {
  assert.equal(header(again, 'idempotency-replayed'), 'true', `a replay, not ${again.status} ${text(again)}`);
  assert.equal(header(first, 'idempotency-replayed'), undefined);
  assert.equal(again.status, first.status);
  assert.deepEqual(comparable(again), comparable(first));
  assert.deepEqual(again.body, first.body);
  assert.ok(again.isComplete);
}

/** Sorted by name, repeats in their order: frameworks set their own lines before or after ours. */
function comparable(answer: WireAnswer): unknown[] {
  return answer.headers
    .filter(([name]) => !NOT_COMPARED.includes(name.toLowerCase()))
    .map(([name, value]) => [name.toLowerCase(), value])
    .toSorted(([a = ''], [b = '']) => (a < b ? -1 : a > b ? 1 : 0));
}

/** A problem document (RFC 9457) with this status and code. */
export function assertProblem(answer: WireAnswer, status: number, code: string): void {
  assert.equal(answer.status, status, `${status} ${code}, not ${answer.status} ${text(answer)}`);
  assert.equal(header(answer, 'content-type'), 'application/problem+json');
  assert.equal(header(answer, 'cache-control'), 'no-store');
  const document = json(answer);
  assert.equal(document['code'], code);
  assert.equal(document['status'], status);
  assert.equal(typeof document['title'], 'string');
  assert.equal(typeof document['detail'], 'string');
  assert.equal(typeof document['retryable'], 'boolean');
  const type = String(document['type']);
  assert.ok(type.startsWith('https://') && type.endsWith(code), `${type} names the page of the code`);
  assert.equal(header(answer, 'link'), `<${type}>; rel="help"`);
}

/** `Retry-After` in whole seconds within 1–60, and not longer than the claim has left. */
export function assertRetryAfter(answer: WireAnswer, mostSeconds = 60): void {
  const seconds = Number(header(answer, 'retry-after'));
  assert.ok(
    Number.isInteger(seconds) && seconds >= 1 && seconds <= mostSeconds,
    `Retry-After of 1–${mostSeconds} s, not ${header(answer, 'retry-after')}`,
  );
}

/** The same world with a probe. */
export function withProbe(world: World, probe: NonNullable<World['probe']>): World {
  return { ...world, probe };
}
