/** Coverage of Hono, Koa and Fastify, against the frameworks themselves. */

import { Router } from '@koa/router';
import { initTRPC, lazy } from '@trpc/server';
import fastify from 'fastify';
import { createSchema } from 'graphql-yoga';
import { Hono } from 'hono';
import Koa from 'koa';
import { describe, expect, it } from 'vitest';
import {
  idempotent as idempotentOnGraphql,
  serve as serveOnGraphql,
} from '../../src/adapters/graphql/index.ts';
import { idempotent, serve } from '../../src/adapters/hono/index.ts';
import { idempotent as idempotentOnTrpc, serve as serveOnTrpc } from '../../src/adapters/trpc/index.ts';
import {
  coverage,
  exempt,
  isListable,
  markProtected,
  routesOf,
  watchRoutes,
} from '../../src/coverage/index.ts';
import { createSamekey, singleTenant } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

const samekey = createSamekey({ store: memoryStore(), policy: 'standard' });
const scope = singleTenant();

/** As an adapter of one's own would mark its middleware. */
function marked<Fn extends object>(fn: Fn, answers = false): Fn {
  return markProtected(fn, { methods: new Set(['POST', 'PUT']), required: true, answers });
}

function lines(app: unknown): readonly string[] {
  return coverage(app).routes.map(
    ({ method, path, protectedBy }) => `${method} ${path} ${protectedBy ?? '-'}`,
  );
}

const noted = (_context: unknown, next: () => Promise<void>): Promise<void> => next();

describe('tRPC', () => {
  it('lists mutations with what they go through', () => {
    const t = initTRPC.create();
    const protect = idempotentOnTrpc(samekey, { scope, keyIn: () => 'a' });
    const served = serveOnTrpc(samekey.plain({ name: 'report trpc', run: () => 1 }), { scope });
    const router = t.router({
      pay: t.procedure.use(protect).mutation(() => 1),
      orders: t.router({
        place: t.procedure.mutation(served),
        cancel: t.procedure.mutation(() => 1),
        list: t.procedure.query(() => 1),
      }),
      search: t.procedure.mutation(exempt('reads only', () => 1)),
      later: lazy(async () => ({ router: t.router({}) })),
    });
    expect(lines(router)).toEqual([
      'POST /orders.cancel -',
      'POST /orders.place samekey',
      'POST /pay samekey',
      'POST /search exempt',
    ]);
    expect(coverage(router).unseen).toEqual([{ where: 'later', why: expect.stringContaining('lazily') }]);
    expect(isListable(router)).toBe(true);
  });
});

describe('GraphQL', () => {
  it('lists the fields of mutations, by their resolvers', () => {
    const options = { scope, keyIn: () => 'a' };
    const pay = idempotentOnGraphql(samekey, options, () => 1);
    const report = serveOnGraphql(samekey.plain({ name: 'report graphql', run: () => 1 }), options);
    const schema = createSchema({
      typeDefs: 'type Query { up: Int } type Mutation { pay: Int, report: Int, cancel: Int, none: Int }',
      resolvers: {
        Query: { up: () => 1 },
        Mutation: { pay, report, cancel: () => 1 },
      },
    });
    expect(lines(schema)).toEqual([
      'POST /Mutation.cancel -',
      'POST /Mutation.none -',
      'POST /Mutation.pay samekey',
      'POST /Mutation.report samekey',
    ]);
    const type = schema.getMutationType()?.getFields()['none'] as { resolve?: unknown };
    type.resolve = exempt('reads only', () => 1);
    expect(lines(schema)).toContain('POST /Mutation.none exempt');
    expect(isListable(schema)).toBe(true);
    const still = createSchema({ typeDefs: 'type Query { up: Int }' });
    expect(coverage(still).unseen).toMatchObject([{ where: 'the application' }]);
  });
});

describe('Hono', () => {
  const protect = idempotent(samekey, { scope });

  it('lists routes with what they go through, also those of nested applications', () => {
    const app = new Hono();
    const inner = new Hono();
    // Hono wraps the handlers of such an application.
    inner.onError((_error, c) => c.text('no', 500));
    inner.post('/capture', protect, (c) => c.text('ok'));
    inner.post('/void', (c) => c.text('ok'));
    app.get('/payments', (c) => c.text('ok'));
    app.post('/payments', protect, (c) => c.text('ok'));
    app.route('/payments/:id', inner);
    app.post('/reports', serve(samekey.plain({ name: 'report hono', run: async () => 1 }), { scope }));
    app.post('/search', exempt('reads only'), (c) => c.text('ok'));
    app.all('/any', (c) => c.text('ok'));
    expect(lines(app)).toEqual([
      'DELETE /any -',
      'PATCH /any -',
      'POST /any -',
      'PUT /any -',
      'POST /payments samekey',
      'POST /payments/:id/capture samekey',
      'POST /payments/:id/void -',
      'POST /reports samekey',
      'POST /search exempt',
    ]);
  });

  it('counts middleware for what stands behind it, below its path', () => {
    const app = new Hono();
    app.post('/v1/early', (c) => c.text('ok'));
    app.use('/v1/*', protect);
    app.post('/v1/late', (c) => c.text('ok'));
    app.put('/v1/late', (c) => c.text('ok'));
    app.post('/v10', (c) => c.text('ok'));
    app.post('/bare', protect);
    expect(lines(app)).toEqual([
      'POST /bare -',
      'POST /v1/early -',
      'POST /v1/late samekey',
      'PUT /v1/late -',
      'POST /v10 -',
    ]);
  });

  it('reports what has a path and no route behind it: it may answer', () => {
    const app = new Hono();
    app.use('*', noted);
    app.use('/v1/*', noted);
    app.post('/v1/x', protect, (c) => c.text('ok'));
    app.use('/late/*', (_c, next) => next());
    app.mount('/old', () => new Response('old'));
    app.use('/said/*', exempt('reads only'));
    expect(coverage(app).unseen.map(({ where }) => where)).toEqual([
      'middleware "noted"',
      'middleware "noted" at /v1/*',
      '/late/*',
      '/old/*',
    ]);
    const passed = coverage(app, { passes: [noted] }).unseen;
    expect(passed.map(({ where }) => where)).toEqual(['/late/*', '/old/*']);
  });

  // F115
  it.each([
    ['the same path', (app: Hono) => app.post('/x', (c) => c.text('twin'))],
    ['all methods', (app: Hono) => app.all('/x', (c) => c.text('twin'))],
    [
      'another application',
      (app: Hono) =>
        app.route(
          '/',
          new Hono().post('/x', (c) => c.text('twin')),
        ),
    ],
  ])('a twin of %s in front of a route answers for it', async (_, twin) => {
    const app = new Hono();
    twin(app);
    app.post('/x', protect, (c) => c.text('protected'));
    expect(await (await app.request('/x', { method: 'POST' })).text()).toBe('twin');
    const { gaps, isFull } = coverage(app);
    expect(isFull).toBe(false);
    expect(gaps).toContainEqual(expect.objectContaining({ method: 'POST', path: '/x' }));
  });

  it('an exempt handler still answers', async () => {
    const app = new Hono();
    app.post('/x', exempt('reads only'), (c) => c.text('found'));
    app.post(
      '/y',
      exempt('reads only', (c: { text(text: string): Response }) => c.text('too')),
    );
    expect(await (await app.request('/x', { method: 'POST' })).text()).toBe('found');
    expect(await (await app.request('/y', { method: 'POST' })).text()).toBe('too');
    expect(coverage(app).isFull).toBe(true);
  });
});

const passes: Koa.Middleware = (_ctx, next) => next();
const koaHandler: Koa.Middleware = (ctx) => {
  ctx.body = 'ok';
};

describe('Koa', () => {
  it('lists the routes of its routers with what they go through', () => {
    const app = new Koa();
    const nested = new Router();
    nested.post('/capture', marked(passes.bind(null)), koaHandler);
    const router = new Router({ prefix: '/v1' });
    router.post('/early', koaHandler);
    router.use('/only', marked(passes.bind(null)));
    router.post('/only/this', koaHandler);
    router.put(['/a', '/b'], exempt('whole documents'), koaHandler);
    router.use('/payments/:id', nested.routes());
    router.use(marked(passes.bind(null)));
    router.post('/late', koaHandler);
    router.all('/all', koaHandler);
    app.use(passes).use(router.routes()).use(router.allowedMethods());
    expect(lines(app)).toEqual([
      'PUT /v1/a exempt',
      'DELETE /v1/all -',
      'PATCH /v1/all -',
      'POST /v1/all samekey',
      'PUT /v1/all samekey',
      'PUT /v1/b exempt',
      'POST /v1/early -',
      'POST /v1/late samekey',
      'POST /v1/only/this samekey',
      'POST /v1/payments/:id/capture samekey',
    ]);
    expect(lines(router)).toHaveLength(10);
  });

  it('counts what the application uses before the router', () => {
    const router = new Router().post('/x', koaHandler);
    expect(lines(new Koa().use(marked(passes.bind(null))).use(router.routes()))).toEqual(['POST /x samekey']);
    expect(lines(new Koa().use(router.routes()).use(marked(passes.bind(null))))).toEqual(['POST /x -']);
  });

  // F115
  it('names middleware beside a router, which may answer, until the application says that it passes', () => {
    const router = new Router().post('/x', marked(passes.bind(null)), koaHandler);
    const allowed = router.allowedMethods();
    const app = new Koa().use(passes).use(router.routes()).use(allowed).use(koaHandler);
    expect(coverage(app)).toMatchObject({
      isFull: false,
      gaps: [],
      unseen: [
        { where: 'middleware "passes"' },
        { where: 'middleware without a name' },
        { where: 'middleware "koaHandler"' },
      ],
    });
    expect(coverage(app, { passes: [passes, allowed] }).isFull).toBe(false);
    expect(coverage(app, { passes: [passes, allowed, 'koaHandler'] }).isFull).toBe(true);
  });

  it('without a router it says that nothing can be seen', () => {
    expect(coverage(new Koa().use(koaHandler))).toMatchObject({
      isFull: false,
      unseen: [{ where: 'the application' }],
    });
  });
});

const handler = async () => 'ok';
const hook = async () => undefined;

describe('Fastify', () => {
  it('lists what was registered since it is watched, plugins and hooks of routes included', async () => {
    const app = watchRoutes(fastify());
    app.get('/payments', handler);
    app.post('/payments', { preHandler: [hook, marked(hook.bind(null))] }, handler);
    app.route({
      method: ['PUT', 'DELETE'],
      url: '/payments/:id',
      onRequest: marked(hook.bind(null)),
      handler,
    });
    await app.register(async (plugin) => void plugin.post('/capture', handler), { prefix: '/v1' });
    app.post('/search', { preHandler: exempt('reads only') }, handler);
    app.post('/served', marked(handler.bind(null), true));
    await app.ready();
    expect(lines(app)).toEqual([
      'POST /payments samekey',
      'DELETE /payments/:id -',
      'PUT /payments/:id samekey',
      'POST /search exempt',
      'POST /served samekey',
      'POST /v1/capture -',
    ]);
    const answer = await app.inject({ method: 'POST', url: '/search' });
    expect([answer.statusCode, answer.body]).toEqual([200, 'ok']);
    await app.close();
  });

  // F115
  it('says so when a route was there before it was watched', async () => {
    const app = fastify();
    app.post('/early', handler);
    watchRoutes(app);
    app.post('/late', { preHandler: marked(hook.bind(null)) }, handler);
    await app.ready();
    expect(coverage(app)).toMatchObject({
      isFull: false,
      gaps: [],
      unseen: [{ where: 'the application', why: expect.stringContaining('before the first') as unknown }],
    });
    await app.close();
  });

  it('says so when it was not watched from the beginning', async () => {
    const app = fastify();
    app.post('/x', handler);
    await app.ready();
    const report = coverage(app);
    expect(report.isFull).toBe(false);
    expect(report.unseen[0]?.why).toContain('watchRoutes');
    expect(routesOf(app).routes).toEqual([]);
    await app.close();
  });
});
