/** The key and its header: what is taken, what is refused, which requests need one. */

import assert from 'node:assert/strict';
import type { HeaderLine } from 'samekey/internals/core/response';
import type { KeyOptions } from 'samekey/internals/core/key';
import { isTextOfMissing } from 'samekey/internals/core/scope';
import { assertProblem, assertReplay, header, json, text } from './expect.ts';
import type { AdapterHarness } from './harness.ts';
import { type AddTest, type Bench, jsonRequest, keyLine } from './kit.ts';

/** F33: what stands in the header's lines, and the code it is refused with. */
const REFUSED: readonly (readonly [
  what: string,
  values: readonly string[],
  code: string,
  key?: KeyOptions,
])[] = [
  ['is missing', [], 'key-missing'],
  ['is an empty line', [''], 'key-empty'],
  ['is an empty String', ['""'], 'key-empty'],
  ['has only spaces', ['"   "'], 'key-blank'],
  ['has 256 characters', ['k'.repeat(256)], 'key-too-long'],
  ['has 20,000 characters in quotes', [`"${'k'.repeat(14_000)}"`], 'key-too-long'],
  ['has a tab inside', ['a\tb'], 'key-control-character'],
  ['has a character outside of ASCII', ['caf\u00e9'], 'key-not-ascii'],
  ['comes in two lines', ['key-1', 'key-2'], 'key-several'],
  ['comes twice the same', ['key-1', 'key-1'], 'key-several'],
  // F80
  ['comes in two lines that joined would be one String', ['"key', '1"'], 'key-several'],
  ['comes in two lines that joined would be one with a parameter', ['"key";a="b', 'c"'], 'key-several'],
  ['is a list', ['key-1, key-2'], 'key-several'],
  ['is a list of Strings', ['"key-1","key-2"'], 'key-several'],
  ['has an open quote', ['"key-1'], 'key-grammar'],
  ['has a space in its bare form', ['key 1'], 'key-grammar'],
  ['is bare in strict mode', ['key-1'], 'key-grammar', { mode: 'strict' }],
  ['is shorter than asked for', ['key-1'], 'key-too-short', { lengthMin: 16 }],
  ['is no UUID where one is asked for', ['key-1'], 'key-not-uuid', { uuidOnly: true }],
  [
    'is an e-mail address where none is wanted',
    ['a@b.example'],
    'key-personal-data',
    { refusePersonalData: true },
  ],
];

/** Names that JavaScript objects have by themselves. */
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'null',
  'undefined',
  '0',
];

/** The lines of a header that the fingerprint looks at. */
function tags(...values: readonly string[]): { readonly headers: readonly HeaderLine[] } {
  return { headers: values.map((value): HeaderLine => ['X-Tags', value]) };
}

export function keyTests(test: AddTest, harness: AdapterHarness): void {
  for (const [what, values, code, key] of REFUSED) {
    test(`a key that ${what} is refused with ${code}, and nothing runs`, async (t) => {
      const app = await t.start({ routes: [{ options: { policy: 'standard', key: key ?? {} } }] });
      assertProblem(await app.post(null, { headers: values.map(keyLine) }), 400, code);
      assert.equal(app.runs, 0);
      assert.deepEqual(await t.store.list({}), []);
    });
  }

  // F34
  test('quoted, bare, and with parameters, one text is one key', async (t) => {
    const app = await t.start();
    const first = await app.post('key-1');
    const forms = ['"key-1"', '"key-1";v=2', '  key-1  ', '"key-1"; a="b,c"'];
    for (const form of harness.joinsLinesWith === ',' ? forms.slice(0, -1) : forms) {
      assertReplay(first, await app.post(form));
    }
    assert.equal(app.runs, 1);
  });

  // F80
  test('a comma and a space in one quoted line are a key where lines are told apart; else they may be two lines', async (t) => {
    const app = await t.start();
    for (const form of ['"key, 1"', '"key"; a="b, c"']) {
      const answer = await app.post(form);
      if (harness.tellsRequestLines) assert.equal(answer.status, 201);
      else assertProblem(answer, 400, 'key-several');
    }
    const bare = await app.post('"key,1"');
    if (harness.joinsLinesWith === ',') assertProblem(bare, 400, 'key-several');
    else assert.equal(bare.status, 201);
  });

  // F80
  test('a list in a header of the fingerprint is one list, in one line or in several, and its order counts', async (t) => {
    const options = { policy: 'standard', fingerprint: { headers: ['X-Tags'] } } as const;
    const app = await t.start({ routes: [{ options }] });
    const first = await app.post('key-1', tags('a', 'b'));
    assertReplay(first, await app.post('key-1', tags('a', 'b')));
    assertReplay(first, await app.post('key-1', tags('a, b')));
    assertProblem(await app.post('key-1', tags('b', 'a')), 422, 'key-reused');
    assertProblem(await app.post('key-1', tags('a')), 422, 'key-reused');
    assert.equal(app.runs, 1);
  });

  // F34
  test('escapes in a quoted key are decoded', async (t) => {
    const app = await t.start({
      routes: [{ handler: ({ attempt }) => ({ status: 200, body: attempt?.key ?? '' }) }],
    });
    assert.equal(text(await app.post(String.raw`"say \"hi\" \\ bye"`)), String.raw`say "hi" \ bye`);
  });

  // F35
  test('keys differ by letter case', async (t) => {
    const app = await t.start();
    await app.post('A');
    await app.post('a');
    assert.equal(app.runs, 2);
  });

  test('names that every object has are keys like any other', async (t) => {
    const app = await t.start();
    for (const [i, name] of NAMES.entries()) {
      const first = await app.post(name);
      assert.deepEqual(json(first), { run: i + 1 });
      assertReplay(first, await app.post(name));
    }
  });

  test('names that every object has are scopes like any other', async (t) => {
    const app = await t.start();
    for (const name of NAMES) {
      // Of a missing value, only behind a prefix (F97).
      const headers: HeaderLine[] = [['X-Account', isTextOfMissing(name) ? `t:${name}` : name]];
      assertReplay(await app.post('key-1', { headers }), await app.post('key-1', { headers }));
    }
    assert.equal(app.runs, NAMES.length);
  });

  // F36, F37
  for (const method of ['OPTIONS', 'GET', 'HEAD']) {
    test(`${method} passes untouched, with or without a key`, async (t) => {
      const app = await t.start({
        routes: [{ method: 'ALL', handler: () => ({ status: 200, body: 'ok' }) }],
      });
      for (const headers of [[], [keyLine('key-1')], [keyLine('key-1')], [keyLine('')]]) {
        const answer = await app.send({ method, target: '/things', headers });
        assert.equal(answer.status, 200);
        assert.equal(header(answer, 'idempotency-replayed'), undefined);
        assert.equal(header(answer, 'idempotency-key-expires'), undefined);
      }
      assert.equal(app.runs, 4);
      assert.deepEqual(await t.store.list({}), []);
    });
  }

  test('methods names the methods that are protected', async (t) => {
    const app = await t.start({
      routes: [{ method: 'ALL', options: { policy: 'standard', methods: ['put', 'DELETE'] } }],
    });
    for (const method of ['PUT', 'DELETE']) {
      const first = await app.post(`${method}-key`, { method });
      assertReplay(first, await app.post(`${method}-key`, { method }));
      assertProblem(await app.post(null, { method }), 400, 'key-missing');
    }
    assert.equal(app.runs, 2);
    await app.post('key-1');
    await app.post('key-1');
    assert.equal(app.runs, 4, 'POST passes');
  });

  // F99
  for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
    test(`put on a route with its method, ${method} is protected and asked for a key`, async (t) => {
      const { hasRoutePatterns, tellsRouteMethods = hasRoutePatterns } = t.harness;
      if (!tellsRouteMethods) return notOnRoutes(t, method);
      const app = await t.start({ routes: [{ method }] });
      const first = await app.post('key-1', { method });
      assertReplay(first, await app.post('key-1', { method }));
      assertProblem(await app.post(null, { method }), 400, 'key-missing');
      assert.deepEqual([app.runs, app.count('misuse')], [1, 0]);
    });
  }

  // F99: no DELETE that exists already becomes a 400.
  for (const method of ['PUT', 'DELETE'] as const) {
    test(`put in for all methods, a ${method} is protected if it brings a key, else passes and is told of once`, (t) =>
      notOnRoutes(t, method));
  }

  test('put in for all methods, POST and PATCH are asked for a key', async (t) => {
    const app = await t.start({ routes: [{ method: 'USE' }] });
    for (const method of ['POST', 'PATCH'])
      assertProblem(await app.post(null, { method }), 400, 'key-missing');
    assert.deepEqual([app.runs, app.count('misuse')], [0, 0]);
  });

  test('of several headers each may carry the key; two different keys are refused, two equal ones are one', async (t) => {
    const options = { policy: 'standard', header: ['PayPal-Request-Id', 'X-Request-Key'] } as const;
    const app = await t.start({ routes: [{ options }] });
    const send = (...headers: HeaderLine[]) => app.post(null, { headers });
    const first = await send(['paypal-request-id', 'key-1']);
    assertReplay(first, await send(['X-Request-Key', '"key-1"']));
    assertReplay(first, await send(['X-Request-Key', 'key-1'], ['PayPal-Request-Id', '"key-1"']));
    for (const other of ['key-2', '"key-2"', 'a b', ''])
      assert.equal((await send(['PayPal-Request-Id', 'key-1'], ['X-Request-Key', other])).status, 400);
    assertProblem(await send(['PayPal-Request-Id', 'key-1'], ['X-Request-Key', 'key-2']), 400, 'key-several');
    assertProblem(await send(['Idempotency-Key', 'key-1']), 400, 'key-missing');
    assert.equal(app.runs, 1);
  });

  // F88
  for (const profile of ['ietf', 'stripe'] as const) {
    test(`what is told of keys names the header that the route takes them from: ${profile}`, async (t) => {
      const options = { policy: 'standard', profile, header: 'PayPal-Request-Id' } as const;
      const app = await t.start({ routes: [{ options }] });
      const send = (key: string, amount = 1) =>
        app.send(jsonRequest(null, { amount }, { headers: [['PayPal-Request-Id', key]] }));
      await send('key-1');
      const told = [
        await app.post('key-1'),
        await send('key-1', 2),
        await send('"'),
        await send('x'.repeat(256)),
      ];
      for (const answer of told) assert.doesNotMatch(text(answer), /Idempotency-Key/, text(answer));
      assert.match(text(told[0] as (typeof told)[0]), /PayPal-Request-Id/);
    });
  }

  test('the key may come in another header, and then Idempotency-Key says nothing', async (t) => {
    const app = await t.start({ routes: [{ options: { policy: 'standard', header: 'X-Request-Key' } }] });
    const headers: HeaderLine[] = [['x-request-KEY', 'key-1']];
    const first = await app.post('one', { headers });
    assertReplay(first, await app.post('two', { headers }));
    assertProblem(await app.post('one'), 400, 'key-missing');
  });

  test('where no key is required, a request without one simply runs, and one with a key is protected', async (t) => {
    const app = await t.start({
      routes: [
        {
          options: { policy: 'standard', required: false },
          handler: ({ attempt, body }) => ({
            status: 200,
            body: `${attempt?.number ?? 'none'}: ${String(body.length)}`,
          }),
        },
      ],
    });
    assert.equal(text(await app.post(null)), 'none: 12');
    assert.equal(text(await app.post(null)), 'none: 12');
    assert.equal(app.runs, 2);
    const first = await app.post('key-1');
    assert.equal(text(first), '1: 12');
    assertReplay(first, await app.post('key-1'));
    assertProblem(await app.post(''), 400, 'key-empty');
  });

  test('a handler learns its attempt: number, operation, scope and key', async (t) => {
    const app = await t.start({
      routes: [
        {
          handler: ({ attempt }) => ({
            status: 200,
            body: JSON.stringify([
              attempt?.number,
              attempt?.key,
              attempt?.resumed,
              attempt?.scope.split('|')[0],
            ]),
          }),
        },
      ],
    });
    assert.equal(text(await app.post('"key 1"')), '[1,"key 1",null,"acme"]');
  });
}

async function notOnRoutes(t: Bench, method: 'PUT' | 'PATCH' | 'DELETE'): Promise<void> {
  const app = await t.start({ routes: [{ method: 'USE' }] });
  const first = await app.post('key-1', { method });
  assertReplay(first, await app.post('key-1', { method }));
  assert.equal(app.runs, 1);
  if (method === 'PATCH') return assertProblem(await app.post(null, { method }), 400, 'key-missing');
  for (const runs of [2, 3]) {
    assert.equal((await app.post(null, { method })).status, 201);
    assert.equal(app.runs, runs);
  }
  assert.deepEqual([(await app.saw('misuse')).code, app.count('misuse')], ['method-not-asked', 1]);
}
