/**
 * Each outcome on the wire in each profile (contract §4.1), as far as a request can bring it about, and which of several
 * comes first.
 */

import assert from 'node:assert/strict';
import type { OutcomeKind } from 'samekey/internals/core/outcome';
import type { HeaderLine } from 'samekey/internals/core/response';
import type { WireAnswer } from './client.ts';
import { assertProblem, assertRetryAfter, header, json, text } from './expect.ts';
import type { ContractAnswer, ContractRoute } from './harness.ts';
import { type AddTest, type App, type Bench, held, jsonRequest } from './kit.ts';

/** Brings one outcome about. `route` makes an application in the profile under test. */
type Scene = (t: Bench, route: (more?: Partial<ContractRoute>) => Promise<App>) => Promise<WireAnswer>;

const OPTIONS = { policy: 'payments', requestSizeMaxBytes: 1_000, responseSizeMaxBytes: 1_000 } as const;
const HOUR_MS = 3_600_000;

const knownCaller: ContractRoute['scope'] = (request) =>
  request.header('x-nobody') === undefined ? ['acme'] : null;

function second(app: App): Promise<WireAnswer> {
  return app.post('key-1').then(() => app.post('key-1'));
}

const SCENES: Readonly<Partial<Record<OutcomeKind, Scene>>> = {
  anonymous: async (_t, route) => (await route({ scope: () => null })).post('key-1'),
  'key-missing': async (_t, route) => (await route()).post(null),
  'key-malformed': async (_t, route) => (await route()).post('a b'),
  'request-unreadable': async (_t, route) =>
    (await route()).post('key-1', { headers: [['Content-Encoding', 'gzip']] }),
  'request-too-large': async (_t, route) => (await route()).post('key-1', { body: 'x'.repeat(2_000) }),
  unavailable: async (t, route) => {
    t.store.inject('refuse', { verb: 'claim' });
    return (await route()).post('key-1');
  },
  expired: async (t, route) => {
    const app = await route({ options: { ...OPTIONS, retentionMs: HOUR_MS, tombstoneMs: HOUR_MS } });
    await app.post('key-1');
    await t.world.advance(HOUR_MS);
    return app.post('key-1');
  },
  mismatch: async (_t, route) => {
    const app = await route();
    await app.post('key-1');
    return app.send(jsonRequest('key-1', { amount: 2 }));
  },
  replay: async (_t, route) => second(await route()),
  'response-not-stored': async (_t, route) => {
    const answer = { status: 201, headers: [['Location', '/things/1'] as const], body: 'x'.repeat(2_000) };
    return second(await route({ handler: () => answer }));
  },
  unknown: async (_t, route) => second(await route({ handler: () => ({ status: 504 }) })),
  'in-progress': async (_t, route) => {
    const slow = held({ status: 201 });
    const app = await route({ handler: slow.handler });
    const first = app.post('key-1');
    await slow.started;
    const answer = await app.post('key-1');
    slow.release();
    await first;
    return answer;
  },
  'attempts-exhausted': async (_t, route) =>
    second(await route({ options: { ...OPTIONS, attemptMax: 1 }, handler: () => ({ status: 429 }) })),
};

/** Status and code of each outcome in the IETF profile, and whether it has `Retry-After`. */
const IETF: readonly (readonly [OutcomeKind, status: number, code: string, retryAfter: boolean])[] = [
  ['anonymous', 403, 'anonymous', false],
  ['key-missing', 400, 'key-missing', false],
  ['key-malformed', 400, 'key-grammar', false],
  ['request-unreadable', 400, 'body-unreadable', false],
  ['request-too-large', 413, 'body-too-large', false],
  ['unavailable', 503, 'store-unavailable', true],
  ['expired', 410, 'key-expired', false],
  ['mismatch', 422, 'key-reused', false],
  ['response-not-stored', 410, 'response-not-stored', false],
  ['unknown', 409, 'outcome-unknown', true],
  ['in-progress', 409, 'in-progress', true],
  ['attempts-exhausted', 409, 'attempts-exhausted', false],
];

/** Status, type and code of each outcome in the Stripe profile, and whether it should be retried. */
const STRIPE: readonly (readonly [
  OutcomeKind,
  status: number,
  type: string,
  code: string | undefined,
  retry: boolean,
])[] = [
  ['anonymous', 403, 'invalid_request_error', 'anonymous', false],
  ['key-missing', 400, 'invalid_request_error', 'key_missing', false],
  ['key-malformed', 400, 'invalid_request_error', 'key_grammar', false],
  ['request-unreadable', 400, 'invalid_request_error', 'body_unreadable', true],
  ['request-too-large', 413, 'invalid_request_error', 'body_too_large', false],
  ['unavailable', 503, 'api_error', undefined, true],
  ['expired', 410, 'invalid_request_error', 'key_expired', false],
  ['mismatch', 400, 'idempotency_error', undefined, false],
  ['response-not-stored', 410, 'invalid_request_error', 'response_not_stored', false],
  ['unknown', 409, 'invalid_request_error', 'outcome_unknown', true],
  ['in-progress', 409, 'idempotency_error', 'idempotency_key_in_use', true],
  ['attempts-exhausted', 409, 'invalid_request_error', 'attempts_exhausted', false],
];

function play(t: Bench, kind: OutcomeKind, profile: 'ietf' | 'stripe'): Promise<WireAnswer> {
  const made: ContractAnswer = { status: 201, body: 'made' };
  const scene = SCENES[kind];
  assert.ok(scene !== undefined);
  return scene(t, (more = {}) =>
    t.start({
      routes: [{ handler: () => made, ...more, options: { ...OPTIONS, ...more.options, profile } }],
    }),
  );
}

export function profileTests(test: AddTest): void {
  for (const [kind, status, code, hasRetryAfter] of IETF) {
    test(`in the IETF profile, ${kind} is ${status} ${code}`, async (t) => {
      const answer = await play(t, kind, 'ietf');
      assertProblem(answer, status, code);
      if (hasRetryAfter) assertRetryAfter(answer);
      else assert.equal(header(answer, 'retry-after'), undefined);
      if (kind === 'response-not-stored') {
        assert.deepEqual([json(answer)['originalStatus'], header(answer, 'location')], [201, '/things/1']);
      }
    });
  }

  for (const [kind, status, type, code, retry] of STRIPE) {
    test(`in the Stripe profile, ${kind} is ${status} ${type}`, async (t) => {
      const answer = await play(t, kind, 'stripe');
      assert.equal(answer.status, status, text(answer));
      assert.equal(header(answer, 'content-type'), 'application/json');
      assert.equal(header(answer, 'stripe-should-retry'), String(retry));
      const error = json(answer)['error'] as Record<string, unknown>;
      assert.deepEqual([error['type'], error['code']], [type, code]);
      assert.equal(typeof error['message'], 'string');
      if (kind === 'response-not-stored') assert.equal(header(answer, 'location'), '/things/1');
    });
  }

  test('a replay is marked by the name of each profile', async (t) => {
    const ietf = await play(t, 'replay', 'ietf');
    assert.deepEqual([ietf.status, text(ietf), header(ietf, 'idempotency-replayed')], [201, 'made', 'true']);
    assert.equal(header(ietf, 'idempotent-replayed'), undefined);
    const stripe = await play(t, 'replay', 'stripe');
    assert.deepEqual(
      [stripe.status, text(stripe), header(stripe, 'idempotent-replayed')],
      [201, 'made', 'true'],
    );
    assert.equal(header(stripe, 'idempotency-replayed'), undefined);
  });

  // F10 as Stripe has it: keys are unique for the account, endpoints are compared.
  test('where keys are unique for the caller, a key used for another operation is refused, and the first is unharmed', async (t) => {
    const options = { policy: 'stripe', profile: 'stripe', keyUniqueFor: 'caller' } as const;
    const app = await t.start({
      routes: [
        { pattern: '/charges', options },
        { pattern: '/refunds', options },
      ],
    });
    const first = await app.post('key-1', { target: '/charges' });
    const other = await app.post('key-1', { target: '/refunds' });
    assert.equal(other.status, 400);
    assert.equal((json(other)['error'] as Record<string, unknown>)['type'], 'idempotency_error');
    const again = await app.post('key-1', { target: '/charges' });
    assert.deepEqual([text(again), header(again, 'idempotent-replayed')], [text(first), 'true']);
    assert.equal(app.runs, 1);
  });

  test('of several faults the first in the order of precedence is answered', async (t) => {
    const gzip: HeaderLine = ['Content-Encoding', 'gzip'];
    const app = await t.start({
      routes: [
        {
          scope: knownCaller,
          options: { ...OPTIONS, retentionMs: HOUR_MS, tombstoneMs: HOUR_MS },
          handler: () => ({ status: 201 }),
        },
      ],
    });
    const large = { body: 'x'.repeat(2_000) };
    assertProblem(await app.post(null, { headers: [['X-Nobody', '1']], ...large }), 403, 'anonymous');
    assertProblem(await app.post(null, { headers: [gzip] }), 400, 'key-missing');
    assertProblem(await app.post('a b', large), 400, 'key-grammar');
    t.store.inject('refuse', { verb: 'claim' });
    assertProblem(await app.post('key-1', large), 413, 'body-too-large');
    assertProblem(await app.post('key-1', { headers: [gzip] }), 400, 'body-unreadable');
    assertProblem(await app.post('key-1'), 503, 'store-unavailable');
    assert.equal((await app.post('key-1')).status, 201);
    const other = jsonRequest('key-1', { amount: 2 });
    assertProblem(await app.send(other), 422, 'key-reused');
    await t.world.advance(HOUR_MS);
    assertProblem(await app.send(other), 410, 'key-expired');
    assert.equal(app.runs, 1);
  });

  test('a mismatch comes before an unknown outcome', async (t) => {
    const app = await t.start({ routes: [{ options: OPTIONS, handler: () => ({ status: 500 }) }] });
    await app.post('key-1');
    assertProblem(await app.send(jsonRequest('key-1', { amount: 2 })), 422, 'key-reused');
    assertProblem(await app.post('key-1'), 409, 'outcome-unknown');
  });

  // F105
  for (const status of [201, 402, 409, 500, 502, 503]) {
    test(`in the Stripe profile, a stored ${status} comes with its key, and a replay of it is not to be retried`, async (t) => {
      const options = { policy: 'stripe', profile: 'stripe' } as const;
      const app = await t.start({ routes: [{ options, handler: () => ({ status }) }] });
      for (const answer of [await app.post('key-1'), await app.post('key-1')]) {
        assert.deepEqual(
          [answer.status, header(answer, 'idempotency-key'), header(answer, 'stripe-should-retry')],
          [status, 'key-1', status < 400 ? undefined : 'false'],
        );
      }
      assert.equal(app.runs, 1);
    });
  }

  // F105
  test('in the Stripe profile, what a retry can change is to be retried, unless the handler says otherwise', async (t) => {
    const options = { policy: 'stripe', profile: 'stripe' } as const;
    const app = await t.start({ routes: [{ options, handler: () => ({ status: 429 }) }] });
    assert.equal(header(await app.post('key-1'), 'stripe-should-retry'), 'true');
    const own = await t.start({
      routes: [{ options, handler: () => ({ status: 429, headers: [['Stripe-Should-Retry', 'false']] }) }],
    });
    assert.equal(header(await own.post('key-2'), 'stripe-should-retry'), 'false');
    assert.equal(header(await own.send(jsonRequest('key-1', { amount: 2 })), 'idempotency-key'), 'key-1');
  });
}
