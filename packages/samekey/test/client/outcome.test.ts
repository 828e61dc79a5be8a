/** What answers mean: each row of contract §4 in both profiles, what proves nothing, and the page that shows the table. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Answer, ietf as ofSamekey, judge } from '../../../client/src/answer.ts';
import { type Facts, meaningOf, RULES } from '../../../client/src/meanings.ts';
import { type Refusal, withRefusals } from '../../../client/src/refusals.ts';
import { stripe as ofStripe } from '../../../client/src/stripe-profile.ts';
import { PROBLEMS, type ProblemOutcome } from '../../src/http/problem.ts';
import { ietf } from '../../src/http/profiles/ietf.ts';
import { stripe } from '../../src/http/profiles/stripe.ts';
import { problemResponse } from '../../src/core/response.ts';

type Lines = Record<string, string>;
type Name = 'ietf' | 'stripe';
const REPLAYED = {
  'idempotency-replayed': 'true',
  'idempotency-key-expires': 'Fri, 02 Jan 2026 00:00:00 GMT',
};
const KEPT = { 'idempotency-key-expires': 'Fri, 02 Jan 2026 00:00:00 GMT' };
const PROBLEM = { 'content-type': 'application/problem+json' };

function answer(status: number, headers: Lines = {}, body: unknown = ''): Answer {
  const bytes = new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body));
  return { status, headers: new Headers(headers), body: bytes };
}

const meaning = (given: Answer, profile: Name = 'ietf', refusals: readonly Refusal[] = []): string =>
  judge(given, withRefusals(refusals, profile === 'stripe' ? ofStripe : ofSamekey));

/** A problem document as Samekey's profile writes it. */
const problem = (status: number, code: string, more: object = {}): Answer =>
  answer(status, PROBLEM, { type: `https://samekey.example/errors#${code}`, status, code, ...more });

const both = (status: number): string[] => [meaning(answer(status, KEPT)), meaning(answer(status, REPLAYED))];

const stored = (status: number, code: string): Answer => {
  const { headers, body } = problemResponse(status, code, 'why');
  const lines = [...headers, ...Object.entries(REPLAYED)] as [string, string][];
  return { status, headers: new Headers(lines), body: new Uint8Array(body ?? []) };
};

const error = (status: number, type: string, code = 'some_code', headers: Lines = {}): Answer =>
  answer(status, headers, { error: { type, code } });

const title = (status: number, text: string): string => meaning(answer(status, PROBLEM, { title: text }));

const some = (patterns: string): string => patterns.split(' ')[0] ?? '';

describe('each row of contract §4', () => {
  const retryAfterMs = 1_000;
  const expiresAt = Date.UTC(2026, 0, 2);
  const notStored = (originalStatus: number | null): object => ({
    kind: 'response-not-stored',
    state: 'completed',
    originalStatus,
    location: null,
    expiresAt,
  });
  /** The row, what the request meets, what the client makes of it: by the IETF profile, and by Stripe's where it differs. */
  const rows: readonly [row: string, outcome: object, ietf: string, stripe?: string][] = [
    ['1', { kind: 'key-missing' }, 'never-ran'],
    ['2', { kind: 'key-malformed', fault: 'empty' }, 'never-ran'],
    ['3, unreadable', { kind: 'request-unreadable' }, 'later'],
    ['3, malformed', { kind: 'request-malformed' }, 'never-ran'],
    ['3, too large', { kind: 'request-too-large', sizeMaxBytes: 1 }, 'never-ran'],
    ['3, too old', { kind: 'request-too-old', windowMs: 1 }, 'never-ran'],
    ['3, time invalid', { kind: 'request-time-invalid', fault: 'missing' }, 'never-ran'],
    ['4', { kind: 'unavailable', because: 'store', retryAfterMs }, 'later'],
    ['5', { kind: 'expired' }, 'key-expired'],
    ['6', { kind: 'mismatch' }, 'key-reused'],
    ['7a, 201', notStored(201), 'unseen', 'unseen-error'],
    ['7a, 303', notStored(303), 'unseen', 'unseen-error'],
    ['7a, 402', notStored(402), 'stored', 'unseen-error'],
    ['7a, 408', notStored(408), 'unseen-error'],
    ['7a, 500', notStored(500), 'unseen-error'],
    ['7a, erased', notStored(null), 'unseen-error'],
    ['8', { kind: 'unknown', retryAfterMs }, 'outcome-unknown'],
    ['9', { kind: 'pending', retryAfterMs }, 'in-progress'],
    ['10', { kind: 'in-progress', retryAfterMs }, 'in-progress'],
    ['11', { kind: 'attempts-exhausted' }, 'stored'],
    ['12, not valid', { kind: 'request-invalid', issues: [{ message: 'no', path: [] }] }, 'never-ran'],
    ['13', { kind: 'limited', retryAfterMs }, 'later'],
    ['anonymous', { kind: 'anonymous' }, 'sign-in'],
  ];
  it.each(rows)('%s', (_row, outcome, byIetf, byStripe = byIetf) => {
    const of = (profile: ReturnType<typeof ietf>): Answer => {
      const { status, headers, body } = profile.render(outcome as ProblemOutcome);
      const lines = headers.map(([name, value]): [string, string] => [name, value]);
      return { status, headers: new Headers(lines), body: new Uint8Array(body ?? []) };
    };
    expect(meaning(of(ietf()))).toBe(byIetf);
    expect(meaning(of(stripe()), 'stripe')).toBe(byStripe);
  });

  it('7 and 14: what the handler answered, first and replayed', () => {
    for (const status of [200, 201, 202, 204, 303]) expect(both(status)).toEqual(['first', 'replayed']);
    for (const status of [400, 402, 403, 404, 409, 410, 422])
      expect(both(status)).toEqual(['stored', 'stored']);
    // Policy `stripe` stores these, and they say as little as ever.
    for (const status of [408, 500, 501, 502, 503, 504])
      expect(both(status)).toEqual(['server-error', 'server-error']);
  });

  it('6, 5 and 10 with the statuses that the profile can be set to', () => {
    for (const status of [400, 409, 422]) expect(meaning(problem(status, 'key-reused'))).toBe('key-reused');
    for (const status of [404, 410]) expect(meaning(problem(status, 'key-expired'))).toBe('key-expired');
    for (const status of [409, 425]) expect(meaning(problem(status, 'in-progress'))).toBe('in-progress');
    expect(meaning(problem(422, 'request-invalid'))).toBe('never-ran');
  });

  it('what nobody came to know in time is replayed, and stays unknown; what was never begun does not', () => {
    expect(meaning(stored(409, 'outcome-never-known'))).toBe('never-known');
    expect(meaning(stored(409, 'attempts-exhausted'))).toBe('stored');
    expect(meaning(stored(408, 'never-started'))).toBe('stored');
  });
});

describe('a code or a mark alone proves nothing', () => {
  it('a code with a status that is not its own is no code', () => {
    for (const code of Object.keys(PROBLEMS)) {
      const { status: own } = PROBLEMS[code as keyof typeof PROBLEMS];
      for (const status of [403, 418, 451].filter((other) => other !== own))
        expect([code, meaning(problem(status, code))]).toEqual([code, 'unproven']);
      // A 2xx is an answer whatever its body says.
      expect(meaning(answer(200, { 'content-type': 'application/json' }, { code }))).toBe('first');
    }
  });

  it('a code of the application’s own that is spelt like ours is no code', () => {
    const own = { code: 'request-invalid', status: 400 };
    expect(meaning(answer(400, { 'content-type': 'application/json' }, own))).toBe('unproven');
    expect(
      meaning(answer(400, PROBLEM, { ...own, type: 'https://shop.example/problems/request-invalid' })),
    ).toBe('unproven');
    expect(meaning(answer(400, PROBLEM, { ...own, status: 422, type: '#request-invalid' }))).toBe('unproven');
    expect(meaning(problem(400, 'request-invalid'))).toBe('never-ran');
  });

  it('no 4xx is certain without a word of the server (F127)', () => {
    for (const status of [400, 402, 403, 404, 409, 410, 412, 413, 422, 428, 451])
      expect([status, meaning(answer(status))]).toEqual([status, 'unproven']);
    expect([401, 407].map((status) => meaning(answer(status)))).toEqual(['sign-in', 'sign-in']);
    expect([408, 425, 429, 500, 503].map((status) => meaning(answer(status)))).toEqual(
      Array(5).fill('later'),
    );
    expect([501, 505].map((status) => meaning(answer(status)))).toEqual(['server-error', 'server-error']);
    expect([0, 301, 302, 303, 307, 308].map((status) => meaning(answer(status)))).toEqual(
      Array(6).fill('redirected'),
    );
  });

  it('a list of the caller’s makes one certain, by its status and its code', () => {
    const list = [{ status: 402 }, { status: 422, code: 'no-stock' }];
    expect(meaning(answer(402), 'ietf', list)).toBe('never-ran');
    expect(meaning(answer(422), 'ietf', list)).toBe('unproven');
    expect(meaning(answer(422, {}, { code: 'no-stock' }), 'ietf', list)).toBe('never-ran');
    expect(meaning(answer(422, {}, { error: { code: 'no-stock' } }), 'ietf', list)).toBe('never-ran');
    expect(meaning(answer(402, {}, {}), 'stripe', list)).toBe('never-ran');
    // It never outvotes what the server says.
    expect(meaning(error(402, 'card_error'), 'stripe', list)).toBe('stored');
    expect(meaning(problem(422, 'key-reused'), 'ietf', [{ status: 422 }])).toBe('key-reused');
  });

  it('Stripe’s types count only where the caller says that the server is Stripe', () => {
    const cases: readonly [Answer, string, string][] = [
      [error(402, 'card_error', 'card_declined'), 'stored', 'unproven'],
      [error(400, 'invalid_request_error', 'parameter_missing'), 'never-ran', 'unproven'],
      [error(400, 'idempotency_error'), 'key-reused', 'unproven'],
      [error(409, 'idempotency_error', 'idempotency_key_in_use'), 'in-progress', 'unproven'],
      [error(403, 'card_error'), 'unproven', 'unproven'],
      [error(409, 'invalid_request_error'), 'unproven', 'unproven'],
      [error(500, 'api_error', '', { 'stripe-should-retry': 'false' }), 'server-error', 'later'],
      [error(409, '', '', { 'stripe-should-retry': 'true' }), 'later', 'unproven'],
    ];
    for (const [given, byStripe, byOthers] of cases)
      expect([meaning(given, 'stripe'), meaning(given)]).toEqual([byStripe, byOthers]);
  });

  it('the draft names no codes: its titles are read with their statuses', () => {
    expect(title(409, 'A request is outstanding for this Idempotency-Key')).toBe('in-progress');
    expect(title(422, 'Idempotency-Key is already used')).toBe('key-reused');
    expect(title(422, 'The amount is negative')).toBe('unproven');
    expect(title(403, 'Idempotency-Key is already used')).toBe('unproven');
  });

  it('a 202 that says where or when to ask is not the end, unless it is a stored one', () => {
    expect(meaning(answer(202, { location: '/s' }))).toBe('in-progress');
    expect(meaning(answer(202, { 'retry-after': '1' }))).toBe('in-progress');
    expect(meaning(answer(202))).toBe('first');
    expect(meaning(answer(202, { location: '/s', ...KEPT }))).toBe('first');
    expect(meaning(answer(409, { 'retry-after': '1' }))).toBe('later');
  });

  it('a body that is no JSON says nothing', () => {
    expect(meaning(answer(503, { 'content-type': 'text/html' }, '<h1>{</h1>'))).toBe('later');
    for (const body of ['null', '[]', '5', '"x"', '{"error":null}', '{"code":null}'])
      for (const profile of ['ietf', 'stripe'] as const)
        expect(meaning(answer(422, PROBLEM, body), profile)).toBe('unproven');
  });
});

it('every row of the table can be met, and the page shows the same rows', () => {
  for (const [at, [statuses, codes, marks, means]] of RULES.entries()) {
    const met = marks.split(' ').some((mark) =>
      statuses.split(' ').some((status) => {
        const facts = {
          status: Number(status.replace('*', '18')),
          code: some(codes).replace('*', codes.startsWith('key') ? 'missing' : ''),
          mark: mark === 'any' ? '' : mark,
        } as Facts;
        return meaningOf(facts) === means;
      }),
    );
    expect([at, met]).toEqual([at, true]);
  }
  const page = readFileSync(
    new URL('../../../../docs/reference/client-outcomes.md', import.meta.url),
    'utf8',
  );
  const shown = page
    .slice(page.indexOf('## The table'))
    .split('\n')
    .filter((line) => /^\| [0-9]/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, 5)
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
  expect(shown).toEqual(RULES.map(([statuses, ...row]) => [statuses.replaceAll('*', 'xx'), ...row]));
});
