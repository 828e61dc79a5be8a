/** What only Koa has around handlers: the onion, values as bodies, errors that pass through, routers with prefixes, mounts. */

import { createRequire } from 'node:module';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import cors from '@koa/cors';
import { Router } from '@koa/router';
import Koa, { type Context } from 'koa';
import compress from 'koa-compress';
import helmet from 'koa-helmet';
import mount from 'koa-mount';
import { describe, expect, it } from 'vitest';
import { attemptOf, CORS, idempotent, serve, serveStatus } from '../../src/adapters/koa/index.ts';
import { NotExecutedError } from '../../src/core/errors.ts';
import { coverage } from '../../src/coverage/index.ts';
import type { RouteOptions } from '../../src/http/route.ts';
import { reply } from '../../src/index.ts';
import type { Samekey } from '../../src/samekey.ts';
import { type App, type Bench, onBench } from '../../../testing/src/adapter-contract.ts';
import { assertProblem, assertReplay, header, json, text } from '../../../testing/src/adapter/expect.ts';
import { jsonRequest } from '../../../testing/src/adapter/kit.ts';
import { koaHarness, listen } from './koa-harness.ts';

const load = createRequire(import.meta.url);
const Koa2 = load('koa2') as typeof Koa;
// Its types would give every request of Node a body.
const { bodyParser } = load('@koa/bodyparser') as {
  readonly bodyParser: (options?: object) => Koa.Middleware;
};

/** What a parser has left. */
const parsed = (ctx: Context): { amount: number } =>
  (ctx.request as unknown as { body: { amount: number } }).body;

const tells: Koa.Middleware = (ctx) => {
  ctx.body = [attemptOf(ctx)?.operation, ctx['params'] ?? null];
};

type Protect = (options?: Partial<RouteOptions<Context>>) => Koa.Middleware;
type Build = (app: Koa, protect: Protect, samekey: Samekey) => unknown;

for (const [name, Application] of [
  ['Koa 2', Koa2],
  ['Koa 3', Koa],
] as const) {
  function test(title: string, build: Build, body: (app: App, t: Bench) => Promise<void>): void {
    const served = (samekey: Samekey) => {
      const app = new Application();
      app.silent = true;
      build(
        app,
        (options) => idempotent(samekey, { policy: 'payments', scope: () => 'acme', ...options }),
        samekey,
      );
      return listen(app);
    };
    it(`${title} (${name})`, () =>
      onBench({ ...koaHarness(name, Application), serve: served }, async (t) => body(await t.start(), t)));
  }

  describe(`an application as it stands in production, on ${name}`, () => {
    const GZIP = [['Accept-Encoding', 'gzip']] as const;
    const heard: unknown[] = [];
    let requests = 0;

    const production: Build = (app, protect) => {
      heard.length = 0;
      app.use(async (ctx, next) => {
        await next();
        ctx.set('X-Response-Time', `${(requests += 1)}ms`);
      });
      app.use(compress({ threshold: 0, br: false }));
      app.use(async (ctx, next) => {
        try {
          await next();
        } catch (error) {
          const { status = 500, message } = error as { status?: number; message: string };
          ctx.status = status;
          ctx.body = { error: message };
          ctx.app.emit('error', error, ctx);
        }
      });
      app.on('error', (error) => heard.push(error));
      app.use(helmet());
      app.use(
        cors({
          origin: (ctx) => ctx.get('Origin'),
          allowHeaders: [...CORS.allowedHeaders],
          exposeHeaders: [...CORS.exposedHeaders],
        }),
      );
      app.use(bodyParser());
      const router = new Router({ prefix: '/shops/:shop' });
      router.post('/payments', protect() as never, async (ctx) => {
        const { amount } = parsed(ctx);
        if (amount > 100) ctx.throw(402, 'too much');
        ctx.status = 201;
        ctx.body = { shop: ctx.params['shop'], amount };
      });
      app.use(router.routes() as never).use(router.allowedMethods() as never);
    };

    test(
      'the same answer, compressed for whoever asks, and times and headers of each request',
      production,
      async (app) => {
        const target = '/shops/7/payments';
        const first = await app.send(
          jsonRequest(
            'key-1',
            { amount: 5 },
            { target, headers: [...GZIP, ['Origin', 'https://a.example']] },
          ),
        );
        expect([first.status, header(first, 'content-encoding')]).toEqual([201, 'gzip']);
        expect(gunzipSync(first.body).toString()).toBe('{"shop":"7","amount":5}');
        const again = await app.send(
          jsonRequest('key-1', ' {"amount": 5.0}', { target, headers: [['Origin', 'https://b.example']] }),
        );
        expect([again.status, header(again, 'content-encoding')]).toEqual([201, undefined]);
        expect(text(again)).toBe('{"shop":"7","amount":5}');
        expect(header(again, 'idempotency-replayed')).toBe('true');
        expect(header(again, 'content-type')).toBe(header(first, 'content-type'));
        expect(header(again, 'x-response-time')).not.toBe(header(first, 'x-response-time'));
        expect(header(first, 'access-control-allow-origin')).toBe('https://a.example');
        expect(header(again, 'access-control-allow-origin')).toBe('https://b.example');
        expect(header(again, 'x-content-type-options')).toBe('nosniff');
        assertProblem(await app.send(jsonRequest('key-1', { amount: 6 }, { target })), 422, 'key-reused');
        expect(app.count('claimed')).toBe(1);
      },
    );

    test(
      'an error is answered by the application’s own handler, heard once, and replayed as it was',
      production,
      async (app) => {
        const target = '/shops/7/payments';
        const asked = jsonRequest('key-1', { amount: 500 }, { target, headers: [...GZIP] });
        const first = await app.send(asked);
        expect([first.status, text(first)]).toEqual([402, '{"error":"too much"}']);
        const again = await app.send(jsonRequest('key-1', { amount: 500 }, { target }));
        expect([again.status, text(again)]).toEqual([402, '{"error":"too much"}']);
        expect(header(again, 'idempotency-replayed')).toBe('true');
        expect(heard).toHaveLength(1);
      },
    );
  });

  describe(`answers of ${name}`, () => {
    test(
      'middleware in front that wraps a value wraps it on a replay, too',
      (app, protect) => {
        app.use(async (ctx, next) => {
          await next();
          ctx.body = { data: ctx.body };
        });
        app.use(protect());
        app.use((ctx) => {
          ctx.status = 201;
          ctx.body = { id: 1, é: 'ü' };
        });
      },
      async (app) => {
        const first = await app.post('key-1');
        expect([first.status, json(first)]).toEqual([201, { data: { id: 1, é: 'ü' } }]);
        assertReplay(first, await app.post('key-1'));
      },
    );

    test(
      'middleware in front that changes a text changes it on a replay, too; bytes stay bytes',
      (app, protect) => {
        app.use(async (ctx, next) => {
          await next();
          if (typeof ctx.body === 'string') ctx.body = ctx.body.toUpperCase();
        });
        app.use(protect());
        app.use((ctx) => {
          ctx.body = ctx.path === '/text' ? 'grüezi' : Buffer.from([0x61, 0xff]);
          if (ctx.path === '/latin1') ctx.type = 'text/plain; charset=iso-8859-1';
        });
      },
      async (app) => {
        for (const [target, body] of [
          ['/text', Buffer.from('GRÜEZI')],
          ['/latin1', Buffer.from([0x61, 0xff])],
          ['/bytes', Buffer.from([0x61, 0xff])],
        ] as const) {
          const first = await app.post(target, { target });
          expect(first.body).toEqual(body);
          assertReplay(first, await app.post(target, { target }));
        }
      },
    );

    test(
      'JSON that is no plain value’s keeps its bytes, and header lines their octets',
      (app, protect) => {
        app.use(protect());
        app.use((ctx) => {
          if (ctx.path === '/value') ctx.set('X-Name', 'café');
          ctx.type = 'json';
          ctx.body = ctx.path === '/value' ? { a: 1 } : '{ "a": 1.0 }';
        });
      },
      async (app) => {
        for (const target of ['/value', '/text']) {
          const first = await app.post(target, { target });
          const again = await app.post(target, { target });
          expect(text(first)).toBe(target === '/value' ? '{"a":1}' : '{ "a": 1.0 }');
          // As Node writes it beside a text.
          if (target === '/value')
            expect(header(first, 'x-name')).toBe(Buffer.from('café').toString('latin1'));
          assertReplay(first, again);
        }
      },
    );

    test(
      'a value that changes while its record is stored has been answered already',
      (app, protect) => {
        const shared = { count: 0 };
        app.use(protect());
        app.use((ctx) => {
          shared.count += 1;
          ctx.body = shared;
          setImmediate(() => (shared.count = 99));
        });
      },
      async (app) => {
        const first = await app.post('key-1');
        expect(text(first)).toBe('{"count":1}');
        assertReplay(first, await app.post('key-1'));
      },
    );

    test(
      'no body, no answer, statuses that Koa does not know, cookies',
      (app, protect) => {
        app.use(async (ctx, next) => {
          ctx.cookies.set('session', String((requestsSeen += 1)));
          await next();
        });
        app.use(protect());
        let requestsSeen = 0;
        app.use((ctx) => {
          if (ctx.path === '/empty') ctx.body = null;
          if (ctx.path === '/null') {
            ctx.body = null;
            ctx.status = 201;
          }
          if (ctx.path === '/odd') {
            ctx.body = 'odd';
            ctx.res.statusCode = 299;
          }
          if (ctx.path === '/cookie') {
            ctx.cookies.set('cart', '7');
            ctx.status = 201;
          }
        });
      },
      async (app) => {
        for (const [target, status, body] of [
          ['/empty', 204, ''],
          ['/null', 201, ''],
          ['/none', 404, 'Not Found'],
          ['/odd', 299, 'odd'],
          ['/cookie', 201, 'Created'],
        ] as const) {
          const first = await app.post(target, { target });
          const again = await app.post(target, { target });
          expect([target, first.status, text(first)]).toEqual([target, status, body]);
          expect([again.status, text(again)]).toEqual([status, body]);
          expect(header(again, 'idempotency-replayed')).toBe('true');
          expect(header(again, 'content-type')).toBe(header(first, 'content-type'));
        }
        const [first, again] = [
          await app.post('key-1', { target: '/cookie' }),
          await app.post('key-1', { target: '/cookie' }),
        ];
        expect(header(first, 'set-cookie')).toMatch(/session=11;.*cart=7/);
        expect(header(again, 'set-cookie')).toMatch(/session=12;/);
      },
    );

    test(
      'a handler that goes on after its answer has ended its answer',
      (app, protect) => {
        app.use(protect());
        app.use(async (ctx) => {
          ctx.res.statusCode = 201;
          ctx.res.end('done');
          await new Promise<void>((resolve) => ctx.res.once('close', resolve));
          ctx.body = 'too late';
          ctx.status = 500;
        });
      },
      async (app) => {
        const first = await app.post('key-1');
        expect([first.status, text(first)]).toEqual([201, 'done']);
        assertReplay(first, await app.post('key-1'));
      },
    );

    test(
      'a value that cannot be written is an error, as without Samekey',
      (app, protect) => {
        app.use(protect({ policy: 'standard' }));
        app.use((ctx) => {
          const circle: Record<string, unknown> = {};
          circle['circle'] = circle;
          ctx.body = circle;
        });
      },
      async (app) => {
        const first = await app.post('key-1');
        expect([first.status, text(first)]).toEqual([500, 'Internal Server Error']);
        expect((await app.saw('finished')).to).toBe('retryable');
      },
    );
  });

  describe(`errors on ${name}`, () => {
    test(
      'what ctx.throw says is answered by Koa and replayed, with its headers',
      (app, protect) => {
        app.use(protect());
        app.use((ctx) => {
          ctx.set('X-Dropped', 'by Koa');
          ctx.throw(409, 'out of stock', { headers: { 'X-Reason': 'stock' } });
        });
      },
      async (app) => {
        const first = await app.post('key-1');
        expect([first.status, text(first), header(first, 'x-reason')]).toEqual([
          409,
          'out of stock',
          'stock',
        ]);
        expect(header(first, 'x-dropped')).toBeUndefined();
        assertReplay(first, await app.post('key-1'));
      },
    );

    test(
      'an error that says that nothing happened is heard, whatever is answered for it',
      (app, protect) => {
        let runs = 0;
        app.use(async (ctx, next) => {
          try {
            await next();
          } catch {
            ctx.status = 400;
          }
        });
        app.use(protect());
        app.use((ctx) => {
          runs += 1;
          if (runs === 1) throw new NotExecutedError('not yet');
          ctx.body = 'made';
        });
      },
      async (app) => {
        expect((await app.post('key-1')).status).toBe(400);
        expect(text(await app.post('key-1'))).toBe('made');
      },
    );

    test(
      'what is set before an error is seen by the error handler',
      (app, protect) => {
        app.use(async (ctx, next) => {
          try {
            await next();
          } catch {
            ctx.body = `${ctx.status} ${String(ctx.body)}`;
          }
        });
        app.use(protect());
        app.use((ctx) => {
          ctx.status = 418;
          ctx.body = 'half';
          throw new Error('then this');
        });
      },
      async (app) => expect(text(await app.post('key-1'))).toBe('418 half'),
    );

    test(
      'a request that is protected twice is a loud error',
      (app, protect) => {
        app.use(async (ctx, next) => {
          try {
            await next();
          } catch (error) {
            ctx.status = 500;
            ctx.body = (error as Error).message;
          }
        });
        app.use(protect()).use(protect());
      },
      async (app) => {
        expect(text(await app.post('key-1'))).toContain('twice');
        expect((await app.saw('misuse')).code).toBe('protected-twice');
      },
    );
  });

  describe(`bodies on ${name}`, () => {
    test(
      'a parser may stand in front or behind',
      (app, protect) => {
        const parse = bodyParser({ enableTypes: ['json', 'form', 'text'] });
        app.use(async (ctx, next) => (ctx.path === '/in-front' ? parse(ctx as never, next) : next()));
        app.use(protect());
        app.use(async (ctx, next) => (ctx.path === '/behind' ? parse(ctx as never, next) : next()));
        app.use((ctx) => (ctx.body = parsed(ctx)));
      },
      async (app) => {
        for (const target of ['/in-front', '/behind']) {
          const first = await app.send(jsonRequest(target, '{"amount":1}', { target }));
          expect(json(first)).toEqual({ amount: 1 });
          assertReplay(first, await app.send(jsonRequest(target, '{ "amount": 1.0 }', { target })));
          assertProblem(await app.send(jsonRequest(target, '{"amount":2}', { target })), 422, 'key-reused');
        }
      },
    );

    // F31
    test(
      'a parser in front that keeps no text is an error, not an empty body',
      (app, protect) => {
        app.use(async (ctx, next) => {
          await buffer(ctx.req);
          await next();
        });
        app.use(protect());
      },
      async (app) => {
        expect((await app.post('key-1')).status).toBe(500);
        expect((await app.saw('misuse')).code).toBe('body-consumed');
      },
    );
  });

  describe(`routes of @koa/router and koa-mount, on ${name}`, () => {
    test(
      'prefixes, routers within routers, parameters and mounts make up one pattern',
      (app, protect) => {
        const inner = new Router({ prefix: '/things' }).post('/:id', protect() as never, tells as never);
        const outer = new Router({ prefix: '/tenants/:tenant' }).use('/v1', inner.routes());
        const within = new Koa().use(outer.routes() as never);
        app.use(mount('/api', within as never) as never);
      },
      async (app) => {
        const first = await app.post('key-1', { target: '/api/tenants/7/v1/things/1' });
        expect(json(first)).toEqual(['POST /api/tenants/:/v1/things/:', { tenant: '7', id: '1' }]);
        assertReplay(first, await app.post('key-1', { target: '/api/tenants/%37/v1/THINGS/1' }));
        assertProblem(await app.post('key-1', { target: '/api/tenants/8/v1/things/1' }), 422, 'key-reused');
      },
    );

    test(
      'a mount within a mount shows no path of a client, and is told apart',
      (app, protect) => {
        const router = new Router().post('/', protect() as never, tells as never);
        const inner = mount('/v1', router.routes() as never) as never;
        for (const path of ['/a', '/b']) app.use(mount(path, inner) as never);
      },
      async (app) => {
        expect(json(await app.post('key-1', { target: '/a/v1' }))[0]).toBe('POST /*');
        expect(json(await app.post('key-1', { target: '/b/v1' }))[0]).toBe('POST /*');
      },
    );

    test(
      'what a router uses covers all its routes; an expression names its route; all asks no PUT for a key',
      (app, protect) => {
        const used = new Router({ prefix: '/used' }).use(protect() as never).post('/:id', tells as never);
        const own = new Router()
          .post(/^\/x-(\d+)$/, protect() as never, tells as never)
          .put('/put/:id', protect() as never, tells as never)
          .all('/all', protect() as never, tells as never);
        app.use(used.routes() as never).use(own.routes() as never);
      },
      async (app) => {
        expect(json(await app.post('key-1', { target: '/used/1' }))[0]).toBe('*');
        expect(json(await app.post('key-1', { target: '/x-1' }))[0]).toBe('POST /^\\/x-(\\d+)$');
        assertProblem(await app.post('key-1', { target: '/x-2' }), 422, 'key-reused');
        assertProblem(await app.post(null, { method: 'PUT', target: '/put/1' }), 400, 'key-missing');
        expect((await app.post(null, { method: 'PUT', target: '/all' })).status).toBe(200);
      },
    );

    // As tracing does it: the name of an operation must not hang on whether it is switched on.
    test(
      'a route whose middleware has been wrapped has the same name',
      (app, protect) => {
        const router = new Router().post('/things', protect() as never, tells as never);
        for (const layer of router.stack)
          layer.stack = layer.stack.map((fn) => async (ctx: never, next: never) => fn(ctx, next)) as never;
        app.use(router.routes() as never);
      },
      async (app) => expect(json(await app.post('key-1'))[0]).toBe('POST /things'),
    );
  });

  describe(`served operations on ${name}`, () => {
    test(
      'a request becomes the input, its reply the answer; anything else is refused',
      (app, _protect, samekey) => {
        const order = samekey.plain({
          name: 'order',
          policy: 'standard',
          run: async (input: { item: string }) => reply(201, { item: input.item }),
        });
        app.use(async (ctx, next) => {
          await next();
          ctx.set('X-Outer', 'yes');
        });
        const router = new Router()
          .all('/things', serve(order, { scope: () => 'acme' }) as never)
          .get(
            '/status/:key',
            serveStatus(order, { scope: () => 'acme', key: (ctx) => ctx['params'].key }) as never,
          );
        app.use(router.routes() as never);
      },
      async (app) => {
        const first = await app.send(jsonRequest('key-1', { item: 'tea' }));
        expect([first.status, json(first), header(first, 'x-outer')]).toEqual([201, { item: 'tea' }, 'yes']);
        assertReplay(first, await app.send(jsonRequest('key-1', '{ "item": "tea" }')));
        assertProblem(await app.send(jsonRequest('key-1', { item: 'milk' })), 422, 'key-reused');
        const get = await app.send({ method: 'GET', target: '/things' });
        expect([get.status, header(get, 'allow')]).toEqual([405, 'POST, PATCH, PUT, DELETE']);
        const status = await app.send({ method: 'GET', target: '/status/key-1' });
        expect([status.status, json(status), header(status, 'x-outer')]).toEqual([
          201,
          { item: 'tea' },
          'yes',
        ]);
        expect((await app.send({ method: 'GET', target: '/status/key-2' })).status).toBe(404);
      },
    );

    test(
      'coverage sees routes and served operations',
      (app, protect, samekey) => {
        const order = samekey.plain({ name: 'order', policy: 'standard', run: async () => reply(201, {}) });
        const router = new Router()
          .post('/a', protect() as never, (() => undefined) as never)
          .post('/b', serve(order, { scope: () => 'acme', input: () => null }) as never)
          .post('/c', (() => undefined) as never);
        app.use(router.routes() as never);
        app.use((ctx) => {
          const { routes } = coverage(app);
          ctx.body = routes.map(({ path, protectedBy }) => [path, protectedBy]);
        });
      },
      async (app) =>
        expect(json(await app.post(null, { target: '/told' }))).toEqual([
          ['/a', 'samekey'],
          ['/b', 'samekey'],
          ['/c', null],
        ]),
    );
  });
}
