/** Answers are byte-true (F38–F40), and bulk calls keep their rows apart. */

import assert from 'node:assert/strict';
import type { StoredResponse } from 'samekey/internals/core/response';
import type { Store } from 'samekey/internals/store/store';
import {
  type AddTest,
  ANSWER,
  claimed,
  claimRequest,
  describeResult,
  finished,
  finishRequest,
  handRequest,
  ID,
  newClaimId,
  recordOf,
  renewRequest,
  settleRequest,
} from './context.ts';

const EVERY_BYTE = Uint8Array.from({ length: 256 }, (_, i) => i);
const LARGE = Uint8Array.from({ length: 2 * 1024 * 1024 }, (_, i) => (i * 7) % 251);

const ANSWERS: readonly (readonly [what: string, answer: StoredResponse])[] = [
  ['a body that was not kept', { status: 200, headers: [], body: null }],
  ['an empty body', { status: 204, headers: [], body: new Uint8Array(0) }],
  ['an empty 202, 205 and 304', { status: 304, headers: [['etag', '"1"']], body: new Uint8Array(0) }],
  ['the text "false"', { status: 200, headers: [], body: new TextEncoder().encode('false') }],
  ['the text "null"', { status: 200, headers: [], body: new TextEncoder().encode('null') }],
  ['an empty JSON string', { status: 200, headers: [], body: new TextEncoder().encode('""') }],
  ['bytes that are no text', { status: 200, headers: [], body: Uint8Array.of(0, 0xff, 0xfe, 0x80, 1) }],
  ['every byte', { status: 200, headers: [], body: EVERY_BYTE }],
  ['two megabytes', { status: 200, headers: [], body: LARGE }],
  ['a view into larger memory', { status: 200, headers: [], body: EVERY_BYTE.subarray(10, 20) }],
  [
    'repeated, empty, odd-cased and non-ASCII header lines, in order',
    {
      status: 303,
      headers: [
        ['Location', '/payments/1'],
        ['link', '</a>; rel="next"'],
        ['Link', '</b>; rel="last"'],
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
        ['content-disposition', 'attachment; filename="a, b.txt"'],
        ['x-empty', ''],
        ['x-latin', 'caf\u{e9} \u{ff}'],
        ['x-unicode', '\u{1f4b6} \u{2028} \\ " \u{d800}'],
        ['x-quotes', `it's "quoted" \\ and ? $1 %s`],
      ],
      body: new Uint8Array(0),
    },
  ],
  ['trailers', { status: 200, headers: [], body: EVERY_BYTE, trailers: [['digest', 'x=1']] }],
  ['an empty list of trailers', { status: 200, headers: [], body: EVERY_BYTE, trailers: [] }],
  ['an error', { status: 599, headers: [['a', 'b']], body: new TextEncoder().encode('no') }],
];

export function byteTests(test: AddTest): void {
  // F38, F39, F40
  for (const [what, answer] of ANSWERS) {
    test(`an answer comes back as it was: ${what}`, async ({ store }) => {
      const owner = await claimed(store);
      await store.finish([finishRequest(owner, 'completed', { response: answer })]);
      const { response } = await recordOf(store);
      assert.deepEqual(response, answer);
      // A Buffer would be equal in content and behave differently (slice, toJSON).
      if (response?.body) assert.equal(Object.getPrototypeOf(response.body), Uint8Array.prototype);
    });
  }

  test('an answer given by a hand comes back as it was', async ({ store }) => {
    const owner = await finished(store, 'unknown');
    const answer: StoredResponse = { status: 402, headers: [['x', 'y']], body: EVERY_BYTE };
    await store.settle([{ ...owner, to: 'failed', reason: 'asked the bank', actor: null, response: answer }]);
    assert.deepEqual((await recordOf(store)).response, answer);
    const other = await finished(store, 'unknown', { key: 'no-answer' });
    await store.settle([
      { ...other, to: 'completed', reason: 'asked the bank', actor: null, response: null },
    ]);
    assert.equal((await recordOf(store, other)).response, null);
  });

  test('text of every kind comes back as it was', async ({ store }) => {
    const texts = {
      scope: `${'s'.repeat(500)}é€\u{1f4b6}`,
      key: 'k'.repeat(255),
      operation: `POST /größe/{id} "quoted" 'it' ? \\ % _ \u{1f4b6}\n`,
    };
    const owner = await claimed(store, texts);
    const reason = `naïve — 'a' "b" \\ ? \u{1f937}\r\n\t`;
    await store.finish([finishRequest(owner, 'unknown', { reason })]);
    const { scope, key, operation, ...record } = await recordOf(store, texts);
    assert.deepEqual({ scope, key, operation }, texts);
    assert.equal(record.reason, reason);
    assert.equal((await store.list({ operation }))[0]?.reason, reason);
  });

  test('a bulk call answers each of its rows, in order', async ({ store }) => {
    const taken = await claimed(store, { key: 'taken' });
    await finished(store, 'completed', { key: 'done' });
    await finished(store, 'retryable', { key: 'again' });
    const keys = ['new-1', 'taken', 'new-2', 'done', 'again', 'new-3'];
    const requests = keys.map((key) => claimRequest({ key }));
    const results = (await store.claim(requests)).map(describeResult);
    assert.deepEqual(results, [
      'claimed 1',
      'found in-progress',
      'claimed 1',
      'found final',
      'claimed 2',
      'claimed 1',
    ]);
    const owners = requests.map(({ key, claimId }, i) => ({
      ...ID,
      key,
      claimId,
      attempt: results[i] === 'claimed 2' ? 2 : 1,
    }));
    assert.deepEqual((await store.renew(owners.map(renewRequest))).map(describeResult), [
      'renewed',
      'lost',
      'renewed',
      'lost',
      'renewed',
      'renewed',
    ]);
    const ends = owners.map((owner, i) =>
      finishRequest(owner, 'completed', { response: { ...ANSWER, status: 200 + i } }),
    );
    assert.deepEqual((await store.finish([...ends, finishRequest(taken, 'failed')])).map(describeResult), [
      'applied',
      'refused',
      'applied',
      'refused',
      'applied',
      'applied',
      'applied',
    ]);
    const found = await store.find([...owners, { ...ID, key: 'never' }]);
    assert.deepEqual(
      found.map((record) => record?.response?.status ?? null),
      [200, 201, 202, 201, 204, 205, null],
    );
  });

  test('of writes on one record in one call each finds what those before it have left', async ({ store }) => {
    const unknown = await finished(store, 'unknown', { key: 'settled' });
    const settled = await store.settle([
      settleRequest(unknown, 'failed'),
      settleRequest(unknown, 'completed'),
    ]);
    assert.deepEqual(settled.map(describeResult), ['applied', 'refused']);
    const owner = await claimed(store, { key: 'ended' });
    assert.deepEqual((await store.renew([owner, owner].map(renewRequest))).map(describeResult), [
      'renewed',
      'renewed',
    ]);
    const ends = await store.finish([finishRequest(owner, 'failed'), finishRequest(owner, 'completed')]);
    assert.deepEqual(ends.map(describeResult), ['applied', 'refused']);
    for (const id of [unknown, owner]) assert.equal((await recordOf(store, id)).state, 'failed');
    assert.equal((await recordOf(store, owner)).renewals, 2);
    const acts = await store.reopen([handRequest(unknown), handRequest(unknown)]);
    assert.deepEqual(acts.map(describeResult), ['applied', 'already']);
    assert.equal((await store.audit({ acts: ['reopen'] })).length, 1);
  });

  test('hundreds of rows go through in one call', async ({ store }) => {
    await bulkRound(store, 500);
    assert.equal((await store.count()).completed, 500);
  });

  test('a call without requests does nothing', async ({ store }) => {
    for (const verb of ['claim', 'renew', 'finish', 'find', 'settle', 'reopen', 'forget'] as const) {
      assert.deepEqual(await store[verb]([]), [], verb);
    }
  });
}

async function bulkRound(store: Store, rows: number): Promise<void> {
  const requests = Array.from({ length: rows }, (_, i) =>
    claimRequest({ key: `key-${(i * 7919) % rows}`, claimId: newClaimId() }),
  );
  const claims = await store.claim(requests);
  assert.ok(claims.every(({ kind }) => kind === 'claimed'));
  const answers = await store.finish(
    requests.map((request, i) =>
      finishRequest({ ...request, attempt: 1 }, 'completed', {
        response: { status: 200, headers: [], body: Uint8Array.of(i & 255, i >> 8) },
      }),
    ),
  );
  assert.ok(answers.every(({ kind }) => kind === 'applied'));
  const records = await store.find(requests);
  for (const [i, record] of records.entries()) {
    assert.equal(record?.claimId, requests[i]?.claimId);
    assert.deepEqual(record?.response?.body, Uint8Array.of(i & 255, i >> 8));
  }
}
