/**
 * Somebody in front of `idempotent` answers while the handler is still at work (F67). The record is decided by what the handler
 * answered, not by what left.
 */

import { type Context, Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { timeout } from 'hono/timeout';
import { describe, expect, it } from 'vitest';
import { idempotent } from '../../src/adapters/hono/index.ts';
import type { PolicyName } from '../../src/core/policy.ts';
import type { Samekey } from '../../src/samekey.ts';
import { type App, onBench } from '../../../testing/src/adapter-contract.ts';
import { assertProblem, header, text } from '../../../testing/src/adapter/expect.ts';
import { type Gate, gate } from '../../../testing/src/adapter/kit.ts';
import { honoHarness, listen } from './hono-harness.ts';

type Race = (c: Context, next: () => Promise<void>, up: Promise<void>) => Promise<Response | void>;

/** The ways to race a chain. */
const RACES: Readonly<Record<string, readonly [race: Race, status: number]>> = {
  'throws 504': [
    (_c, next, up) =>
      Promise.race([
        next(),
        up.then(() => {
          throw new HTTPException(504);
        }),
      ]),
    504,
  ],
  'returns 503': [(c, next, up) => Promise.race([next(), up.then(() => c.json({ late: true }, 503))]), 503],
  'sets 202': [
    (c, next, up) =>
      Promise.race([
        next(),
        up.then(() => {
          c.res = c.text('later', 202, { 'X-Front': 'yes' });
        }),
      ]),
    202,
  ],
};

interface Raced {
  readonly up: Gate;
  readonly free: Gate;
  readonly started: Gate;
}

function raced(
  race: Race,
  policy: PolicyName,
  answer: (c: Context) => Response | Promise<Response>,
  body: (app: App, gates: Raced) => Promise<void>,
): Promise<void> {
  const gates: Raced = { up: gate(), free: gate(), started: gate() };
  const serve = (samekey: Samekey) => {
    const app = new Hono();
    let requests = 0;
    app.use(async (c, next) => {
      await next();
      c.header('X-Outer', 'yes');
    });
    app.post(
      '/things',
      // The first request alone meets the race.
      (c, next) => {
        requests += 1;
        return (requests === 1 ? race(c, next, gates.up.opened) : next()) as Promise<Response>;
      },
      idempotent(samekey, { policy, scope: () => 'acme' }),
      async (c) => {
        gates.started.open();
        await gates.free.opened;
        return answer(c);
      },
    );
    return listen(app);
  };
  return onBench({ ...honoHarness, serve }, async (t) => body(await t.start(), gates));
}

for (const policy of ['standard', 'payments', 'stripe'] as const) {
  describe(`under ${policy}, with a middleware in front`, () => {
    for (const [what, [race, status]] of Object.entries(RACES)) {
      // F67
      it(`that ${what} before the handler answers 201: the 201 is the record's, and nothing runs again`, () =>
        raced(
          race,
          policy,
          (c) => {
            c.header('Location', '/things/1');
            return c.json({ made: true }, 201);
          },
          async (app, { up, free, started }) => {
            const first = app.post('key-1');
            await started.opened;
            up.open();
            const answered = await first;
            expect([answered.status, header(answered, 'x-outer')]).toEqual([status, 'yes']);
            // The handler still runs, and that is seen: the claim stays.
            assertProblem(await app.post('key-1'), 409, 'in-progress');
            free.open();
            expect((await app.saw('finished')).to).toBe('completed');
            expect((await app.saw('misuse')).code).toBe('answered-in-front');
            const again = await app.post('key-1');
            expect([again.status, text(again)]).toEqual([201, '{"made":true}']);
            expect(header(again, 'location')).toBe('/things/1');
            for (const name of ['x-front', 'cache-control']) expect(header(again, name)).toBeUndefined();
            expect(app.count('claimed')).toBe(1);
          },
        ));
    }

    // F67
    it('whose answer left before a handler of 503: the 503 is decided by the policy, as if nobody had been there', () =>
      raced(
        RACES['throws 504']![0],
        policy,
        (c) => c.text('no', 503),
        async (app, { up, free, started }) => {
          const first = app.post('key-1');
          await started.opened;
          up.open();
          expect((await first).status).toBe(504);
          free.open();
          const becomes = { standard: 'retryable', payments: 'unknown', stripe: 'failed' }[policy];
          const finished = await app.saw('finished');
          expect([finished.to, finished.reason]).toEqual([becomes, 'status-503']);
          if (policy !== 'stripe') return;
          const again = await app.post('key-1');
          expect([again.status, text(again)]).toEqual([503, 'no']);
        },
      ));
  });
}

it('without a race the handler’s answer leaves, and headers from in front are on it', () =>
  raced(
    RACES['throws 504']![0],
    'standard',
    (c) => c.json({ made: true }, 201),
    async (app, { free }) => {
      free.open();
      const first = await app.post('key-1');
      expect([first.status, header(first, 'x-outer')]).toEqual([201, 'yes']);
      expect(app.count('misuse')).toBe(0);
    },
  ));

// Hono's own, on the clock of the machine: the handler is freed by the answer that the time-out has given.
it('hono/timeout in front is such a middleware', async () => {
  const [free, started] = [gate(), gate()];
  const serve = (samekey: Samekey) => {
    const app = new Hono();
    const protect = idempotent(samekey, { policy: 'standard', scope: () => 'acme' });
    app.post('/things', timeout(5), protect, async (c) => {
      started.open();
      await free.opened;
      return c.json({ made: true }, 201);
    });
    return listen(app);
  };
  await onBench({ ...honoHarness, serve }, async (t) => {
    const app = await t.start();
    const first = app.post('key-1');
    await started.opened;
    expect((await first).status).toBe(504);
    free.open();
    expect((await app.saw('finished')).to).toBe('completed');
    expect((await app.post('key-1')).status).toBe(201);
    expect(app.count('claimed')).toBe(1);
  });
});
