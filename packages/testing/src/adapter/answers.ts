/** Answers are byte-true: every way to give one, every kind of body and header line. */

import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import type { HeaderLine } from 'samekey/internals/core/response';
import { assertProblem, assertReplay, header, json, lines, text } from './expect.ts';
import type { AdapterHarness, ContractAnswer } from './harness.ts';
import type { AddTest } from './kit.ts';

const JSON_TYPE: HeaderLine = ['Content-Type', 'application/json'];
const BYTES_TYPE: HeaderLine = ['Content-Type', 'application/octet-stream'];

/** F38–F40. */
const ANSWERS: Readonly<Record<string, ContractAnswer>> = {
  'a 200 without a body': { status: 200 },
  'an empty 202': { status: 202 },
  'a 204': { status: 204 },
  'a 205': { status: 205 },
  'a 304': { status: 304, headers: [['ETag', '"v1"']] },
  'the JSON false': { status: 200, headers: [JSON_TYPE], body: 'false' },
  'the JSON null': { status: 200, headers: [JSON_TYPE], body: 'null' },
  'an empty JSON string': { status: 200, headers: [JSON_TYPE], body: '""' },
  'bytes that are no text': {
    status: 200,
    headers: [BYTES_TYPE],
    body: Uint8Array.from([0x00, 0xff, 0xfe, 0x80, 0x01]),
  },
  'a body with NUL': { status: 200, headers: [BYTES_TYPE], body: 'a\0b' },
  'a gzip-encoded body': {
    status: 200,
    headers: [BYTES_TYPE, ['Content-Encoding', 'gzip']],
    body: gzipSync('zipped'),
  },
  'a 303 with Location': { status: 303, headers: [['Location', '/orders/1?x=1#y']] },
  'a Content-Disposition with a comma': {
    status: 200,
    headers: [BYTES_TYPE, ['Content-Disposition', 'attachment; filename="a, b.csv"']],
    body: 'x',
  },
  'two Link lines': {
    status: 200,
    headers: [
      ['Link', '</a>; rel=next'],
      ['Link', '</b>; rel=prev'],
    ],
    body: 'x',
  },
  'a header that is empty': { status: 200, headers: [['X-Empty', '']], body: 'x' },
  'a header outside of ASCII': {
    status: 200,
    headers: [['X-Name', 'caf\u00e9']],
    body: Uint8Array.from([1]),
  },
  'a 418 with a body': { status: 418, headers: [JSON_TYPE], body: '{"short":true}' },
};

export function answerTests(test: AddTest, harness: AdapterHarness): void {
  // F2
  for (const way of harness.ways) {
    test(`an answer given by ${way} is recorded and replayed`, async (t) => {
      const answer = { status: 201, headers: [JSON_TYPE], body: '{"made":true}', way };
      const app = await t.start({ routes: [{ handler: () => answer }] });
      const first = await app.post('key-1');
      assert.deepEqual([first.status, text(first)], [201, '{"made":true}']);
      assertReplay(first, await app.post('key-1'));
      assert.equal((await app.saw('finished')).to, 'completed');
      assert.equal(app.runs, 1);
    });
  }

  for (const [what, answer] of Object.entries(ANSWERS)) {
    test(`${what} is replayed exactly`, async (t) => {
      const app = await t.start({ routes: [{ handler: () => answer }] });
      const first = await app.post('key-1');
      assert.equal(first.status, answer.status);
      assert.deepEqual(first.body, Buffer.from(answer.body ?? ''));
      for (const [name] of answer.headers ?? []) {
        const wanted = (answer.headers ?? []).filter((line) => line[0] === name).map(([, value]) => value);
        const got = lines(first, name.toLowerCase());
        if (harness.hasRepeatedLines) assert.deepEqual(got, wanted);
        else assert.equal(got.join(', '), wanted.join(', '));
      }
      assertReplay(first, await app.post('key-1'));
      assert.equal(app.runs, 1);
    });
  }

  // F39
  test('a body of 2 MiB reaches the first client whole, and its retry is told that it was not kept', async (t) => {
    const big = Buffer.alloc(2 * 1024 * 1024, 'samekey ');
    const headers: HeaderLine[] = [BYTES_TYPE, ['Location', '/reports/1']];
    const app = await t.start({ routes: [{ handler: () => ({ status: 201, headers, body: big }) }] });
    const first = await app.post('key-1');
    assert.ok(first.status === 201 && first.isComplete && first.body.equals(big));
    const again = await app.post('key-1');
    assertProblem(again, 410, 'response-not-stored');
    assert.equal(json(again)['originalStatus'], 201);
    assert.equal(header(again, 'location'), '/reports/1');
    assert.ok(header(again, 'idempotency-key-expires'));
    assert.equal(app.runs, 1);
  });

  // F40
  test('Set-Cookie belongs to the session: it is replayed only if asked for', async (t) => {
    const cookies: HeaderLine[] = [
      ['Set-Cookie', 'a=1; Path=/'],
      ['Set-Cookie', 'b=2, 3; HttpOnly'],
    ];
    for (const storeSetCookie of [false, true]) {
      const key = `key-${storeSetCookie}`;
      const app = await t.start({
        routes: [
          {
            options: { policy: 'standard', storeSetCookie },
            handler: () => ({ status: 200, headers: cookies }),
          },
        ],
      });
      const values = cookies.map(([, value]) => value);
      assert.deepEqual(lines(await app.post(key), 'set-cookie'), values);
      assert.deepEqual(lines(await app.post(key), 'set-cookie'), storeSetCookie ? values : []);
    }
  });

  test('what belongs to one connection, one moment or one caller reaches the first client and is not replayed', async (t) => {
    const headers: HeaderLine[] = [
      ['X-Request-Id', 'r-1'],
      ['Access-Control-Allow-Origin', 'https://shop.example'],
      ['Server-Timing', 'db;dur=53'],
      ['X-Kept', 'yes'],
    ];
    const app = await t.start({ routes: [{ handler: () => ({ status: 200, headers }) }] });
    const first = await app.post('key-1');
    for (const [name, value] of headers) assert.equal(header(first, name.toLowerCase()), value);
    const again = await app.post('key-1');
    assert.deepEqual(
      headers.map(([name]) => header(again, name.toLowerCase())),
      [undefined, undefined, undefined, 'yes'],
    );
  });

  test('Idempotency-Key-Expires says until when, the same each time', async (t) => {
    const app = await t.start({ routes: [{ options: { policy: 'standard', retentionMs: 3_600_000 } }] });
    const first = await app.post('key-1');
    assert.equal(header(first, 'idempotency-key-expires'), 'Thu, 01 Jan 2026 01:00:00 GMT');
    await t.world.advance(60_000);
    assertReplay(first, await app.post('key-1'));
  });

  // F48
  test('an expired key acts as new before anybody has reaped it', async (t) => {
    const app = await t.start({ routes: [{ options: { policy: 'standard', retentionMs: 3_600_000 } }] });
    const first = await app.post('key-1');
    await t.world.advance(3_600_000);
    const later = await app.post('key-1');
    assert.deepEqual([later.status, header(later, 'idempotency-replayed')], [201, undefined]);
    assert.notDeepEqual(later.body, first.body);
    assert.equal(app.runs, 2);
  });

  test('an expired key that is kept as a tombstone is gone and never runs', async (t) => {
    const options = { policy: 'standard', retentionMs: 3_600_000, tombstoneMs: 3_600_000 } as const;
    const app = await t.start({ routes: [{ options }] });
    await app.post('key-1');
    await t.world.advance(3_600_000);
    assertProblem(await app.post('key-1'), 410, 'key-expired');
    assert.equal(app.runs, 1);
  });

  // What an operator or a reconciler put into the store is not the handler's, and no runtime has checked it.
  test('a header value with line breaks is not stored by hand, and never let out as further header lines', async (t) => {
    const app = await t.start({
      routes: [{ options: { policy: 'payments' }, handler: () => ({ status: 502 }) }],
    });
    await app.post('key-1');
    const [record] = await t.store.list({});
    assert.ok(record?.state === 'unknown');
    const { scope, key, claimId, attempt } = record;
    const headers: HeaderLine[] = [['Location', '/x\r\nSet-Cookie: admin=1']];
    const response = { status: 200, headers, body: new Uint8Array(0) };
    const settling = async () =>
      t.store.settle([
        { scope, key, claimId, attempt, to: 'completed', reason: 'by hand', actor: null, response },
      ]);
    await assert.rejects(settling, { code: 'ERR_SAMEKEY_OPTIONS' });
    const answer = await app.post('key-1');
    assert.deepEqual(lines(answer, 'set-cookie'), []);
    assert.equal(answer.status, 409);
    assert.equal(app.runs, 1);
  });
}
