/**
 * Somebody in front of `idempotent` answers while the handler is still at work (F67). The record is decided by what the handler
 * answered, not by what left.
 */

import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import Koa, { type Context, type Next } from 'koa';
import { describe, expect, it } from 'vitest';
import { idempotent } from '../../src/adapters/koa/index.ts';
import type { PolicyName } from '../../src/core/policy.ts';
import type { Samekey } from '../../src/samekey.ts';
import { type App, onBench } from '../../../testing/src/adapter-contract.ts';
import { assertProblem, header, text } from '../../../testing/src/adapter/expect.ts';
import { type Gate, gate } from '../../../testing/src/adapter/kit.ts';
import { koaHarness, listen } from './koa-harness.ts';

const Koa2 = createRequire(import.meta.url)('koa2') as typeof Koa;

type Race = (ctx: Context, next: Next, up: Promise<void>) => Promise<void>;

/** The ways to race a chain. */
const RACES: Readonly<Record<string, readonly [race: Race, status: number]>> = {
  'throws 504': [(ctx, next, up) => Promise.race([next(), up.then(() => ctx.throw(504))]), 504],
  'sets 503': [
    (ctx, next, up) =>
      Promise.race([
        next(),
        up.then(() => {
          ctx.status = 503;
          ctx.body = { late: true };
        }),
      ]),
    503,
  ],
  'sets 202': [
    (ctx, next, up) =>
      Promise.race([
        next(),
        up.then(() => {
          ctx.set('X-Front', 'yes');
          ctx.body = 'later';
          ctx.status = 202;
        }),
      ]),
    202,
  ],
  'ends the response itself': [
    (ctx, next, up) =>
      Promise.race([
        next(),
        up.then(() => {
          ctx.respond = false;
          ctx.res.writeHead(503, { 'X-Front': 'yes' }).end('too late');
        }),
      ]),
    503,
  ],
};

interface Raced {
  readonly up: Gate;
  readonly free: Gate;
  readonly started: Gate;
}

for (const [name, Application] of [
  ['Koa 2', Koa2],
  ['Koa 3', Koa],
] as const) {
  function raced(
    race: Race,
    policy: PolicyName,
    answer: (ctx: Context) => unknown,
    body: (app: App, gates: Raced) => Promise<void>,
    begin: (ctx: Context) => unknown = () => undefined,
  ): Promise<void> {
    const gates: Raced = { up: gate(), free: gate(), started: gate() };
    const serve = (samekey: Samekey) => {
      const app = new Application();
      app.silent = true;
      let requests = 0;
      app.use(async (ctx, next) => {
        try {
          await next();
        } catch (error) {
          ctx.status = (error as { status?: number }).status ?? 500;
        }
        ctx.set('X-Outer', 'yes');
      });
      // The first request alone meets the race.
      app.use((ctx, next) => {
        requests += 1;
        return requests === 1 ? race(ctx, next, gates.up.opened) : next();
      });
      app.use(idempotent(samekey, { policy, scope: () => 'acme' }));
      app.use(async (ctx) => {
        // Before the race, as many handlers do it.
        ctx.status = 201;
        ctx.set('Location', '/things/1');
        begin(ctx);
        gates.started.open();
        await gates.free.opened;
        await answer(ctx);
      });
      return listen(app);
    };
    return onBench({ ...koaHarness(name, Application), serve }, async (t) => body(await t.start(), gates));
  }

  for (const policy of ['standard', 'payments', 'stripe'] as const) {
    describe(`${name} under ${policy}, with a middleware in front`, () => {
      for (const [what, [race, status]] of Object.entries(RACES)) {
        // F67
        it(`that ${what} before the handler answers 201: the 201 is the record's, and nothing runs again`, () =>
          raced(
            race,
            policy,
            (ctx) => {
              ctx.body = { made: true };
            },
            async (app, { up, free, started }) => {
              const first = app.post('key-1');
              await started.opened;
              up.open();
              const answered = await first;
              expect(answered.status).toBe(status);
              expect(header(answered, 'location')).toBeUndefined();
              // The handler still runs, and that is seen: the claim stays.
              assertProblem(await app.post('key-1'), 409, 'in-progress');
              free.open();
              expect((await app.saw('finished')).to).toBe('completed');
              expect((await app.saw('misuse')).code).toBe('answered-in-front');
              const again = await app.post('key-1');
              expect([again.status, text(again)]).toEqual([201, '{"made":true}']);
              expect(header(again, 'location')).toBe('/things/1');
              expect(header(again, 'x-front')).toBeUndefined();
              expect(app.count('claimed')).toBe(1);
            },
          ));
      }

      // F67
      it('whose answer left before a handler of 503: the 503 is decided by the policy, as if nobody had been there', () =>
        raced(
          RACES['throws 504']![0],
          policy,
          (ctx) => {
            ctx.status = 503;
            ctx.body = 'no';
          },
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

      // F67
      it('whose answer left before a handler that throws 409: that is the record’s', () =>
        raced(
          RACES['sets 503']![0],
          policy,
          (ctx) => ctx.throw(409, 'out of stock'),
          async (app, { up, free, started }) => {
            const first = app.post('key-1');
            await started.opened;
            up.open();
            expect((await first).status).toBe(503);
            free.open();
            expect((await app.saw('finished')).to).toBe('failed');
            const again = await app.post('key-1');
            expect([again.status, text(again)]).toEqual([409, 'out of stock']);
          },
        ));
    });
  }

  describe(`${name}, without an answer in front`, () => {
    it('the handler’s answer leaves, and headers from in front are on it', () =>
      raced(
        RACES['throws 504']![0],
        'standard',
        (ctx) => {
          ctx.body = { made: true };
        },
        async (app, { free }) => {
          free.open();
          const first = await app.post('key-1');
          expect([first.status, header(first, 'x-outer')]).toEqual([201, 'yes']);
          expect(app.count('misuse')).toBe(0);
        },
      ));

    it('somebody who only looks changes nothing, and an answer too large to hold streams', () =>
      raced(
        async (ctx, next, up) => {
          void up.then(() => {
            expect([ctx.status, ctx.body, ctx.headerSent, ctx.res.getHeader('location')]).toEqual([
              201,
              undefined,
              false,
              '/things/1',
            ]);
            ctx.res.once('finish', () => undefined);
          });
          await next();
        },
        'payments',
        (ctx) => {
          ctx.body = Buffer.alloc(2_000_000, 'x');
        },
        async (app, { up, free, started }) => {
          const first = app.post('key-1');
          await started.opened;
          up.open();
          await turn();
          free.open();
          const answered = await first;
          expect([answered.status, answered.body.length]).toEqual([201, 2_000_000]);
          expect(header(answered, 'location')).toBe('/things/1');
          assertProblem(await app.post('key-1'), 410, 'response-not-stored');
          expect(app.count('misuse')).toBe(0);
        },
      ));

    it('somebody who sets something and waits meets the handler’s answer; one too large to keep is told of', async () => {
      for (const [size, status] of [
        [2, 201],
        [2_000_000, 410],
      ] as const) {
        await raced(
          async (ctx, next, up) => {
            void up.then(() => ctx.set('X-Front', 'yes'));
            await next();
          },
          'payments',
          (ctx) => {
            ctx.body = Buffer.alloc(size, 'x');
          },
          async (app, { up, free, started }) => {
            const first = app.post('key-1');
            await started.opened;
            up.open();
            await turn();
            free.open();
            const answered = await first;
            expect([answered.status, header(answered, 'x-front')]).toEqual([status, 'yes']);
            expect((await app.post('key-1')).status).toBe(status);
          },
        );
      }
    });

    // F68: nobody can part a handler from what it has begun.
    it('a handler that answers on res by itself, late: its answer becomes the record’s all the same', () =>
      raced(
        RACES['throws 504']![0],
        'payments',
        (ctx) => {
          ctx.res.writeHead(201).end('made');
        },
        async (app, { up, free, started }) => {
          const first = app.post('key-1');
          await started.opened;
          up.open();
          expect((await first).status).toBe(504);
          const finished = await app.saw('finished');
          expect([finished.to, finished.reason]).toEqual(['unknown', 'perhaps-answered-for: status-504']);
          free.open();
          expect((await app.saw('finished', 2)).to).toBe('completed');
          const again = await app.post('key-1');
          expect([again.status, text(again)]).toEqual([201, 'made']);
        },
        (ctx) => {
          ctx.respond = false;
        },
      ));
  });

  // A library that calls back from another request's context: nobody can tell whose answer that is.
  it(`${name}: an answer that is given where the context is lost is never taken for a handler’s`, async () => {
    const [lost, free] = [gate(), gate()];
    let ctxOf: Context | null = null;
    const serve = (samekey: Samekey) => {
      const app = new Application();
      app.use(async (ctx, next) => {
        ctx.status = 202;
        await next();
      });
      app.use(idempotent(samekey, { policy: 'standard', scope: () => 'acme' }));
      app.use(async (ctx) => {
        ctxOf = ctx;
        lost.open();
        await free.opened;
      });
      return listen(app);
    };
    await onBench({ ...koaHarness(name, Application), serve }, async (t) => {
      const app = await t.start();
      const first = app.post('key-1');
      await lost.opened;
      ctxOf!.body = 'made';
      free.open();
      const answered = await first;
      expect([answered.status, text(answered)]).toEqual([202, 'made']);
      expect((await app.saw('finished')).to).toBe('unknown');
      expect((await app.saw('misuse')).code).toBe('answered-in-front');
      assertProblem(await app.post('key-1'), 409, 'outcome-unknown');
    });
  });

  for (const [how, answer] of [
    ['on res by itself', (ctx: Context) => ctx.res.writeHead(201).end('made')],
    ['by its context', (ctx: Context) => Object.assign(ctx, { status: 201, body: 'made' })],
  ] as const) {
    // F17: Koa answers an error of the connection as any other, where the response looks open.
    it(`${name}: a connection that is reset answers for nobody, where the handler answers ${how}`, async () => {
      const [started, gone] = [gate(), gate()];
      const serve = (samekey: Samekey) => {
        const app = new Application();
        app.silent = true;
        app.on('error', gone.open);
        app.use(idempotent(samekey, { policy: 'standard', scope: () => 'acme' }));
        app.use(async (ctx) => {
          ctx.respond = how === 'by its context';
          started.open();
          await gone.opened;
          answer(ctx);
        });
        return listen(app);
      };
      await onBench({ ...koaHarness(name, Application), serve }, async (t) => {
        const app = await t.start();
        const socket = connect(app.port, '127.0.0.1');
        socket.write(
          'POST /things HTTP/1.1\r\nHost: a\r\nIdempotency-Key: key-1\r\nContent-Length: 0\r\n\r\n',
        );
        await started.opened;
        socket.resetAndDestroy();
        expect((await app.saw('finished')).to).toBe('completed');
        const again = await app.send({ target: '/things', headers: [['Idempotency-Key', 'key-1']] });
        expect([again.status, text(again)]).toEqual([201, 'made']);
        expect([app.count('claimed'), app.count('misuse')]).toEqual([1, 0]);
      });
    });
  }
}
