/** What only Express has around handlers: parsers before and after, `app.use`, nested routers, error middleware. */

import type express from 'express';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { describe, expect } from 'vitest';
import { attemptOf, noteDeclared, rememberRawBody } from '../../src/adapters/express/index.ts';
import { NotExecutedError } from '../../src/core/errors.ts';
import type { App } from '../../../testing/src/adapter-contract.ts';
import { assertProblem, assertReplay, header, json, text } from '../../../testing/src/adapter/expect.ts';
import { jsonRequest } from '../../../testing/src/adapter/kit.ts';
import { expressTests } from './express-app.ts';

const amount: RequestHandler = (req, res) =>
  void res.status(201).json({ got: (req.body as { amount: number }).amount });

const made: RequestHandler = (_req, res) => void res.status(201).end();
const passes: RequestHandler = (_req, _res, next) => next();

async function checkParser(app: App): Promise<void> {
  const first = await app.send(jsonRequest('key-1', '{"amount":1,"to":"x"}'));
  expect([first.status, json(first)]).toEqual([201, { got: 1 }]);
  assertReplay(first, await app.send(jsonRequest('key-1', '{"to":"x", "amount":1.0}')));
  assertProblem(await app.send(jsonRequest('key-1', '{"amount":2,"to":"x"}')), 422, 'key-reused');
}

/** Describes them for one version of Express. */
export function expressSpecifics(name: string, framework: typeof express): void {
  const test = expressTests(name, framework);

  describe(`handlers of ${name} beyond the contract`, () => {
    test(
      'a parser after Samekey finds the body',
      (app, protect) => app.post('/things', protect(), framework.json(), amount),
      checkParser,
    );

    test(
      'a parser before Samekey works if it remembers the bytes',
      (app, protect) =>
        app.use(framework.json({ verify: rememberRawBody })).post('/things', protect(), amount),
      checkParser,
    );

    // F31 for a form parser, and in app.use.
    test(
      'a parser before Samekey that keeps nothing is an error, not an empty body',
      (app, protect) => {
        app.use(framework.urlencoded({ extended: false }), protect());
        app.post('/things', (_req, res) => void res.end('ran'));
        app.use(onError);
      },
      async (app) => {
        const headers = [
          ['Content-Type', 'application/x-www-form-urlencoded'] as const,
          ['Idempotency-Key', 'k'] as const,
        ];
        const answer = await app.send({ target: '/things', headers, body: 'a=1' });
        expect(answer.status).toBe(500);
        expect(text(answer)).toContain('was read before Samekey saw it');
      },
    );

    test(
      'app.use protects what comes after it, 404 included, and one key is for one request',
      (app, protect) => {
        app.use(protect());
        for (const path of ['/a', '/b'])
          app.all(path, (req, res) => void res.json([path, attemptOf(req)?.number]));
      },
      async (app) => {
        const first = await app.post('key-1', { target: '/a' });
        expect(text(first)).toBe('["/a",1]');
        assertReplay(first, await app.post('key-1', { target: '/a' }));
        assertProblem(await app.post('key-1', { target: '/b' }), 422, 'key-reused');
        expect(text(await app.send({ method: 'GET', target: '/a' }))).toBe('["/a",null]');
        const missing = await app.post('key-2', { target: '/c' });
        expect(missing.status).toBe(404);
        assertReplay(missing, await app.post('key-2', { target: '/c' }));
      },
    );

    test(
      'routers within routers: a tenant in the path is told apart however it is spelt, and never mixed up',
      (app, protect) => {
        const inner = framework.Router({ mergeParams: true });
        inner.post('/things/:id', protect(), (req, res) => void res.json(req.params));
        app.use('/tenants/:tenant', framework.Router({ mergeParams: true }).use('/v1', inner));
      },
      async (app) => {
        const first = await app.post('key-1', { target: '/tenants/7/v1/things/1' });
        expect(json(first)).toEqual({ tenant: '7', id: '1' });
        assertReplay(first, await app.post('key-1', { target: '/tenants/%37/v1/things/%31' }));
        assertProblem(await app.post('key-1', { target: '/tenants/8/v1/things/1' }), 422, 'key-reused');
        assertProblem(await app.post('key-1', { target: '/tenants/8/v1/things/2' }), 422, 'key-reused');
      },
    );

    // F74: a route that is added in front and passes must not rename the operation of what use has put behind it.
    test(
      'a route that was passed before does not count for app.use',
      (app, protect) => {
        app.post('/passed', (_req, _res, next) => next());
        app.use(protect());
        app.post('/passed', (req, res) => void res.json(attemptOf(req)?.operation));
      },
      async (app) => expect(json(await app.post('key-1', { target: '/passed' }))).toBe('*'),
    );

    test(
      'a URL that was rewritten on its way is compared as the client sent it',
      (app, protect) => {
        app.use((req, _res, next) => {
          req.url = req.url.replace(/^\/(acme|zorro)/, '');
          next();
        });
        const router = framework.Router().post('/charge', protect(), (req, res) => void res.json(req.url));
        app.use('/api', router);
      },
      async (app) => {
        const first = await app.post('key-1', { target: '/acme/api/charge' });
        assertReplay(first, await app.post('key-1', { target: '/acme/api/charge' }));
        assertProblem(await app.post('key-1', { target: '/zorro/api/charge' }), 422, 'key-reused');
      },
    );

    // F74, F27: where a request may have come by either mount, its path is compared as it is.
    test(
      'a router at two mounts that both fit is told apart by the letters of the path',
      (app, protect) => {
        const router = framework.Router({ mergeParams: true });
        router.post('/charge', protect(), (req, res) => void res.json(req.params));
        app.use('/:tenant', router);
        app.use('/api', router);
      },
      async (app) => {
        const first = await app.post('key-1', { target: '/api/charge' });
        assertProblem(await app.post('key-1', { target: '/API/charge' }), 422, 'key-reused');
        assertReplay(first, await app.post('key-1', { target: '/api/CHARGE' }));
      },
    );

    // F99
    test(
      'a chain of one path tells what was put there for a method from what stands for all',
      (app, protect) => {
        app.route('/own').all(passes).delete(protect(), made);
        app.route('/all').all(protect()).delete(made);
      },
      async (app) => {
        const remove = (target: string) => app.post(null, { method: 'DELETE', target });
        assertProblem(await remove('/own'), 400, 'key-missing');
        expect((await remove('/all')).status).toBe(201);
        expect((await app.saw('misuse')).code).toBe('method-not-asked');
      },
    );

    test(
      'a request that is protected twice is a loud error, and its key works once the mistake is mended',
      (app, protect) => {
        let mended = false;
        app.use(protect());
        app.post(
          '/things',
          (req, res, next) => (mended ? next('route') : protect()(req, res, next)),
          (_req, res) => void res.end('ran under both'),
        );
        app.post('/things', (_req, res) => void res.status(201).end('made'));
        app.use(((error, _req, res, _next) => {
          mended = true;
          res.status(500).end(String(error));
        }) as ErrorRequestHandler);
      },
      async (app) => {
        const refused = await app.post('key-1');
        expect(refused.status).toBe(500);
        expect(text(refused)).toContain('twice');
        expect((await app.saw('misuse')).code).toBe('protected-twice');
        const next = await app.post('key-1');
        expect([next.status, text(next)]).toEqual([201, 'made']);
      },
    );

    // What Express takes for "go on", and for "skip me".
    for (const thrown of [undefined, null, 0, 'route', 'router']) {
      test(
        `a scope function that rejects with ${JSON.stringify(thrown)} lets no request run unprotected`,
        (app, protect) => {
          // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- as applications do
          app.post('/things', protect({ scope: () => Promise.reject(thrown) }), made);
          app.post('/things', made);
          app.use(onError);
        },
        async (app) => {
          expect((await app.post('key-1')).status).toBe(500);
          expect(app.count('claimed')).toBe(0);
        },
      );
    }

    test(
      'a path may be a list or an expression',
      (app, protect) =>
        app.post(['/a/:id', /^\/b\/(\d+)$/], protect(), (req, res) => void res.json([req.path])),
      async (app) => {
        for (const target of ['/a/1', '/b/2']) {
          const key = target.slice(1, 2);
          assertReplay(await app.post(key, { target }), await app.post(key, { target }));
        }
      },
    );

    // F2
    test(
      'the answer of error middleware is recorded like any other',
      (app, protect) => {
        app.post('/things', protect(), (_req, _res, next) => next(new Error('no such payment')));
        app.use(toStatus(404));
      },
      async (app) => {
        const first = await app.post('key-1');
        expect([first.status, text(first)]).toEqual([404, 'no such payment']);
        assertReplay(first, await app.post('key-1'));
      },
    );

    test(
      'a NotExecutedError behind app.use reaches its attempt by noteDeclared',
      (app, protect) => {
        app.use(protect());
        app.post('/things', (req, res, next) =>
          attemptOf(req)?.number === 1
            ? next(new NotExecutedError('bad input', { correctable: true }))
            : void res.status(201).end(),
        );
        app.use(noteDeclared, toStatus(422));
      },
      async (app) => {
        expect((await app.post('key-1')).status).toBe(422);
        expect((await app.send(jsonRequest('key-1', { amount: 2 }))).status).toBe(201);
      },
    );

    test(
      'a protected route takes no more methods than before, whatever is listened to',
      (app, protect) => app.post('/things', protect(), (_req, res) => void res.status(201).end()),
      async (app) => {
        await app.post('key-1');
        expect((await app.send({ method: 'GET', target: '/things' })).status).toBe(404);
        const options = await app.send({ method: 'OPTIONS', target: '/things' });
        expect(header(options, 'allow')).toBe('POST');
      },
    );
  });
}

const onError: ErrorRequestHandler = (error, _req, res, _next) => void res.status(500).end(String(error));
const toStatus =
  (status: number): ErrorRequestHandler =>
  (error: Error, _req, res, _next) =>
    void res.status(status).end(error.message);
