/** What only AWS Lambda has around a door: four forms of events, Base64, and a deadline. */

import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  attemptOf,
  idempotent,
  type LambdaEvent,
  type LambdaHandler,
  type LambdaContext,
  serve,
  serveStatus,
} from '../../src/adapters/lambda/index.ts';
import { protectionOf } from '../../src/http/marker.ts';
import { createSamekey } from '../../src/index.ts';
import { internalsOf, type Samekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { pushDue } from '../../src/ways/completer.ts';
import { onBench } from '../../../testing/src/adapter-contract.ts';
import { gate } from '../../../testing/src/adapter/kit.ts';
import { lambdaHarness } from './lambda-harness.ts';

const OPTIONS = { policy: 'standard', scope: () => 'acme' } as const;
const CONTEXT: LambdaContext = { getRemainingTimeInMillis: () => 900_000 };

const second = (more: Partial<LambdaEvent> = {}): LambdaEvent => ({
  routeKey: 'POST /things/{id}',
  rawPath: '/things/7',
  rawQueryString: 'a=%20b',
  headers: { 'idempotency-key': 'key-1', 'content-type': 'application/json' },
  body: '{"amount":1}',
  requestContext: { stage: '$default', http: { method: 'POST' } },
  ...more,
});

const first = (more: Partial<LambdaEvent> = {}): LambdaEvent => ({
  httpMethod: 'POST',
  path: '/things/7',
  resource: '/things/{id}',
  multiValueHeaders: { 'Idempotency-Key': ['key-1'] },
  body: '{"amount":1}',
  requestContext: { stage: 'prod' },
  ...more,
});

const scope = (event: LambdaEvent): string | undefined => event.headers?.['x-account'];
const asked = (account: string, more: Partial<LambdaEvent> = {}): LambdaEvent =>
  second({ headers: { 'idempotency-key': 'key-1', 'x-account': account }, ...more });

async function on(
  handler: LambdaHandler<LambdaEvent, LambdaContext>,
  body: (
    run: (event: LambdaEvent, context?: LambdaContext) => ReturnType<ReturnType<typeof idempotent>>,
    samekey: Samekey,
  ) => Promise<void>,
): Promise<void> {
  const samekey = createSamekey({ store: memoryStore() });
  const run = idempotent(samekey, OPTIONS, handler);
  await body((event, context = CONTEXT) => run(event, context), samekey);
  await samekey.close({ drainMs: 0 });
}

describe('an answer of Lambda', () => {
  it('has the form of its event, and a replay the same', () => {
    let runs = 0;
    const answer = () => ({
      statusCode: 201,
      headers: { 'X-One': 'a', 'Content-Type': 'text/plain' },
      multiValueHeaders: { 'X-Two': ['b', 'c'] },
      body: `made ${(runs += 1)}`,
    });
    return on(answer, async (run) => {
      const plain = { statusCode: 201, body: 'made 1', isBase64Encoded: false };
      const made = await run(second());
      expect(made).toMatchObject({ ...plain, cookies: [], headers: { 'x-one': 'a', 'x-two': 'b, c' } });
      const again = await run(second());
      expect(again).toMatchObject({ ...plain, headers: { 'x-one': 'a', 'idempotency-replayed': 'true' } });
      const rest = await run(first({ path: '/things/8' }));
      expect(rest).toMatchObject({ statusCode: 422, multiValueHeaders: { link: [expect.any(String)] } });
      const balancer = (more: Partial<LambdaEvent>) =>
        run(first({ resource: undefined as never, requestContext: { elb: {} }, ...more }));
      expect(await balancer({})).toMatchObject({
        statusDescription: expect.stringMatching(/^201/),
        multiValueHeaders: { 'x-two': ['b, c'] },
      });
      const single = await balancer({
        multiValueHeaders: null,
        headers: { 'idempotency-key': 'key-1' },
      });
      expect(single).toMatchObject({ body: 'made 2', headers: { 'idempotency-replayed': 'true' } });
      expect(runs).toBe(2);
    });
  });

  // Found by the fuzz (seed 5 of lambda).
  it('may have a header with the name of what every object has', () =>
    on(
      () => ({ statusCode: 201, headers: { constructor: 'a' } }),
      async (run) => {
        const headers = { constructor: ['a'] };
        expect(await run(first())).toMatchObject({ statusCode: 201, multiValueHeaders: headers });
      },
    ));

  it('is bytes where it is no text, or has a content coding', () =>
    on(
      (event) => {
        const bytes = event.rawPath === '/zip' ? gzipSync('made') : Buffer.from([0xff, 0x00, 0xfe]);
        const headers = event.rawPath === '/zip' ? { 'content-encoding': 'gzip' } : {};
        return { statusCode: 200, headers, body: bytes.toString('base64'), isBase64Encoded: true };
      },
      async (run) => {
        for (const rawPath of ['/bytes', '/zip']) {
          const event = second({ rawPath, routeKey: `POST ${rawPath}` });
          const [made, again] = [await run(event), await run(event)];
          expect(made.isBase64Encoded).toBe(true);
          expect(again.body).toBe(made.body);
          const bytes = Buffer.from(made.body ?? '', 'base64');
          if (rawPath === '/zip') expect(gunzipSync(bytes).toString()).toBe('made');
          else expect([...bytes]).toEqual([0xff, 0x00, 0xfe]);
        }
      },
    ));

  it('that is too large to be kept is whole all the same', () =>
    on(
      () => ({ statusCode: 200, body: 'x'.repeat(2_000_000) }),
      async (run) => {
        expect((await run(second())).body?.length).toBe(2_000_000);
        expect((await run(second())).statusCode).toBe(410);
      },
    ));

  it('of payload 2.0 may be any value, of a REST API only one with a status', () =>
    on(
      () => ({ ok: true }),
      async (run) => {
        const made = await run(second());
        expect(made).toMatchObject({ statusCode: 200, body: '{"ok":true}' });
        expect(made.headers).toMatchObject({ 'content-type': 'application/json' });
        await expect(run(first({ multiValueHeaders: { 'idempotency-key': ['key-2'] } }))).rejects.toThrow(
          'statusCode',
        );
      },
    ));
});

describe('a request of Lambda', () => {
  it('is the same with its body as Base64, and as a path behind a stage', () =>
    on(
      () => ({ statusCode: 201, body: 'made' }),
      async (run) => {
        await run(second());
        const body = Buffer.from('{"amount":1}').toString('base64');
        const again = await run(second({ body, isBase64Encoded: true }));
        expect(again.headers).toMatchObject({ 'idempotency-replayed': 'true' });
        const staged = await run(
          second({ rawPath: '/prod/things/7', requestContext: { stage: 'prod', http: { method: 'POST' } } }),
        );
        expect(staged.headers).toMatchObject({ 'idempotency-replayed': 'true' });
      },
    ));

  it('tells its attempt, and its door is marked', () =>
    on(
      (event, _context, attempt) => ({ statusCode: 200, body: String(attemptOf(event) === attempt) }),
      async (run, samekey) => {
        expect((await run(second())).body).toBe('true');
        const door = idempotent(samekey, OPTIONS, () => undefined);
        expect(protectionOf(door)).toMatchObject({ required: true, answers: true });
      },
    ));
});

describe('the deadline of a function', () => {
  it('ends the attempt, and its outcome is written before it', () =>
    onBench(lambdaHarness('a REST API'), async (t) => {
      const samekey = createSamekey({ world: t.world, store: t.store });
      const up = gate();
      const run = idempotent(samekey, OPTIONS, () => {
        up.open();
        return new Promise(() => undefined);
      });
      const begun = t.world.monotonicNow();
      const answer = run(second(), { getRemainingTimeInMillis: () => 10_000 });
      await up.opened;
      expect((await t.passUntil(answer)).statusCode).toBe(409);
      const tookMs = t.world.monotonicNow() - begun;
      expect(tookMs).toBeGreaterThan(7_000);
      expect(tookMs).toBeLessThan(8_000);
      const [record] = await t.store.list({});
      expect(record?.state).toBe('unknown');
      await samekey.close({ drainMs: 0 });
    }));

  it('that is near leaves half of what there is', () =>
    onBench(lambdaHarness('a REST API'), async (t) => {
      const samekey = createSamekey({ world: t.world, store: t.store });
      const run = idempotent(samekey, OPTIONS, () => new Promise(() => undefined));
      const begun = t.world.monotonicNow();
      await t.passUntil(run(second(), { getRemainingTimeInMillis: () => 1_000 }));
      expect(t.world.monotonicNow() - begun).toBeLessThan(700);
      await samekey.close({ drainMs: 0 });
    }));
});

describe('an operation that is served', () => {
  it('is answered, and its status is told to its owner alone', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const report = samekey.deferred(
      samekey.plain({
        name: 'report',
        policy: 'standard',
        run: async (input: { amount: number }) => input.amount,
      }),
    );
    const place = serve(report, { scope, location: (_event, key) => `/reports/${key}` });
    const status = serveStatus(report, { scope, key: (event) => event.rawPath?.split('/').at(-1) ?? '' });
    const placed = await place(asked('acme'), CONTEXT);
    expect(placed).toMatchObject({ statusCode: 202, headers: { location: '/reports/key-1' } });
    const look = (account: string) => status(asked(account, { rawPath: '/reports/key-1' }));
    expect((await look('acme')).statusCode).toBe(202);
    await pushDue(internalsOf(samekey), 10);
    expect(await look('acme')).toMatchObject({ statusCode: 200, body: '1' });
    expect((await look('globex')).statusCode).toBe(404);
    const get = { stage: '$default', http: { method: 'GET' } };
    expect(await place(asked('acme', { requestContext: get }))).toMatchObject({
      statusCode: 405,
      headers: { allow: 'POST, PATCH, PUT, DELETE' },
    });
    await samekey.close({ drainMs: 0 });
  });
});
