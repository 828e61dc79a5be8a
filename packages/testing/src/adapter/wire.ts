/** The wire: bodies too large or cut short, old and unusual forms of HTTP, several requests on one connection. */

import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import type { HeaderLine } from 'samekey/internals/core/response';
import type { WireRequest } from './client.ts';
import { assertProblem, assertReplay, json, text } from './expect.ts';
import type { AdapterHarness } from './harness.ts';
import { type AddTest, held, jsonRequest, keyLine } from './kit.ts';

const MADE = { status: 201, body: 'made' };
const JSON_TYPE: HeaderLine = ['Content-Type', 'application/json'];
const CHUNKED: HeaderLine = ['Transfer-Encoding', 'chunked'];
const SMALL = { policy: 'standard', requestSizeMaxBytes: 1_000 } as const;

/** Bodies of a size, by how their reader learns it. */
function bodiesOf(size: number): Readonly<Record<string, WireRequest>> {
  return {
    'a declared length': { body: 'x'.repeat(size) },
    'a length nobody declared': {
      body: `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n0\r\n\r\n`,
      headers: [CHUNKED],
    },
    'a size that shows when decoded': {
      body: gzipSync('x'.repeat(size)),
      headers: [['Content-Encoding', 'gzip']],
    },
  };
}

/** A body compressed so often, and what its header says. */
function layered(layers: number, ...codings: readonly string[]): WireRequest {
  let body: string | Uint8Array = '{"amount":1}';
  for (let layer = 0; layer < layers; layer += 1) body = gzipSync(body, { level: 0 });
  const lines = codings.map((coding): HeaderLine => ['Content-Encoding', coding]);
  return { target: '/things', headers: [JSON_TYPE, keyLine('key-1'), ...lines], body };
}

export function wireTests(test: AddTest, harness: AdapterHarness): void {
  for (const [what, request] of Object.entries(bodiesOf(1_001))) {
    test(`a body too large by one byte of ${what} is 413, and what follows on the connection is not taken for it`, async (t) => {
      const app = await t.start({ routes: [{ options: SMALL }] });
      const connection = app.open();
      const headers = [keyLine('key-1'), ...(request.headers ?? [])];
      connection.send({ target: '/things', keepAlive: true, ...request, headers });
      const refused = await connection.answer();
      assertProblem(refused, 413, 'body-too-large');
      assert.equal(json(refused)['sizeMaxBytes'], 1_000);
      assert.equal(app.runs, 0);
      assert.deepEqual(await t.store.list({}), []);
      connection.send(jsonRequest('key-2', { amount: 1 }));
      // The connection goes on with the next request, or it is over.
      const next = await connection.answer().catch(() => null);
      assert.equal(next?.status ?? 201, 201);
    });
  }

  for (const [what, request] of Object.entries(bodiesOf(1_000))) {
    test(`a body of exactly the largest size, by ${what}, is taken`, async (t) => {
      const app = await t.start({
        routes: [{ options: SMALL, handler: () => ({ status: 200, body: 'taken' }) }],
      });
      const headers = [keyLine('key-1'), ...(request.headers ?? [])];
      assert.equal(text(await app.send({ target: '/things', ...request, headers })), 'taken');
    });
  }

  test('a body that is not what its content coding says is refused', async (t) => {
    const app = await t.start();
    const headers: HeaderLine[] = [keyLine('key-1'), ['Content-Encoding', 'gzip']];
    assertProblem(await app.send({ target: '/things', headers, body: 'not gzip' }), 400, 'body-unreadable');
    assert.equal(app.runs, 0);
    assert.deepEqual(await t.store.list({}), []);
  });

  // F91
  test('a body of two content codings is the one that it holds; of more, it is refused before anything is undone', async (t) => {
    const app = await t.start();
    const first = await app.post('key-1');
    assert.equal(first.status, 201);
    const one = await app.send(layered(1, 'identity, gzip'));
    assertReplay(first, one);
    assertReplay(first, await app.send(layered(2, 'gzip,gzip')));
    for (const layers of [3, 1_500]) {
      const codings = Array.from({ length: layers }, () => 'gzip');
      const refused = await app.send(layered(layers, codings.join(',')));
      assertProblem(refused, 400, 'body-unreadable');
    }
    assertProblem(await app.send(layered(3, 'gzip', 'gzip', 'gzip')), 400, 'body-unreadable');
    assert.equal(app.runs, 1);
  });

  if (harness.hasWholeBodies !== true) {
    test('a body that ends early claims nothing', async (t) => {
      const app = await t.start();
      const connection = app.open();
      connection.send({
        target: '/things',
        headers: [keyLine('key-1'), ['Content-Length', '100']],
        body: 'half',
      });
      // Another request, so that the server has seen the first one's head and part of its body.
      await app.post('key-2');
      connection.hangUp();
      assert.equal((await app.saw('outcome', 2)).kind, 'request-unreadable');
      assert.equal(app.runs, 1);
      assert.equal((await t.store.list({})).length, 1);
    });
  }

  test('the handler reads the body as if nobody had read it before', async (t) => {
    const app = await t.start({ routes: [{ handler: ({ body }) => ({ status: 200, body }) }] });
    const big = 'x'.repeat(300_000);
    assert.equal(text(await app.send({ target: '/things', headers: [keyLine('key-1')], body: big })), big);
    assert.equal(text(await app.send({ target: '/things', headers: [keyLine('key-2')] })), '');
    const parts = ['3\r\nabc\r\n', '2\r\nde\r\n', '0\r\n\r\n'].join('');
    assert.equal(
      text(await app.send({ target: '/things', headers: [keyLine('key-3'), CHUNKED], body: parts })),
      'abcde',
    );
    const nothing = await app.send({
      target: '/things',
      headers: [keyLine('key-4'), CHUNKED],
      body: '0\r\n\r\n',
    });
    assert.deepEqual([nothing.status, text(nothing)], [200, '']);
  });

  test('how a body travels is no part of the request: chunked, or with a content coding', async (t) => {
    const app = await t.start();
    const first = await app.post('key-1');
    const type = JSON_TYPE;
    const chunked = { headers: [type, keyLine('key-1'), CHUNKED], body: 'c\r\n{"amount":1}\r\n0\r\n\r\n' };
    assertReplay(first, await app.send({ target: '/things', ...chunked }));
    const zipped = gzipSync('{"amount":1}');
    const headers: HeaderLine[] = [type, keyLine('key-1'), ['Content-Encoding', 'gzip']];
    assertReplay(first, await app.send({ target: '/things', headers, body: zipped }));
  });

  test('a client that waits for 100 Continue gets it, and is protected', async (t) => {
    const app = await t.start();
    const ask = async () => {
      const body = '{"amount":1}';
      const headers: HeaderLine[] = [
        ['Expect', '100-continue'],
        ['Content-Length', String(body.length)],
      ];
      const connection = app.open().send(jsonRequest('key-1', '', { headers }));
      await connection.sees('100 Continue');
      return connection.send(body).answer();
    };
    const first = await ask();
    assert.deepEqual([first.status, first.interim], [201, [100]]);
    assertReplay(first, await ask());
    assert.equal(app.runs, 1);
  });

  test('HTTP/1.0 is protected alike', async (t) => {
    const app = await t.start();
    const first = await app.post('key-1', { version: '1.0' });
    assert.equal(first.status, 201);
    assertReplay(first, await app.post('key-1', { version: '1.0' }));
    assertReplay(first, await app.post('key-1'));
  });

  test('a target in absolute form is the same request as one in origin form', async (t) => {
    const app = await t.start();
    const first = await app.post('key-1', { target: 'http://samekey.test/things?a=1' });
    assert.equal(first.status, 201);
    assertReplay(first, await app.post('key-1', { target: '/things?a=1' }));
    assertProblem(await app.post('key-1', { target: 'http://samekey.test/things?a=2' }), 422, 'key-reused');
  });

  test('two Content-Type lines do not make two bodies one', async (t) => {
    const app = await t.start();
    const ask = (body: string) =>
      app.send(jsonRequest('key-1', body, { headers: [['Content-Type', 'text/plain']] }));
    const first = await ask('{"amount":1}');
    assert.equal(first.status, 201);
    assertReplay(first, await ask('{"amount":1}'));
    assertProblem(await ask('{"amount":2}'), 422, 'key-reused');
  });

  test('requests with one key in a row on one connection are answered in order, and one runs', async (t) => {
    const slow = held(MADE);
    const app = await t.start({ routes: [{ handler: slow.handler }] });
    const request = jsonRequest('key-1', { amount: 1 }, { keepAlive: true });
    const connection = app.open().send(request).send(request);
    await slow.started;
    const inTurn = harness.hasPipelining === false;
    if (!inTurn) assert.equal((await app.saw('outcome')).kind, 'in-progress');
    slow.release();
    const first = await connection.answer();
    assert.deepEqual([first.status, text(first)], [201, 'made']);
    if (inTurn) assertReplay(first, await connection.answer());
    else assertProblem(await connection.answer(), 409, 'in-progress');
    connection.send(request);
    assertReplay(first, await connection.answer());
    assert.equal(app.runs, 1);
  });
}
