/** Coverage of Express 4 and 5, against the frameworks themselves. */

import { createRequire } from 'node:module';
import express, { type RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { idempotent, serve } from '../../src/adapters/express/index.ts';
import {
  coverage,
  coverageText,
  exempt,
  expectFullCoverage,
  markProtected,
  routesOf,
} from '../../src/coverage/index.ts';
import { createSamekey, singleTenant } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

// An alias without types of its own; what is used here is the same in both versions.
const express4 = createRequire(import.meta.url)('express4') as typeof express;
const samekey = createSamekey({ store: memoryStore(), policy: 'standard' });
const scope = singleTenant();
const protect = (methods = ['POST', 'PATCH']): RequestHandler => idempotent(samekey, { scope, methods });
const asUsual = (): RequestHandler => idempotent(samekey, { scope });
const handler: RequestHandler = (_req, res) => void res.end();
const passes: RequestHandler = (_req, _res, next) => next();

/** `POST /x samekey`, in the order of the report. */
function lines(app: unknown, options = {}): readonly string[] {
  return coverage(app, options).routes.map(
    ({ method, path, protectedBy }) => `${method} ${path} ${protectedBy ?? '-'}`,
  );
}

for (const [name, make] of [
  ['Express 4', express4],
  ['Express 5', express],
] as const) {
  describe(name, () => {
    // F99
    it('counts PUT and DELETE on a route with its method, and not where a request without a key passes', () => {
      const app = make();
      app.use('/used', asUsual());
      for (const path of ['/used', '/bare']) app.delete(path, handler);
      app.put('/own', asUsual(), handler);
      app.route('/mixed').all(passes).delete(asUsual(), handler);
      app.route('/all').all(asUsual()).delete(handler).post(handler);
      expect(lines(app)).toEqual(
        expect.arrayContaining([
          'DELETE /all -',
          'POST /all samekey',
          'DELETE /bare -',
          'DELETE /mixed samekey',
          'PUT /own samekey',
          'DELETE /used -',
        ]),
      );
      expect(coverage(app).gaps.find(({ path }) => path === '/used')?.reason).toContain(
        'without a key passes',
      );
    });

    it('tells protected, exempt and forgotten routes apart, and asks nothing of safe ones', () => {
      const app = make();
      const report = samekey.plain({ name: `report ${name}`, run: async () => 'done' });
      app.get('/payments', handler);
      app.post('/payments', passes, protect(), handler);
      app.post('/reports', serve(report, { scope }));
      app.post('/search', exempt('reads only'), handler);
      app.post('/quotes', exempt('computes only', handler));
      app.post('/refunds', passes, handler);
      app.delete('/payments/:id', protect(), handler);
      expect(lines(app)).toEqual([
        'POST /payments samekey',
        'DELETE /payments/:id -',
        'POST /quotes exempt',
        'POST /refunds -',
        'POST /reports samekey',
        'POST /search exempt',
      ]);
      const { gaps, isFull } = coverage(app);
      expect(isFull).toBe(false);
      expect(gaps.map(({ reason }) => reason)).toEqual([
        'Samekey passes DELETE here: add it to "methods".',
        null,
      ]);
    });

    it('goes into routers, by their whole paths', () => {
      const app = make();
      const inner = make.Router();
      inner.post('/:id/capture', protect(), handler);
      inner.route('/:id').put(handler).patch(protect(), handler);
      const outer = make.Router();
      outer.use('/payments', inner);
      outer.post('/', handler);
      app.use('/v1', passes, outer);
      app.use(make.Router().post('/top', handler));
      expect(lines(app)).toEqual([
        'POST /top -',
        'POST /v1 -',
        'PATCH /v1/payments/:id samekey',
        'PUT /v1/payments/:id -',
        'POST /v1/payments/:id/capture samekey',
      ]);
      expect(lines(inner)).toHaveLength(3);
    });

    it('counts middleware for what stands behind it, below its mount', () => {
      const app = make();
      app.post('/v1/early', handler);
      app.use('/v1/accounts/:account', protect());
      app.post('/v1/accounts/:account/payments', handler);
      app.post('/v1/accounts/:other/payments', handler);
      app.use('/v1', protect());
      app.post('/v1/late', handler);
      app.post('/v10', handler);
      app.use(/^\/re/, protect());
      app.post('/re/1', handler);
      app.use(protect());
      app.post('/everywhere', handler);
      expect(lines(app)).toEqual([
        'POST /everywhere samekey',
        'POST /re/1 -',
        'POST /v1/accounts/:account/payments samekey',
        'POST /v1/accounts/:other/payments -',
        'POST /v1/early -',
        'POST /v1/late samekey',
        'POST /v10 -',
      ]);
    });

    it('asks each changing method of a route for all methods, and each path of a list', () => {
      const app = make();
      app.all('/all', protect(['POST', 'PUT', 'PATCH']), handler);
      app.post(['/one', /^\/two/], handler);
      expect(lines(app)).toEqual([
        'POST /^\\/two/ -',
        'DELETE /all -',
        'PATCH /all samekey',
        'POST /all samekey',
        'PUT /all samekey',
        'POST /one -',
      ]);
    });

    it('is not fooled by a protection without a handler, or one that only handles errors', () => {
      const app = make();
      app.post('/empty', passes, protect());
      app.post('/errors', protect(), (_error: unknown, _req: unknown, _res: unknown, next: () => void) =>
        next(),
      );
      expect(coverage(app).gaps.map(({ reason }) => reason)).toEqual([
        'Nothing stands behind idempotent().',
        'Nothing stands behind idempotent().',
      ]);
    });

    it('says that a mounted application hides its routes, until it is passed too', () => {
      const app = make();
      const admin = make();
      admin.post('/users', handler);
      app.use('/admin', admin);
      expect(coverage(app)).toMatchObject({ isFull: false, gaps: [], unseen: [{ where: '/admin' }] });
      expect(lines(app, { mounted: [admin] })).toEqual(['POST /admin/users -']);
      const excused = coverage(app, { exempt: [{ path: '/admin', reason: 'another team’s' }] });
      expect(excused.isFull).toBe(true);
    });

    it('reports a function that has a path and no route behind it: it may answer', () => {
      const app = make();
      app.use('/graphql', handler);
      app.use('/docs', passes, exempt('shows pages'));
      app.use('/files', make.static('/nowhere'));
      app.use('/v1', passes);
      app.use('/v1/more', make.Router().post('/x', protect(), handler));
      app.use(/^\/odd/, handler);
      app.use((_req, res) => void res.status(404).end());
      const { unseen, gaps } = coverage(app, { passes: [passes] });
      expect(unseen.map(({ where }) => where)).toEqual(['/graphql', '/(?)', 'middleware without a name']);
      expect(gaps).toEqual([]);
      const list = unseen.map(({ where }) => ({ path: where, reason: 'looked at by hand' }));
      expect(coverage(app, { exempt: list, passes: ['passes'] }).isFull).toBe(true);
    });

    // F115
    it('names what stands in front of routes and may answer, until the application says that it passes', () => {
      const app = make();
      const json = make.json();
      app.use(json);
      app.use('/v1', passes);
      app.post('/v1/x', protect(), handler);
      const { unseen, isFull } = coverage(app);
      expect([isFull, unseen.map(({ where }) => where)]).toEqual([
        false,
        ['middleware "jsonParser"', 'middleware "passes" at /v1'],
      ]);
      expect(coverage(app, { passes: [json] }).isFull).toBe(false);
      expect(coverage(app, { passes: [json, passes] }).isFull).toBe(true);
      expect(coverage(app, { passes: ['jsonParser', 'passes'] }).isFull).toBe(true);
    });

    // F115
    it('an application without a state-changing route is not full, until it is said to have none', () => {
      const app = make();
      app.get('/x', handler);
      for (const one of [app, make()])
        expect(coverage(one)).toMatchObject({
          isFull: false,
          routes: [],
          unseen: [{ where: 'the application' }],
        });
      const none = [{ path: 'the application', reason: 'it only shows pages' }];
      expect(coverage(app, { exempt: none }).isFull).toBe(true);
    });

    // F115
    it('judges a twin of a route, registered before it, by itself', () => {
      const app = make();
      app.post('/x', handler);
      app.post('/x', protect(), handler);
      expect(lines(app)).toEqual(['POST /x -', 'POST /x samekey']);
    });

    it('a protected route still runs and replays: the mark changes nothing', async () => {
      const app = make();
      let runs = 0;
      app.post(
        '/x',
        exempt('only to be gone through'),
        protect(),
        (_req, res) => void res.json({ runs: (runs += 1) }),
      );
      const server = app.listen(0, '127.0.0.1');
      await new Promise((done) => server.once('listening', done));
      const { port } = server.address() as { port: number };
      const send = async () =>
        (
          await fetch(`http://127.0.0.1:${port}/x`, {
            method: 'POST',
            headers: { 'Idempotency-Key': `"${name}"` },
          })
        ).text();
      expect([await send(), await send()]).toEqual(['{"runs":1}', '{"runs":1}']);
      server.close();
    });
  });
}

describe('the report', () => {
  const app = express();
  app.post('/b', handler);
  app.post('/a/1', handler);
  app.put('/a/1', handler);
  app.post('/c', protect(), handler);

  it('takes a list of exemptions, by method and path, and by the beginning of a path', () => {
    const list = [
      { path: '/a/*', method: 'put', reason: 'whole documents' },
      { path: '/b', reason: 'reads only' },
    ];
    expect(lines(app, { exempt: list })).toEqual([
      'POST /a/1 -',
      'PUT /a/1 exempt',
      'POST /b exempt',
      'POST /c samekey',
    ]);
    expect(() => expectFullCoverage(app, { exempt: [{ path: '*', reason: 'a demo' }] })).not.toThrow();
  });

  it('fails a test with a list of what is missing', () => {
    const list = [
      { path: '/b', reason: 'reads only' },
      { path: '/gone', reason: 'was here once' },
    ];
    expect(() => expectFullCoverage(app, { exempt: list })).toThrow(
      [
        '1 of 4 state-changing routes protected, 1 exempt, 2 not protected.',
        'Not protected: put idempotent() or serve() there, or exempt("why").',
        '  POST   /a/1',
        '  PUT    /a/1',
        'Exemptions of no route: take them off the list.',
        '  * /gone',
        'Exempt, as declared:',
        '  POST   /b  (reads only)',
      ].join('\n'),
    );
  });

  it('takes the last word where something is marked twice', () => {
    const again = express();
    const answers = markProtected(handler.bind(null), {
      methods: new Set(['PUT']),
      required: true,
      answers: true,
    });
    again.post('/x', markProtected(answers, { methods: new Set(['POST']), required: true, answers: true }));
    expect(coverage(again).isFull).toBe(true);
  });

  it('says where a request without a key runs', () => {
    const open = express();
    open.post('/x', idempotent(samekey, { scope, required: false }), handler);
    const report = coverage(open);
    expect(report.isFull).toBe(true);
    expect(report.routes[0]?.reason).toContain('required: false');
    expect(coverageText(report)).toContain('1 of 1');
  });

  it('refuses exemptions without a reason, and what has no routes', () => {
    const options = expect.objectContaining({ code: 'ERR_SAMEKEY_OPTIONS' });
    for (const reason of ['', '  ', undefined as never]) {
      expect(() => exempt(reason)).toThrow(options);
      expect(() => coverage(app, { exempt: [{ path: '/b', reason }] })).toThrow(options);
    }
    for (const value of [null, undefined, 1, 'x', {}, [], () => undefined, { openapi: '2.0' }]) {
      expect(() => routesOf(value)).toThrow(options);
    }
    expect(() => coverage(app, { excempt: [] } as never)).toThrow(options);
  });
});
