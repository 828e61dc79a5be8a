/** What is the same request, and whose: scopes, fingerprints, deploys in between. */

import assert from 'node:assert/strict';
import type { HeaderLine } from 'samekey/internals/core/response';
import { assertProblem, assertReplay, header, text } from './expect.ts';
import type { AdapterHarness } from './harness.ts';
import { type AddTest, jsonRequest, keyLine } from './kit.ts';

/** Bodies that are one request (F28), each with its first spelling. */
const EQUAL: readonly (readonly [what: string, first: string, again: string])[] = [
  ['members are reordered', '{"a":1,"b":2}', '{"b":2,"a":1}'],
  ['white space differs', '{"a":[1,2]}', ' { "a" : [ 1,\n2 ] } '],
  ['escapes differ', '{"a":"a/\u00e9"}', String.raw`{"\u0061":"\u0061\/\u00E9"}`],
  ['numbers are spelt 1, 1.0 and 1e0', '{"a":1,"b":100}', '{"a":1.0,"b":1e2}'],
];

/** Bodies that are two requests (F29). */
const DIFFERENT: readonly (readonly [what: string, first: string, other: string])[] = [
  ['large numbers differ in the last digit', '{"a":9007199254740993}', '{"a":9007199254740992}'],
  ['null is not absent', '{"a":null}', '{}'],
  ['a member comes twice', '{"a":1}', '{"a":1,"a":1}'],
  ['a member of the same name comes last', '{"a":1,"a":2}', '{"a":2,"a":1}'],
  ['a number is not a text', '{"a":1}', '{"a":"1"}'],
  ['__proto__ is a member', '{"__proto__":{"a":1}}', '{}'],
];

/** Forms that are one request, or two (F106). */
const FORMS: readonly (readonly [what: string, first: string, again: string, isSame: boolean])[] = [
  ['another order of fields', 'a=1&b=2&c=3', 'c=3&a=1&b=2', true],
  ['another order of fields with members', 'user[name]=a&user[age]=1', 'user[age]=1&user[name]=a', true],
  ['another place of a list', 'tags[]=a&tags[]=b&x=1', 'x=1&tags[]=a&tags[]=b', true],
  ['another order within a name', 'a=1&a=2', 'a=2&a=1', false],
  ['another order within a list', 'tags[]=a&tags[]=b', 'tags[]=b&tags[]=a', false],
  ['one field more of a name', 'a=1&b=2', 'a=1&b=2&a=1', false],
  [
    'another order of a list of objects',
    'items[][sku]=a&items[][n]=1&items[][sku]=b',
    'items[][sku]=a&items[][sku]=b&items[][n]=1',
    false,
  ],
  ['another order of one list that is named in two ways', 'a[]=1&a[0]=2', 'a[0]=2&a[]=1', false],
  ['another order of a value and its members', 'a=1&a[b]=2', 'a[b]=2&a=1', false],
];

function multipart(form: string, boundary: string): string {
  const parts = [...new URLSearchParams(form)].map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return `${parts.join('')}--${boundary}--\r\n`;
}

/** Scopes that must not collide (F30). */
const SCOPES = [
  ['a', 'b'],
  ['a/b'],
  ['a%2Fb'],
  ['a|b'],
  ['a', 'b|POST /things'],
  ['a', 'b', 'c'],
  ['a', 'b/c'],
  ['a/b', 'c'],
  ['*'],
  ['%2A'],
  ['A', 'b'],
  [' a', 'b'],
  ['a ', 'b'],
  ['a\u0000', 'b'],
  ['__proto__'],
];

/** What a scope function should not give back. */
const BAD_SCOPES: readonly (readonly [what: string, scope: () => unknown])[] = [
  ['a number', () => 42],
  ['true', () => true],
  ['an object', () => ({ tenant: 'acme' })],
  ['a part that is undefined', () => ['acme', undefined]],
  ['a part that is empty', () => ['acme', '']],
  ['a part that is a list', () => [['acme']]],
  ['half of a surrogate pair', () => ['\ud800']],
  ['a part of 600 bytes', () => ['x'.repeat(600)]],
  [
    'a throw',
    () => {
      throw new Error('no session');
    },
  ],
  ['a rejected promise', () => Promise.reject(new Error('no session'))],
];

export function samenessTests(test: AddTest, harness: AdapterHarness): void {
  for (const [what, first, again] of EQUAL) {
    test(`a retry is the same request when ${what}`, async (t) => {
      const app = await t.start();
      const answer = await app.send(jsonRequest('key-1', first));
      assertReplay(answer, await app.send(jsonRequest('key-1', again)));
      assert.equal(app.runs, 1);
    });
  }

  for (const [what, first, other] of DIFFERENT) {
    test(`it is another request when ${what}`, async (t) => {
      const app = await t.start();
      const answer = await app.send(jsonRequest('key-1', first));
      assertProblem(await app.send(jsonRequest('key-1', other)), 422, 'key-reused');
      assertReplay(answer, await app.send(jsonRequest('key-1', first)));
      assert.equal(app.runs, 1);
    });
  }

  // F32
  test('a multipart retry with another boundary is the same request', async (t) => {
    const app = await t.start();
    const form = (boundary: string, value: string) =>
      app.send({
        target: '/things',
        headers: [keyLine('key-1'), ['Content-Type', `multipart/form-data; boundary=${boundary}`]],
        body: `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n${value}\r\n--${boundary}--\r\n`,
      });
    const first = await form('one', '1');
    assertReplay(first, await form('two', '1'));
    assertProblem(await form('three', '2'), 422, 'key-reused');
    assert.equal(app.runs, 1);
  });

  // F106
  for (const [what, first, again, isSame] of FORMS) {
    test(`forms: ${what} is ${isSame ? 'the same request' : 'another request'}`, async (t) => {
      const app = await t.start();
      const asForm = (body: string) =>
        app.send({
          target: '/things',
          headers: [keyLine('key-1'), ['Content-Type', 'application/x-www-form-urlencoded']],
          body,
        });
      const asMultipart = (body: string, boundary: string) =>
        app.send({
          target: '/things',
          headers: [keyLine('key-2'), ['Content-Type', `multipart/form-data; boundary=${boundary}`]],
          body: multipart(body, boundary),
        });
      for (const [one, other] of [
        [await asForm(first), await asForm(again)],
        [await asMultipart(first, 'one'), await asMultipart(again, 'two')],
      ] as const) {
        if (isSame) assertReplay(one, other);
        else assertProblem(other, 422, 'key-reused');
      }
      assert.equal(app.runs, 2);
    });
  }

  // F27
  test('path, query and method are part of the request', async (t) => {
    const options = { policy: 'standard', methods: ['POST', 'PATCH'] } as const;
    const app = await t.start({
      routes: [
        {
          method: 'ALL',
          pattern: '/x/:id',
          options,
          handler: ({ method }) => ({ status: 200, body: `${method} ${app.runs}` }),
        },
      ],
    });
    const first = await app.post('key-1', { target: '/x/1' });
    for (const target of ['/x/2', '/x/1?dry=1', '/x/1?', '/x/%31']) {
      const other = await app.post('key-1', { target });
      const same = target === '/x/1?' || target === '/x/%31';
      if (same) assertReplay(first, other);
      else assertProblem(other, 422, 'key-reused');
    }
    const patch = await app.post('key-1', { target: '/x/1', method: 'PATCH' });
    assert.equal(header(patch, 'idempotency-replayed'), undefined);
    // An operation of its own where the route tells the method apart, else a mismatch: never the answer to the POST.
    if (patch.status === 200) assert.equal(text(patch), 'PATCH 2');
    else assertProblem(patch, 422, 'key-reused');
    assertReplay(first, await app.post('key-1', { target: '/x/1' }));
  });

  // F25
  test('two tenants with the same key and body are two executions, and neither sees the other', async (t) => {
    const app = await t.start({
      routes: [{ handler: (call) => ({ status: 200, body: call.header('x-account') ?? '' }) }],
    });
    for (const account of ['acme', 'zorro']) {
      const headers: HeaderLine[] = [['X-Account', account]];
      const first = await app.post('key-1', { headers });
      assert.equal(text(first), account);
      assertReplay(first, await app.post('key-1', { headers }));
    }
    assert.equal(app.runs, 2);
  });

  // F26
  test('the same principal with another credential gets the replay', async (t) => {
    const app = await t.start();
    const as = (token: string) => app.post('key-1', { headers: [['Authorization', `Bearer ${token}`]] });
    assertReplay(await as('old'), await as('new'));
  });

  // F30
  test('scope parts that contain separators never collide', async (t) => {
    const app = await t.start({
      routes: [{ scope: (request) => JSON.parse(request.header('x-scope') ?? '') as unknown }],
    });
    const ask = (scope: readonly string[]) =>
      app.post('key-1', { headers: [['X-Scope', JSON.stringify(scope)]] });
    const firsts = new Map<readonly string[], Awaited<ReturnType<typeof ask>>>();
    for (const scope of SCOPES) firsts.set(scope, await ask(scope));
    assert.equal(app.runs, SCOPES.length);
    for (const [scope, first] of firsts) assertReplay(first, await ask(scope));
  });

  test('a caller that the scope function does not know is refused, and nothing runs', async (t) => {
    for (const scope of [null, undefined, '', []]) {
      const app = await t.start({ routes: [{ scope: () => Promise.resolve(scope) }] });
      assertProblem(await app.post('key-1'), 403, 'anonymous');
      assert.equal(app.runs, 0);
    }
  });

  // F97
  for (const missing of ['undefined', 'null', 'NaN', '[object Object]']) {
    test(`a scope with the text "${missing}" is refused as no caller, and the mend is told once`, async (t) => {
      for (const scope of [() => missing, () => ['acme', missing]]) {
        const app = await t.start({ routes: [{ scope }] });
        for (const key of ['key-1', 'key-2']) assertProblem(await app.post(key), 403, 'anonymous');
        assert.equal(app.runs, 0);
        const told = await app.saw('misuse');
        assert.deepEqual([told.code, app.count('misuse')], ['caller-missing', 1]);
        assert.ok(told.message.includes(`"t:${missing}"`), told.message);
      }
      assert.deepEqual(await t.store.list({}), []);
      const app = await t.start({ routes: [{ scope: () => [`t:${missing}`] }] });
      assert.equal((await app.post('key-1')).status, 201);
    });
  }

  for (const [what, scope] of BAD_SCOPES) {
    test(`a scope function that gives ${what} is an error of the server, and nothing runs`, async (t) => {
      const app = await t.start({ routes: [{ scope }] });
      assert.equal((await app.post('key-1')).status, 500);
      assert.equal(app.runs, 0);
      assert.deepEqual(await t.store.list({}), []);
    });
  }

  if (harness.hasWholeBodies !== true) {
    // F31
    test('a body that something before Samekey has taken is a loud error, never an empty body', async (t) => {
      const app = await t.start({ routes: [{ isBodyTaken: true }] });
      assert.equal((await app.post('key-1')).status, 500);
      assert.equal((await app.saw('misuse')).code, 'body-consumed');
      assert.equal(app.runs, 0);
      assert.deepEqual(await t.store.list({}), []);
    });
  }

  // F43
  test('authorisation runs before Samekey: a caller who may not any more gets no replay', async (t) => {
    let allowed = true;
    const app = await t.start({ routes: [{ isAllowed: () => allowed }] });
    const first = await app.post('key-1');
    allowed = false;
    const refused = await app.post('key-1');
    assert.deepEqual([refused.status, text(refused)], [403, 'refused']);
    allowed = true;
    assertReplay(first, await app.post('key-1'));
    assert.equal(app.runs, 1);
  });
}
