/** Keys that come elsewhere than in a header, and requests that are let pass on purpose. */

import assert from 'node:assert/strict';
import type { HeaderLine } from 'samekey/internals/core/response';
import { assertProblem, assertReplay, json, text } from './expect.ts';
import type { WireRequest } from './client.ts';
import type { AdapterHarness, ContractAnswer, ContractCall, ContractRoute } from './harness.ts';
import { type AddTest, jsonRequest, keyLine } from './kit.ts';

const JSON_TYPE: HeaderLine = ['Content-Type', 'application/json'];
const IN_BODY = { policy: 'standard', keyIn: { body: 'idempotency_key' } } as const;

/** What the member is, and the code it is refused with. */
const REFUSED: readonly (readonly [what: string, body: string, code: string])[] = [
  ['is missing', '{"amount":1}', 'key-missing'],
  ['is null', '{"idempotency_key":null}', 'key-missing'],
  ['stands in a list', '[{"idempotency_key":"key-1"}]', 'key-missing'],
  ['is a number', '{"idempotency_key":1}', 'key-grammar'],
  ['is true', '{"idempotency_key":true}', 'key-grammar'],
  ['is an object', '{"idempotency_key":{"a":"b"}}', 'key-grammar'],
  ['is empty', '{"idempotency_key":""}', 'key-empty'],
  ['is blank', '{"idempotency_key":"  "}', 'key-blank'],
  ['has a line break', '{"idempotency_key":"a\\nb"}', 'key-control-character'],
  ['has 256 characters', JSON.stringify({ idempotency_key: 'k'.repeat(256) }), 'key-too-long'],
  ['stands there twice', '{"idempotency_key":"key-1","idempotency_key":"key-2"}', 'key-several'],
  ['stands there twice the same', '{"idempotency_key":"k","a":1,"idempotency_key":"k"}', 'key-several'],
  [
    'stands there twice, once spelt otherwise',
    '{"idempotency_key":"k","idempotency\\u005fkey":"k"}',
    'key-several',
  ],
  ['stands there twice, once as nothing', '{"idempotency_key":"k","idempotency_key":null}', 'key-several'],
  ['stands in broken JSON', '{"idempotency_key":"key-1"', 'body-malformed'],
];

function noKey(): string {
  return null as unknown as string;
}

function at(query: string): WireRequest {
  return jsonRequest(null, { amount: 1 }, { target: `/things?${query}` });
}

function paid(payment: string): WireRequest {
  return jsonRequest(null, { amount: 1 }, { headers: [['X-Payment', btoa(payment)]] });
}

/** Answers what it was sent. */
function echo({ body }: ContractCall): ContractAnswer {
  return { status: 201, body: `got ${new TextDecoder().decode(body)}` };
}

export function keyPlaceTests(test: AddTest, harness: AdapterHarness): void {
  for (const [what, body, code] of REFUSED) {
    test(`a key in the body that ${what} is refused with ${code}, and nothing runs`, async (t) => {
      const app = await t.start({ routes: [{ options: IN_BODY }] });
      assertProblem(await app.send(jsonRequest(null, body)), 400, code);
      assert.deepEqual([app.runs, await t.store.list({})], [0, []]);
    });
  }

  test('a key in the body protects as one in a header does, and the handler gets the body whole', async (t) => {
    const app = await t.start({ routes: [{ options: IN_BODY, handler: echo }] });
    const body = { idempotency_key: 'key-1', amount: 1 };
    const first = await app.send(jsonRequest(null, body));
    assert.equal(text(first), `got ${JSON.stringify(body)}`);
    assertReplay(first, await app.send(jsonRequest(null, { amount: 1, idempotency_key: 'key-1' })));
    assertProblem(await app.send(jsonRequest(null, { ...body, amount: 2 })), 422, 'key-reused');
    assert.equal(app.runs, 1);
    assert.equal((await t.store.list({})).length, 1);
  });

  test('who brings no key is told of the member that it belongs into', async (t) => {
    const app = await t.start({ routes: [{ options: IN_BODY }] });
    const refused = json(await app.send(jsonRequest(null, { amount: 1 })));
    assert.match(String(refused['detail']), /a key in the member \/idempotency_key of its JSON body/);
  });

  test('a body that is no JSON has no key, and so has none at all', async (t) => {
    const app = await t.start({ routes: [{ options: IN_BODY }] });
    const form: HeaderLine = ['Content-Type', 'application/x-www-form-urlencoded'];
    const request = { target: '/things', headers: [form], body: 'idempotency_key=key-1' };
    assertProblem(await app.send(request), 400, 'key-missing');
    assertProblem(await app.send({ target: '/things' }), 400, 'key-missing');
    assert.equal(app.runs, 0);
  });

  test('JSON that comes as text has the key that its handler would see', async (t) => {
    const app = await t.start({ routes: [{ options: { ...IN_BODY, required: false }, handler: echo }] });
    const plain: HeaderLine = ['Content-Type', 'text/plain;charset=UTF-8'];
    const request = { target: '/things', headers: [plain], body: '{"idempotency_key":"key-1"}' };
    assertReplay(await app.send(request), await app.send(request));
    assert.equal(app.runs, 1);
  });

  test('a JSON Pointer names a member further down', async (t) => {
    const options = { policy: 'standard', keyIn: { body: '/meta/a~1b' } } as const;
    const app = await t.start({ routes: [{ options }] });
    const first = await app.send(jsonRequest(null, { meta: { 'a/b': 'key-1' } }));
    assertReplay(first, await app.send(jsonRequest(null, { meta: { 'a/b': 'key-1' } })));
    for (const meta of ['key-1', [1.5e300], {}, { a: { b: 'key-1' } }])
      assertProblem(await app.send(jsonRequest(null, { meta })), 400, 'key-missing');
    assertProblem(await app.send(jsonRequest(null, '{"meta":{"a/b":"k"},"meta":{}}')), 400, 'key-several');
    assertProblem(
      await app.send(jsonRequest(null, '{"meta":{"a/b":"k"},"meta":{"a/b":"k"}}')),
      400,
      'key-several',
    );
    assert.equal(app.runs, 1);
  });

  test('header and body may say the same key or leave it to the other; two different ones are refused', async (t) => {
    const app = await t.start({ routes: [{ options: IN_BODY }] });
    const body = { idempotency_key: 'key-1' };
    const first = await app.send(jsonRequest('"key-1"', body));
    assertReplay(first, await app.send(jsonRequest(null, body)));
    assertProblem(await app.send(jsonRequest('key-2', body)), 400, 'key-several');
    assertProblem(await app.send(jsonRequest('key-2', { idempotency_key: 2 })), 400, 'key-grammar');
    assert.equal((await app.send(jsonRequest('key-3', { amount: 1 }))).status, 201);
    assert.equal(app.runs, 2);
  });

  test('a body too large to be read for its key is 413, and nothing runs', async (t) => {
    const app = await t.start({ routes: [{ options: { ...IN_BODY, requestSizeMaxBytes: 40 } }] });
    const body = { idempotency_key: 'key-1', note: 'x'.repeat(40) };
    assertProblem(await app.send(jsonRequest(null, body)), 413, 'body-too-large');
    assert.equal(app.runs, 0);
  });

  test('where no key is required, a request whose body has none runs, with its body whole', async (t) => {
    const app = await t.start({ routes: [{ options: { ...IN_BODY, required: false }, handler: echo }] });
    for (const runs of [1, 2]) {
      const answer = await app.send(jsonRequest(null, { amount: 1 }));
      assert.deepEqual([answer.status, text(answer), app.runs], [201, 'got {"amount":1}', runs]);
    }
    const first = await app.send(jsonRequest(null, { idempotency_key: 'key-1' }));
    assertReplay(first, await app.send(jsonRequest(null, { idempotency_key: 'key-1' })));
    assertProblem(await app.send(jsonRequest(null, { idempotency_key: 1 })), 400, 'key-grammar');
    const twice = '{"idempotency_key":"key-1","idempotency_key":null}';
    assertProblem(await app.send(jsonRequest(null, twice)), 400, 'key-several');
    assert.equal(app.runs, 3);
  });

  test('a function says the key: one, none, or what cannot be one', async (t) => {
    let given: unknown = 'key-1';
    const keyIn = (): string => given as string;
    const app = await t.start({ routes: [{ options: { policy: 'standard', keyIn } }] });
    const first = await app.send(jsonRequest(null, { amount: 1 }));
    assertReplay(first, await app.send(jsonRequest(null, { amount: 1 })));
    assertProblem(await app.send(jsonRequest('key-2', { amount: 1 })), 400, 'key-several');
    for (const none of [null, undefined, '']) {
      given = none;
      assertProblem(await app.send(jsonRequest(null, { amount: 1 })), 400, 'key-missing');
    }
    given = 'caf\u00e9';
    assertProblem(await app.send(jsonRequest(null, { amount: 1 })), 400, 'key-not-ascii');
    given = 7;
    assert.ok((await app.send(jsonRequest(null, { amount: 1 }))).status >= 500);
    assert.equal(app.runs, 1);
  });

  test('a key in the query protects; of two, and of what no key can be, nothing runs', async (t) => {
    const options = { policy: 'standard', keyIn: { query: 'request id\u00e9' } } as const;
    const app = await t.start({ routes: [{ options }] });
    const first = await app.send(at('a=1&request%20id%C3%A9=key-1'));
    assertReplay(first, await app.send(at('a=1&request+id%C3%A9=key-1')));
    assertProblem(await app.send(at('a=2&request+id%C3%A9=key-1')), 422, 'key-reused');
    assertProblem(await app.send(at('request%20id%C3%A9=key-1&request+id%C3%A9=key-1')), 400, 'key-several');
    assertProblem(await app.send(at('request+id%C3%A9=')), 400, 'key-empty');
    assertProblem(await app.send(at('request+id%C3%A9=caf%C3%A9')), 400, 'key-not-ascii');
    assertProblem(await app.send(at('request+id%C3%A9=%ff')), 400, 'key-not-ascii');
    const refused = json(await app.send(at('requestId=key-1')));
    assert.match(String(refused['detail']), /a key in the parameter request id\u00e9 of its query/);
    assert.equal(app.runs, 1);
  });

  test('a key in the JSON of a header protects; a header that holds none is refused', async (t) => {
    const keyIn = { header: 'X-Payment', member: '/info/id' } as const;
    const app = await t.start({ routes: [{ options: { policy: 'standard', keyIn } }] });
    const first = await app.send(paid('{"info":{"id":"key-1"}}'));
    assertReplay(first, await app.send(paid('{ "info": { "id": "key-1" } }')));
    for (const [payment, code] of [
      ['{"info":{}}', 'key-missing'],
      ['{"info":{"id":7}}', 'key-grammar'],
      ['{"info":{"id":"a","id":"b"}}', 'key-several'],
      ['no JSON', 'key-grammar'],
    ] as const)
      assertProblem(await app.send(paid(payment)), 400, code);
    const refused = json(await app.send(jsonRequest(null, { amount: 1 })));
    assert.match(String(refused['detail']), /a key in the member \/info\/id of its header X-Payment/);
    assert.equal(app.runs, 1);
  });

  test('a body larger than protection takes passes whole where a function finds no key, and none is required', async (t) => {
    const options = {
      policy: 'standard',
      keyIn: noKey,
      required: false,
      requestSizeMaxBytes: 1_000,
    } as const;
    const app = await t.start({ routes: [{ options, handler: echo }] });
    const body = JSON.stringify({ note: 'x'.repeat(3_000) });
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const answer = await app.send({
      target: '/things',
      headers: [JSON_TYPE, ['Transfer-Encoding', 'chunked']],
      body: chunks,
    });
    assert.deepEqual([answer.status, text(answer)], [201, `got ${body}`]);
  });

  skipTests(test, harness);
}

function skipTests(test: AddTest, harness: AdapterHarness): void {
  test('a request that skip lets pass runs unprotected each time, with its body whole, and the first is told of', async (t) => {
    let skips = true;
    const options = { policy: 'standard', skip: () => skips, requestSizeMaxBytes: 30 } as const;
    const app = await t.start({ routes: [{ options, handler: echo }] });
    const large = { note: 'x'.repeat(30) };
    for (const runs of [1, 2]) {
      const answer = await app.send(jsonRequest('key-1', large));
      assert.deepEqual([answer.status, text(answer), app.runs], [201, `got ${JSON.stringify(large)}`, runs]);
      const marks = answer.headers.filter(([name]) => name.toLowerCase().startsWith('idempotency-'));
      assert.deepEqual(marks, []);
    }
    assert.deepEqual([(await app.saw('misuse')).code, app.count('misuse')], ['request-skipped', 1]);
    assert.deepEqual(await t.store.list({}), []);
    skips = false;
    const first = await app.send(jsonRequest('key-1', { amount: 1 }));
    assertReplay(first, await app.send(jsonRequest('key-1', { amount: 1 })));
    assertProblem(await app.send(jsonRequest(null, { amount: 1 })), 400, 'key-missing');
    assert.equal(app.runs, 3);
  });

  const broken: readonly (readonly [string, () => boolean])[] = [
    [
      'throws',
      () => {
        throw new Error('no user');
      },
    ],
    ['gives a promise', () => Promise.resolve(true) as unknown as boolean],
    ['gives nothing', () => undefined as unknown as boolean],
  ];
  for (const [what, skip] of broken) {
    test(`a skip that ${what} lets nothing pass`, async (t) => {
      const app = await t.start({ routes: [{ options: { policy: 'standard', skip } }] });
      assert.ok((await app.send(jsonRequest('key-1', { amount: 1 }))).status >= 500);
      assert.deepEqual([app.runs, await t.store.list({})], [0, []]);
    });
  }

  if (harness.joinsLinesWith === undefined || harness.joinsLinesWith === ',') {
    test('a PUT that brings its key in the body is protected also where the protection stands for all methods', async (t) => {
      const route: Partial<ContractRoute> = { method: 'USE', options: IN_BODY, handler: echo };
      const app = await t.start({ routes: [route] });
      const keyed = {
        target: '/things',
        method: 'PUT',
        headers: [JSON_TYPE],
        body: '{"idempotency_key":"key-1"}',
      };
      const first = await app.send(keyed);
      assertReplay(first, await app.send(keyed));
      const bare = { ...keyed, body: '{"amount":1}' };
      assert.equal(text(await app.send(bare)), 'got {"amount":1}');
      assert.equal(text(await app.send(bare)), 'got {"amount":1}');
      assert.deepEqual(
        [app.runs, (await app.saw('misuse')).code, app.count('misuse')],
        [3, 'method-not-asked', 1],
      );
      assertProblem(
        await app.send({ ...keyed, method: 'POST', body: '{}', headers: [JSON_TYPE] }),
        400,
        'key-missing',
      );
      assertProblem(await app.send({ ...bare, headers: [JSON_TYPE, keyLine('"')] }), 400, 'key-grammar');
    });
  }
}
