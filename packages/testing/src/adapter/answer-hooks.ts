/** What an application changes of answers and of what counts: `redact`, `onReplay`, and a fingerprint by a function. */

import assert from 'node:assert/strict';
import type { GivenReplay, OtherAnswer } from 'samekey/internals/http/answer-hooks';
import type { FingerprintRequest } from 'samekey/internals/fingerprint/fingerprint';
import type { HeaderLine } from 'samekey/internals/core/response';
import { assertProblem, assertReplay, header, text } from './expect.ts';
import type { ContractAnswer, ContractCall } from './harness.ts';
import { type AddTest, jsonRequest } from './kit.ts';

const CARD = '4242424242424242';
const JSON_LINE: HeaderLine = ['Content-Type', 'application/json'];
/** Whatever they are of: they are of bytes that a retry is not sent. */
const OF_BYTES: readonly HeaderLine[] = [
  ['ETag', '"v1"'],
  ['Content-Digest', 'sha-256=:AAAA:'],
];

function paid(): ContractAnswer {
  return {
    status: 201,
    headers: [JSON_LINE, ['X-Card', CARD], ...OF_BYTES],
    body: JSON.stringify({ card: CARD }),
  };
}

function nothing(): OtherAnswer | null {
  return null;
}

function echo({ body }: ContractCall): ContractAnswer {
  return { status: 201, body: `got ${new TextDecoder().decode(body)}` };
}

function cookie(): ContractAnswer {
  return { status: 201, headers: [['Set-Cookie', 'a=1']], body: 'whole' };
}

function allMasked({
  headers,
}: {
  readonly headers: readonly HeaderLine[];
}): Pick<OtherAnswer, 'headers' | 'body'> {
  return { headers, body: 'masked' };
}

/** Everything that stands in the store, as text. */
async function stored(store: { list(request: object): Promise<readonly unknown[]> }): Promise<string> {
  return JSON.stringify(await store.list({}), (_name, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString() : value,
  );
}

export function answerHookTests(test: AddTest): void {
  redactTests(test);
  replayTests(test);
  functionTests(test);
}

function redactTests(test: AddTest): void {
  test('what redact gives is stored and told again, and the first client gets the whole answer', async (t) => {
    const redact = ({ headers, body }: { headers: readonly HeaderLine[]; body: Uint8Array | null }) => {
      const masked = new TextDecoder().decode(body ?? undefined).replace(CARD, '****');
      // What it writes into its copy reaches nobody.
      body?.fill(0);
      return { headers: headers.filter(([name]) => name.toLowerCase() !== 'x-card'), body: masked };
    };
    const app = await t.start({ routes: [{ options: { policy: 'standard', redact }, handler: paid }] });
    const first = await app.post('key-1');
    assert.deepEqual([first.status, text(first), header(first, 'x-card')], [201, `{"card":"${CARD}"}`, CARD]);
    assert.equal(header(first, 'etag'), '"v1"');
    const again = await app.post('key-1');
    assert.deepEqual(
      [again.status, text(again), header(again, 'x-card'), header(again, 'content-type')],
      [201, '{"card":"****"}', undefined, 'application/json'],
    );
    assert.equal(header(again, 'idempotency-replayed'), 'true');
    for (const [name] of OF_BYTES) assert.equal(header(again, name.toLowerCase()), undefined);
    assert.equal((await stored(t.store)).includes(CARD), false);
    assert.equal(app.runs, 1);
  });

  test('cookies that a route stores pass through redact, and those of another route do not', async (t) => {
    for (const storeSetCookie of [true, false]) {
      const options = { policy: 'standard', redact: allMasked, storeSetCookie } as const;
      const app = await t.start({ routes: [{ options, handler: cookie }] });
      const key = `key-${storeSetCookie}`;
      assert.equal(text(await app.post(key)), 'whole');
      const again = await app.post(key);
      assert.deepEqual(
        [text(again), header(again, 'set-cookie')],
        ['masked', storeSetCookie ? 'a=1' : undefined],
      );
    }
  });

  test('redact that gives nothing leaves the answer as it is', async (t) => {
    const app = await t.start({
      routes: [{ options: { policy: 'standard', redact: () => null }, handler: paid }],
    });
    assertReplay(await app.post('key-1'), await app.post('key-1'));
  });

  for (const [how, redact] of [
    [
      'throws',
      () => {
        throw new Error('no such member');
      },
    ],
    ['gives a promise', (async () => null) as unknown as () => null],
    ['gives a line break in a header', () => ({ headers: [['X-A', 'a\nb']] as const })],
  ] as const) {
    test(`redact that ${how} lets nothing of the answer be stored, and that is told of`, async (t) => {
      const app = await t.start({ routes: [{ options: { policy: 'standard', redact }, handler: paid }] });
      const first = await app.post('key-1');
      assert.deepEqual([first.status, text(first)], [201, `{"card":"${CARD}"}`]);
      assert.equal((await app.saw('misuse')).code, 'redact-failed');
      assertProblem(await app.post('key-1'), 410, 'response-not-stored');
      assert.equal((await stored(t.store)).includes(CARD), false);
      assert.equal(app.runs, 1);
    });
  }
}

function replayTests(test: AddTest): void {
  test('a retry is told what onReplay gives, with the stored answer before it, and nothing runs', async (t) => {
    const seen: GivenReplay[] = [];
    const onReplay = (replay: GivenReplay): OtherAnswer => {
      seen.push({ ...replay, body: replay.body === null ? null : Uint8Array.from(replay.body) });
      replay.body?.fill(0);
      return { status: 200, headers: [JSON_LINE, ...OF_BYTES], body: `{"looked":${seen.length}}` };
    };
    const app = await t.start({ routes: [{ options: { policy: 'standard', onReplay }, handler: paid }] });
    const first = await app.post('key-1');
    assert.deepEqual([first.status, text(first)], [201, `{"card":"${CARD}"}`]);
    for (const looked of [1, 2]) {
      const again = await app.post('key-1');
      assert.deepEqual([again.status, text(again)], [200, `{"looked":${looked}}`]);
      assert.equal(header(again, 'idempotency-replayed'), 'true');
      assert.equal(header(again, 'etag'), undefined);
    }
    const [replay] = seen;
    assert.deepEqual(
      [replay?.key, replay?.attempt, replay?.status, Buffer.from(replay?.body ?? []).toString()],
      ['key-1', 1, 201, `{"card":"${CARD}"}`],
    );
    assert.ok((replay?.expiresAt ?? 0) > Date.UTC(2000, 0));
    assert.equal(Buffer.from(seen[1]?.body ?? []).toString(), `{"card":"${CARD}"}`);
    assert.equal(app.runs, 1);
  });

  test('onReplay that gives nothing leaves a replay as it is; one that throws is 503, and changes nothing', async (t) => {
    let given = nothing;
    const onReplay = async (): Promise<OtherAnswer | null> => given();
    const app = await t.start({ routes: [{ options: { policy: 'standard', onReplay }, handler: paid }] });
    const first = await app.post('key-1');
    assertReplay(first, await app.post('key-1'));
    for (const fails of [
      () => {
        throw new Error('away');
      },
      () => ({ status: 99 }),
      () => 'text' as unknown as OtherAnswer,
    ]) {
      given = fails;
      assertProblem(await app.post('key-1'), 503, 'replay-unavailable');
    }
    assert.equal((await app.saw('misuse')).code, 'on-replay-failed');
    given = nothing;
    assertReplay(first, await app.post('key-1'));
    assert.equal(app.runs, 1);
  });
}

function functionTests(test: AddTest): void {
  test('a function says what counts of a request; a body that it cannot read is 400, and nothing is claimed', async (t) => {
    const fingerprint = {
      version: 'amount-1',
      of: ({ json, headers }: FingerprintRequest) => [
        (json() as { amount: number }).amount,
        ...headers('x-part'),
      ],
    };
    const app = await t.start({ routes: [{ options: { policy: 'standard', fingerprint }, handler: echo }] });
    const first = await app.send(jsonRequest('key-1', { amount: 1, sentAt: 1 }));
    assert.equal(text(first), 'got {"amount":1,"sentAt":1}');
    assertReplay(first, await app.send(jsonRequest('key-1', { sentAt: 2, amount: 1.0 })));
    assertProblem(await app.send(jsonRequest('key-1', { amount: 2 })), 422, 'key-reused');
    const part: HeaderLine = ['X-Part', 'b'];
    const request = jsonRequest('key-1', { amount: 1 });
    assertProblem(
      await app.send({ ...request, headers: [...(request.headers ?? []), part] }),
      422,
      'key-reused',
    );
    assertProblem(await app.send(jsonRequest('key-2', '{"amount":')), 400, 'body-malformed');
    assert.deepEqual([app.runs, (await t.store.list({})).length], [1, 1]);
  });
}
