/** What only Fastify has around a door: contexts, the order of hooks, schemas, serializers, parsers, `inject`. */

import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import { describe, expect, it } from 'vitest';
import {
  attemptOf,
  CORS,
  idempotent,
  type RouteOptions,
  serve,
  serveStatus,
} from '../../src/adapters/fastify/index.ts';
import { NotExecutedError } from '../../src/core/errors.ts';
import { coverage, watchRoutes } from '../../src/coverage/index.ts';
import { createSamekey } from '../../src/index.ts';
import type { Samekey } from '../../src/samekey.ts';
import { internalsOf } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { pushDue } from '../../src/ways/completer.ts';
import { type App, type Bench, onBench } from '../../../testing/src/adapter-contract.ts';
import { assertProblem, assertReplay, header, json, text } from '../../../testing/src/adapter/expect.ts';
import { gate, jsonRequest } from '../../../testing/src/adapter/kit.ts';
import { bare, fastifyHarness, listen } from './fastify-harness.ts';

type Protect = (options?: Partial<RouteOptions<FastifyRequest>>) => ReturnType<typeof idempotent>;

/** What Nest's platform brings along. */
const cors = createRequire(import.meta.resolve('@nestjs/platform-fastify'))('@fastify/cors') as Parameters<
  FastifyInstance['register']
>[0];

/** One app with what `build` puts into it. */
function on(
  build: (app: FastifyInstance, protect: Protect, samekey: Samekey) => unknown,
  body: (app: App, t: Bench) => Promise<void>,
  options: FastifyServerOptions = {},
): Promise<void> {
  const serveIt = async (samekey: Samekey) => {
    const app = fastify({ forceCloseConnections: true, ...options });
    const protect: Protect = (own) =>
      idempotent(samekey, { policy: 'standard', scope: () => 'acme', ...own });
    await build(app, protect, samekey);
    return listen(app);
  };
  return onBench({ ...fastifyHarness, serve: serveIt }, async (t) => body(await t.start(), t));
}

const ok = (): object => ({ ok: true });
const tell = (request: FastifyRequest): object => ({ attempt: attemptOf(request)?.key ?? null });
const declared = (): Error => new NotExecutedError('sold out, nothing was charged');
const accountOf = (request: FastifyRequest): string | undefined => request.headers['x-account'] as string;
const location = (_request: FastifyRequest, key: string): string => `/reports/${key}`;

interface Amount {
  readonly amount: number;
}

describe('contexts of Fastify', () => {
  it('what is registered in one is protected there and within, and nowhere else', () =>
    on(
      async (app, protect) => {
        let runs = 0;
        const run = (): { run: number } => ({ run: (runs += 1) });
        await app.register(async (payments) => {
          await payments.register(protect());
          payments.post('/things', run);
          await payments.register(async (within) => within.post('/within', run));
        });
        app.post('/beside', run);
      },
      async (app) => {
        assertProblem(await app.post(null), 400, 'key-missing');
        assertProblem(await app.post(null, { target: '/within' }), 400, 'key-missing');
        expect([(await app.post(null, { target: '/beside' })).status, app.count('claimed')]).toEqual([
          200, 0,
        ]);
        const first = await app.post('key-1', { target: '/within' });
        assertReplay(first, await app.post('key-1', { target: '/within' }));
      },
    ));

  it('a route says in its config that it is not protected, or in which options it differs', () =>
    on(
      async (app, protect) => {
        await app.register(protect());
        app.post('/open', { config: { idempotent: false } }, tell);
        app.post('/things', { config: { idempotent: { header: 'Request-Id', operation: 'thing' } } }, tell);
      },
      async (app) => {
        expect(json(await app.post('key-1', { target: '/open' }))).toEqual({ attempt: null });
        const named = { headers: [['Request-Id', 'key-1']] as const };
        assertReplay(await app.post(null, named), await app.post(null, named));
        expect((await app.saw('claimed')).operation).toBe('thing');
      },
    ));

  it('the plugin of the context within has the last word', () =>
    on(
      async (app, protect) => {
        await app.register(protect());
        await app.register(async (within) => {
          await within.register(protect({ header: 'Request-Id' }));
          within.post('/things', () => ({ ok: true }));
        });
      },
      async (app) => {
        assertProblem(await app.post('key-1'), 400, 'key-missing');
        const named = { headers: [['Request-Id', 'key-1']] as const };
        assertReplay(await app.post(null, named), await app.post(null, named));
        expect(app.count('claimed')).toBe(1);
      },
    ));

  it('a route that was declared before the plugin was loaded runs nothing, and the error says what to do', () =>
    on(
      (app, protect) => {
        // As it is often written: without await.
        void app.register(protect());
        app.post('/things', () => ({ ran: true }));
        app.get('/things', () => ({ ran: true }));
      },
      async (app) => {
        const answer = await app.post('key-1');
        expect([answer.status, json(answer)['message']]).toEqual([
          500,
          expect.stringContaining('POST /things was declared before the plugin of idempotent() was loaded'),
        ]);
        expect((await app.send({ method: 'GET', target: '/things' })).status).toBe(200);
        expect((await app.post('key-1', { target: '/nowhere' })).status).toBe(404);
      },
    ));

  it('options of a route that cannot work are refused when it is declared', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const app = fastify();
    await app.register(idempotent(samekey, { policy: 'standard', scope: () => 'acme' }));
    const config = { idempotent: { requestSizeMaxBytes: -1 } };
    expect(() => app.post('/things', { config }, () => null)).toThrow('requestSizeMaxBytes');
  });

  it('a server of HTTP/2 is refused at start', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const app = fastify({ http2: true });
    app.register(idempotent(samekey, { policy: 'standard', scope: () => 'acme' }) as never);
    await expect(app.ready()).rejects.toThrow('HTTP/1.1');
  });
});

describe('hooks of Fastify', () => {
  it('the key is claimed behind all of them: authentication in preHandler names the caller, or refuses and claims nothing', () =>
    on(
      async (app, protect) => {
        const users = new WeakMap<FastifyRequest, string>();
        await app.register(protect({ scope: (request) => users.get(request) }));
        const authenticate = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
          const user = request.headers['x-account'];
          if (typeof user !== 'string') return reply.code(401).send('who?');
          return void users.set(request, user);
        };
        app.post('/things', { preHandler: authenticate }, () => ({ ok: true }));
      },
      async (app) => {
        expect((await app.post('key-1')).status).toBe(401);
        expect(app.count('claimed')).toBe(0);
        const acme = { headers: [['X-Account', 'acme']] as const };
        const first = await app.post('key-1', acme);
        assertReplay(first, await app.post('key-1', acme));
        await app.post('key-1', { headers: [['X-Account', 'globex']] });
        expect(app.count('claimed')).toBe(2);
      },
    ));

  it('serializers and onSend make the answer once: a replay is what they made, and passes by them', () => {
    let sent = 0;
    return on(
      async (app, protect) => {
        await app.register(protect());
        app.addHook('onSend', async (_request, _reply, payload) => `${String(payload)}#${(sent += 1)}`);
        const response = { 201: { type: 'object', properties: { id: { type: 'integer' } } } };
        app.post('/things', { schema: { response } }, async (_request, reply) =>
          reply.code(201).send({ id: 7.0, secret: 'not in the schema' }),
        );
      },
      async (app) => {
        const first = await app.post('key-1');
        expect([first.status, text(first)]).toEqual([201, '{"id":7}#1']);
        assertReplay(first, await app.post('key-1'));
        expect(sent).toBe(1);
      },
    );
  });

  it('what hooks have set on the reply stands on replays, refusals, and answers at the time limit', () => {
    const started = gate();
    return on(
      async (app, protect) => {
        app.addHook('onRequest', async (_request, reply) => {
          reply.header('X-Outer', 'yes').header('Set-Cookie', ['a=1', 'b=2']);
        });
        await app.register(protect({ attemptTimeMaxMs: 60_000 }));
        app.post('/things', () => ({ ok: true }));
        app.post('/hung', () => {
          started.open();
          return new Promise(() => undefined);
        });
      },
      async (app, t) => {
        const first = await app.post('key-1');
        const hung = app.post('key-2', { target: '/hung' });
        await started.opened;
        const late = await t.passUntil(hung);
        assertProblem(late, 409, 'outcome-unknown');
        for (const answer of [first, await app.post('key-1'), await app.post(null), late])
          expect([header(answer, 'x-outer'), header(answer, 'set-cookie')]).toEqual(['yes', 'a=1, b=2']);
      },
    );
  });

  it('onResponse hears of replays too', () => {
    const heard: number[] = [];
    return on(
      async (app, protect) => {
        await app.register(protect());
        app.addHook('onResponse', async (_request, reply) => void heard.push(reply.statusCode));
        app.post('/things', (_request, reply) => reply.code(201).send({ ok: true }));
      },
      async (app) => {
        await app.post('key-1');
        await app.post('key-1');
        await app.post(null);
        expect(heard).toEqual([201, 201, 400]);
      },
    );
  });
});

describe('bodies', () => {
  it('what a schema or a parser of Fastify refuses claims nothing, and the key is good for the mended request', () =>
    on(
      async (app, protect) => {
        await app.register(protect());
        const body = { type: 'object', required: ['amount'], properties: { amount: { type: 'integer' } } };
        app.post('/things', { schema: { body } }, (request) => ({ got: (request.body as Amount).amount }));
      },
      async (app) => {
        const refused = await app.send(jsonRequest('key-1', { amount: 'much' }));
        expect([refused.status, json(refused)['code']]).toEqual([400, 'FST_ERR_VALIDATION']);
        expect((await app.send(jsonRequest('key-1', '{"amount":'))).status).toBe(400);
        const plain = [['Content-Type', 'text/csv'] as const, ['Idempotency-Key', 'key-1'] as const];
        expect((await app.send({ target: '/things', headers: plain, body: 'a,b' })).status).toBe(415);
        expect(app.count('claimed')).toBe(0);
        const first = await app.send(jsonRequest('key-1', { amount: 1 }));
        expect(json(first)).toEqual({ got: 1 });
        assertReplay(first, await app.send(jsonRequest('key-1', { amount: 1 })));
      },
    ));

  it('are compared as they came, whatever a schema makes of them', () =>
    on(
      async (app, protect) => {
        await app.register(protect());
        const body = { type: 'object', properties: { amount: { type: 'integer', default: 5 } } };
        app.post('/things', { schema: { body } }, (request) => ({ got: (request.body as Amount).amount }));
      },
      async (app) => {
        expect(json(await app.send(jsonRequest('key-1', {})))).toEqual({ got: 5 });
        assertProblem(await app.send(jsonRequest('key-1', { amount: 5 })), 422, 'key-reused');
      },
    ));

  it('parsers of the application and preParsing hooks find them whole', () =>
    on(
      async (app, protect) => {
        await app.register(protect());
        app.addContentTypeParser('text/csv', (_request, payload, done) => {
          const chunks: Buffer[] = [];
          payload.on('data', (chunk: Buffer) => chunks.push(chunk));
          payload.on('end', () => done(null, Buffer.concat(chunks).toString().split(',')));
        });
        app.post('/things', { preParsing: async (_request, _reply, payload) => payload }, ({ body }) => ({
          body,
        }));
      },
      async (app) => {
        const headers = [['Content-Type', 'text/csv'] as const, ['Idempotency-Key', 'key-1'] as const];
        const first = await app.send({ target: '/things', headers, body: 'a,b' });
        expect(json(first)).toEqual({ body: ['a', 'b'] });
        assertReplay(first, await app.send({ target: '/things', headers, body: 'a,b' }));
      },
    ));

  it('that are too large are refused before a parser sees them', () =>
    on(
      async (app, protect) => {
        await app.register(protect({ requestSizeMaxBytes: 100 }));
        app.post('/things', ({ body }) => ({ body }));
      },
      async (app) => {
        const large = jsonRequest('key-1', { text: 'x'.repeat(200) });
        assertProblem(await app.send(large), 413, 'body-too-large');
        expect(app.count('claimed')).toBe(0);
        // The rule is the door's: what is not protected is none of its business.
        expect((await app.post('key-1')).status).toBe(200);
      },
    ));
});

describe('errors of handlers', () => {
  it('what they declare is heard, whoever answers them: sent, returned, or given to a callback', () => {
    let runs = 0;
    const odd = (): boolean => (runs += 1) % 2 === 1;
    return on(
      async (app, protect) => {
        app.setErrorHandler((_error, _request, reply) => reply.code(503).send('later'));
        await app.register(protect({ policy: 'payments' }));
        app.post('/sent', (_request, reply) => void reply.send(odd() ? declared() : { runs }));
        app.post('/returned', async () => (odd() ? declared() : { runs }));
        app.post('/later', (_request, reply) => {
          const answer = odd() ? declared() : { runs };
          setImmediate(() => void reply.send(answer));
        });
      },
      async (app) => {
        for (const target of ['/sent', '/returned', '/later']) {
          const first = await app.post('key-1', { target });
          expect([first.status, text(first)]).toEqual([503, 'later']);
          expect((await app.post('key-1', { target })).status).toBe(200);
        }
        expect(runs).toBe(6);
      },
    );
  });

  it('what they declare is heard, whoever answers them: thrown or rejected', () => {
    let runs = 0;
    return on(
      async (app, protect) => {
        app.setErrorHandler((_error, _request, reply) => reply.code(503).send('later'));
        await app.register(protect({ policy: 'payments' }));
        app.post('/things', () => {
          if ((runs += 1) === 1) throw declared();
          return { runs };
        });
        app.post('/later', async () => {
          if ((runs += 1) === 3) throw declared();
          return { runs };
        });
      },
      async (app) => {
        for (const target of ['/things', '/later']) {
          const first = await app.post('key-1', { target });
          expect([first.status, text(first)]).toEqual([503, 'later']);
          expect((await app.post('key-1', { target })).status).toBe(200);
        }
        expect(runs).toBe(4);
      },
    );
  });

  it('handlers with callbacks answer as before, and a reply that is given back is no answer of its own', () =>
    on(
      async (app, protect) => {
        await app.register(protect());
        app.post('/things', (_request, reply) => {
          setImmediate(() => void reply.code(202).send({ ok: true }));
        });
        app.post('/returned', async (_request, reply) => {
          setImmediate(() => void reply.code(202).send({ ok: true }));
          return reply;
        });
      },
      async (app) => {
        for (const target of ['/things', '/returned']) {
          const first = await app.post('key-1', { target });
          expect([first.status, text(first)]).toEqual([202, '{"ok":true}']);
          assertReplay(first, await app.post('key-1', { target }));
        }
      },
    ));
});

describe('answers that Fastify does not send', () => {
  it('of a handler that answers after a hook answered in its place are the record’s: returned, sent, or by callback', () => {
    let runs = 0;
    const go = gate();
    async function made(): Promise<object> {
      runs += 1;
      await go.opened;
      return { made: true };
    }
    return on(
      async (app, protect) => {
        app.addHook('preHandler', (_request, reply, done) => {
          done();
          setImmediate(() => {
            if (!reply.sent && runs < 4) void reply.code(503).type('text/plain').send('time-out');
          });
        });
        await app.register(protect());
        app.post('/returned', made);
        app.post('/sent', async (_request, reply) => {
          const body = await made();
          return reply.code(201).send(body);
        });
        app.post('/callback', (_request, reply) => {
          void made().then((body) => void reply.code(201).send(body));
        });
      },
      async (app) => {
        const targets = ['/returned', '/sent', '/callback'];
        for (const target of targets) expect(text(await app.post('key-1', { target }))).toBe('time-out');
        const before = app.count('finished');
        go.open();
        await expect.poll(() => app.count('finished') - before).toBe(3);
        for (const [target, status] of [
          ['/returned', 200],
          ['/sent', 201],
          ['/callback', 201],
        ] as const) {
          const late = await app.post('key-1', { target });
          expect([late.status, header(late, 'content-type'), json(late)]).toEqual([
            status,
            'application/json; charset=utf-8',
            { made: true },
          ]);
        }
        expect(runs).toBe(3);
      },
    );
  });

  it('of a handler that ends with nothing after its client has left are stored all the same', () => {
    let runs = 0;
    const [inside, left] = [gate(), gate()];
    return on(
      async (app, protect) => {
        await app.register(protect());
        app.post('/things', async (request, reply) => {
          reply.code(204);
          if ((runs += 1) > 1) return;
          request.raw.socket.once('close', () => left.open());
          inside.open();
          await left.opened;
        });
      },
      async (app) => {
        const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
        await inside.opened;
        connection.hangUp();
        await app.saw('finished');
        expect((await app.post('key-1')).status).toBe(204);
        expect(runs).toBe(1);
      },
    );
  });
});

describe('routes of Fastify', () => {
  it('are claimed behind preHandlers, whoever puts them there and when', () => {
    let allowed = false;
    return on(
      async (app, protect) => {
        await app.register(protect());
        app.addHook('onRoute', (route) => {
          route.preHandler = (_request, reply, done) => {
            if (allowed) done();
            else void reply.code(403).send('not yet');
          };
        });
        app.post('/things', ok);
      },
      async (app) => {
        expect([(await app.post('key-1')).status, app.count('claimed')]).toEqual([403, 0]);
        allowed = true;
        const first = await app.post('key-1');
        assertReplay(first, await app.post('key-1'));
        allowed = false;
        expect((await app.post('key-1')).status).toBe(403);
      },
    );
  });

  it('that differ by a host or a version alone have to be named', async () => {
    const app = fastify();
    const samekey = createSamekey({ store: memoryStore() });
    await app.register(idempotent(samekey, { policy: 'standard', scope: () => 'acme' }));
    const constraints = { host: 'a.example' };
    expect(() => app.post('/things', { constraints }, ok)).toThrow(/Name the operation of each/);
    expect(() =>
      app.post('/things', { constraints, config: { idempotent: { operation: 'things-of-a' } } }, ok),
    ).not.toThrow();
    await app.close();
    await samekey.close();
  });
});

describe('an operation that Fastify serves', () => {
  const acme = { headers: [['X-Account', 'acme']] as const };

  it('is answered behind the hooks of its route, also in a protected context; its status is its owner’s', () => {
    const opened: Samekey[] = [];
    return on(
      async (app, protect, samekey) => {
        opened.push(samekey);
        await app.register(protect({ header: 'Another-Key' }));
        const report = samekey.deferred(
          samekey.plain({ name: 'report', policy: 'standard', run: async (input: Amount) => input.amount }),
        );
        app.post('/things', {
          ...serve(report, { scope: accountOf, location }),
          onRequest: async (_request, reply) => void reply.header('X-Outer', 'yes'),
        });
        app.get<{ Params: { key: string } }>(
          '/reports/:key',
          serveStatus(report, {
            scope: accountOf,
            key: ({ params }) => (params as { key: string }).key,
          }) as never,
        );
      },
      async (app) => {
        const placed = await app.post('key-1', acme);
        expect([placed.status, header(placed, 'location'), header(placed, 'x-outer')]).toEqual([
          202,
          '/reports/key-1',
          'yes',
        ]);
        const look = (account: string) =>
          app.send({ method: 'GET', target: '/reports/key-1', headers: [['X-Account', account]] });
        expect((await look('acme')).status).toBe(202);
        await pushDue(internalsOf(opened[0] as Samekey), 10);
        const done = await look('acme');
        expect([done.status, text(done)]).toEqual([200, '1']);
        expect((await look('globex')).status).toBe(404);
        assertProblem(await app.post(null, acme), 400, 'key-missing');
      },
    );
  });

  it('takes no method that is not protected, and an error of its scope is the framework’s to answer', () =>
    on(
      (app, _protect, samekey) => {
        const pay = samekey.plain({ name: 'pay', policy: 'standard', run: () => 1 });
        const { handler, ...rest } = serve(pay, {
          methods: ['POST'],
          scope: () => {
            throw new Error('no session');
          },
        });
        app.route({ method: ['POST', 'PUT'], url: '/things', handler, ...rest });
      },
      async (app) => {
        const put = await app.post('key-1', { method: 'PUT' });
        expect([put.status, header(put, 'allow')]).toEqual([405, 'POST']);
        const answer = await app.post('key-1');
        expect([answer.status, json(answer)['message']]).toEqual([500, 'no session']);
      },
    ));
});

describe('around a door of Fastify', () => {
  it('inject meets it as a socket does', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const app = bare();
    await app.register(idempotent(samekey, { policy: 'standard', scope: () => 'acme' }));
    let runs = 0;
    app.post('/things', () => ({ run: (runs += 1) }));
    const ask = () =>
      app.inject({
        method: 'POST',
        url: '/things',
        headers: { 'idempotency-key': 'key-1' },
        payload: { a: 1 },
      });
    const [first, again] = [await ask(), await ask()];
    expect([first.statusCode, first.json()]).toEqual([200, { run: 1 }]);
    expect([again.body, again.headers['idempotency-replayed']]).toEqual([first.body, 'true']);
    await app.close();
    await samekey.close({ drainMs: 0 });
  });

  it('coverage sees what is protected, served and left out', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const app = watchRoutes(fastify());
    app.post('/before', ok);
    await app.register(idempotent(samekey, { policy: 'standard', scope: () => 'acme' }));
    app.post('/protected', ok);
    app.post('/open', { config: { idempotent: false } }, ok);
    const pay = samekey.plain({ name: 'pay', policy: 'standard', run: () => 1 });
    app.post('/served', serve(pay, { scope: () => 'acme' }));
    await app.ready();
    const { routes } = coverage(app);
    expect(routes.map(({ path, protectedBy }) => [path, protectedBy])).toEqual([
      ['/before', null],
      ['/open', null],
      ['/protected', 'samekey'],
      ['/served', 'samekey'],
    ]);
    await app.close();
  });

  // Hooks as @fastify/compress, @fastify/helmet and an authentication plugin bring them.
  it('replay engages in an application as it is run: CORS, headers of hooks, compression, schemas, an error handler', () => {
    let runs = 0;
    return on(
      async (app, protect) => {
        await app.register(cors, {
          origin: 'https://shop.example',
          exposedHeaders: [...CORS.exposedHeaders],
          allowedHeaders: [...CORS.allowedHeaders],
        });
        app.addHook('onRequest', async (request, reply) => {
          reply.header('X-Frame-Options', 'DENY').header('X-Request-Id', request.id);
        });
        app.addHook('onSend', async (request, reply, payload) => {
          if (request.headers['accept-encoding'] !== 'gzip' || typeof payload !== 'string') return payload;
          reply.header('Content-Encoding', 'gzip').removeHeader('Content-Length');
          return gzipSync(payload);
        });
        app.setErrorHandler((error, _request, reply) =>
          reply.code((error as { statusCode?: number }).statusCode ?? 500).send({ failed: true }),
        );
        await app.register(protect());
        const body = { type: 'object', required: ['amount'], properties: { amount: { type: 'integer' } } };
        app.post('/things', { schema: { body } }, async (_request, reply) => {
          runs += 1;
          return reply.code(201).send({ run: runs });
        });
      },
      async (app) => {
        const from = {
          headers: [
            ['Origin', 'https://shop.example'],
            ['Accept-Encoding', 'gzip'],
          ] as const,
        };
        const first = await app.post('key-1', from);
        const again = await app.post('key-1', from);
        expect([runs, again.body.equals(first.body)]).toEqual([1, true]);
        for (const answer of [first, again]) {
          expect(header(answer, 'content-encoding')).toBe('gzip');
          expect(header(answer, 'access-control-allow-origin')).toBe('https://shop.example');
          expect(header(answer, 'x-frame-options')).toBe('DENY');
        }
        expect(header(again, 'idempotency-replayed')).toBe('true');
        const invalid = await app.send(jsonRequest('key-2', { amount: 'much' }, from));
        expect(invalid.status).toBe(400);
        expect(header(await app.post(null, from), 'access-control-expose-headers')).toContain(
          'Idempotency-Replayed',
        );
      },
    );
  });
});
