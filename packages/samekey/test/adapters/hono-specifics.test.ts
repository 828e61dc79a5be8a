/** What only Hono has around handlers: parsers with a memory, `onError`, apps within apps, headers on the context, its streams. */

import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { compress } from 'hono/compress';
import { cors } from 'hono/cors';
import { etag } from 'hono/etag';
import { HTTPException } from 'hono/http-exception';
import { streamSSE } from 'hono/streaming';
import { validator } from 'hono/validator';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { attemptOf, type HonoOptions, idempotent } from '../../src/adapters/hono/index.ts';
import { NotExecutedError } from '../../src/core/errors.ts';
import { createSamekey, type Samekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { type App, type Bench, onBench } from '../../../testing/src/adapter-contract.ts';
import { assertProblem, assertReplay, header, json, text } from '../../../testing/src/adapter/expect.ts';
import { gate, jsonRequest } from '../../../testing/src/adapter/kit.ts';
import { honoHarness, listen } from './hono-harness.ts';

interface Vars {
  Variables: { tenant: string };
}
type Protect = (
  options?: Partial<HonoOptions<Context<Vars>>>,
) => ReturnType<typeof idempotent<Context<Vars>>>;
type Build = (app: Hono<Vars>, protect: Protect, samekey: Samekey) => unknown;

function test(title: string, build: Build, body: (app: App, t: Bench) => Promise<void>): void {
  const served = (samekey: Samekey) => {
    const app = new Hono<Vars>();
    build(
      app,
      (options) => idempotent(samekey, { policy: 'payments', scope: () => 'acme', ...options }),
      samekey,
    );
    return listen(app as unknown as Hono);
  };
  it(title, () => onBench({ ...honoHarness, serve: served }, async (t) => body(await t.start(), t)));
}

describe('bodies in Hono', () => {
  test(
    'every way to read them works behind Samekey, one after the other',
    (app, protect) =>
      app.post(
        '/things',
        protect(),
        validator('json', (value: { amount: number }) => value),
        async (c) => {
          const bytes = await c.req.arrayBuffer();
          return c.json(
            [c.req.valid('json').amount, await c.req.text(), await c.req.json(), bytes.byteLength],
            201,
          );
        },
      ),
    async (app) => {
      const first = await app.send(jsonRequest('key-1', '{"amount":1}'));
      expect([first.status, json(first)]).toEqual([201, [1, '{"amount":1}', { amount: 1 }, 12]]);
      assertReplay(first, await app.send(jsonRequest('key-1', '{ "amount": 1.0 }')));
      assertProblem(await app.send(jsonRequest('key-1', '{"amount":2}')), 422, 'key-reused');
    },
  );

  // F31
  test(
    'a validator before Samekey is an error, not an empty body',
    (app, protect) => {
      app.use(validator('json', (value: object) => value));
      app.post('/things', protect(), (c) => c.text('ran'));
      app.onError((error, c) => c.text(error.message, 500));
    },
    async (app) => {
      const answer = await app.post('key-1');
      expect([answer.status, text(answer)]).toEqual([
        500,
        expect.stringContaining('was read before Samekey saw it'),
      ]);
      expect((await app.saw('misuse')).code).toBe('body-consumed');
    },
  );
});

describe('routes of Hono', () => {
  test(
    'app.use protects what comes after it, 404 included, and one key is for one request',
    (app, protect) => {
      app.use('*', protect());
      for (const path of ['/a', '/b']) app.all(path, (c) => c.json([path, attemptOf(c)?.number ?? null]));
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
    'routes below app.use keep their keys when a wildcard is added behind it; routes of their own have keys of their own',
    (app, protect) => {
      app.use('/api/*', protect());
      app.post('/api/*', async (_c, next) => next());
      app.post('/api/things/:id', (c) => c.json(attemptOf(c)?.operation));
      app.post('/own/:id{[0-9]+}', protect(), (c) => c.json(attemptOf(c)?.operation));
    },
    async (app) => {
      expect(json(await app.post('key-1', { target: '/api/things/1' }))).toBe('*');
      expect(json(await app.post('key-1', { target: '/own/7' }))).toBe('POST /own/:');
    },
  );

  test(
    'apps within apps: a tenant in the path is told apart, and the pattern holds the mount',
    (app, protect) => {
      const inner = new Hono<Vars>().post('/things/:id', protect(), (c) =>
        c.json([c.req.param(), attemptOf(c)?.operation]),
      );
      app.route('/tenants/:tenant', new Hono<Vars>().route('/v1', inner));
    },
    async (app) => {
      const first = await app.post('key-1', { target: '/tenants/7/v1/things/1' });
      expect(json(first)).toEqual([{ tenant: '7', id: '1' }, 'POST /tenants/:/v1/things/:']);
      assertReplay(first, await app.post('key-1', { target: '/tenants/%37/v1/things/%31' }));
      assertProblem(await app.post('key-1', { target: '/tenants/8/v1/things/1' }), 422, 'key-reused');
    },
  );

  test(
    'a request that is protected twice is a loud error, and its key works once the mistake is mended',
    (app, protect) => {
      let isMended = false;
      const inner = protect();
      app.use('*', protect());
      app.post('/things', async (c, next) => (isMended ? next() : inner(c, next)));
      app.post('/things', (c) => c.text('made', 201));
      app.onError((error, c) => {
        isMended = true;
        return c.text(error.message, 500);
      });
    },
    async (app) => {
      const refused = await app.post('key-1');
      expect([refused.status, text(refused)]).toEqual([500, expect.stringContaining('twice')]);
      expect((await app.saw('misuse')).code).toBe('protected-twice');
      const next = await app.post('key-1');
      expect([next.status, text(next)]).toEqual([201, 'made']);
    },
  );
});

describe('errors in Hono', () => {
  // F2
  test(
    'the answer that onError makes is recorded like any other, of the app, of an app within, and of an exception that has its own',
    (app, protect) => {
      const inner = new Hono<Vars>().post('/things', protect(), () => {
        throw new Error('no such payment');
      });
      inner.onError((error, c) => c.text(`inner: ${error.message}`, 404));
      app.route('/inner', inner);
      app.post('/outer', protect(), () => {
        throw new Error('gone');
      });
      app.post('/exception', protect(), () => {
        throw new HTTPException(409, { message: 'out of stock' });
      });
      app.onError((error, c) =>
        error instanceof HTTPException ? error.getResponse() : c.text(`outer: ${error.message}`, 410),
      );
    },
    async (app) => {
      for (const [target, status, body] of [
        ['/inner/things', 404, 'inner: no such payment'],
        ['/outer', 410, 'outer: gone'],
        ['/exception', 409, 'out of stock'],
      ] as const) {
        const first = await app.post('key-1', { target });
        expect([first.status, text(first)]).toEqual([status, body]);
        assertReplay(first, await app.post('key-1', { target }));
      }
    },
  );

  test(
    'a 500 of onError is decided by the policy',
    (app, protect) =>
      app
        .post('/payments', protect(), () => {
          throw new Error('broken');
        })
        .post('/standard', protect({ policy: 'standard' }), (c) => {
          if (attemptOf(c)?.number === 1) throw new Error('broken');
          return c.text('made', 201);
        })
        .onError((_error, c) => c.text('oops', 500)),
    async (app) => {
      expect((await app.post('key-1', { target: '/payments' })).status).toBe(500);
      assertProblem(await app.post('key-1', { target: '/payments' }), 409, 'outcome-unknown');
      expect((await app.post('key-1', { target: '/standard' })).status).toBe(500);
      expect((await app.post('key-1', { target: '/standard' })).status).toBe(201);
    },
  );

  test(
    'a NotExecutedError reaches its attempt although onError answers it',
    (app, protect) => {
      app.post('/things', protect(), (c) => {
        if (attemptOf(c)?.number === 1) throw new NotExecutedError('bad input', { correctable: true });
        return c.text('made', 201);
      });
      app.onError((error, c) => c.text(error.message, 422));
    },
    async (app) => {
      expect((await app.post('key-1')).status).toBe(422);
      expect((await app.send(jsonRequest('key-1', { amount: 2 }))).status).toBe(201);
    },
  );

  test(
    'a chain that answers nothing is an error, recorded as one',
    (app, protect) => {
      app.post('/things', protect(), (async () => undefined) as never);
      app.onError((error, c) => c.text(error.message, 500));
    },
    async (app) => {
      expect(text(await app.post('key-1'))).toContain('return a Response');
      expect((await app.saw('finished')).to).toBe('unknown');
    },
  );
});

describe('headers, variables and middleware around it', () => {
  test(
    'what outer middleware sets is on every answer, once, and what it knows is there for scope and handler',
    (app, protect) => {
      let requests = 0;
      app.use('*', cors({ origin: 'https://shop.example', exposeHeaders: ['Idempotency-Replayed'] }));
      app.use('*', async (c, next) => {
        requests += 1;
        c.header('X-Request-Id', String(requests));
        c.set('tenant', 'acme');
        await next();
        c.header('X-After', String(requests));
      });
      app.post('/things', protect({ scope: (c) => c.get('tenant') }), (c) => {
        c.header('Location', '/things/1');
        c.header('Set-Cookie', 'a=1', { append: true });
        return c.json({ tenant: c.get('tenant') }, 201);
      });
    },
    async (app) => {
      const from = { headers: [['Origin', 'https://shop.example'] as const] };
      const first = await app.post('key-1', from);
      expect(json(first)).toEqual({ tenant: 'acme' });
      const other = jsonRequest('key-1', { amount: 2 }, from);
      const answers = [first, await app.post('key-1', from), await app.send(other)];
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 422]);
      for (const [i, answer] of answers.entries()) {
        expect(header(answer, 'x-request-id')).toBe(String(i + 1));
        expect(header(answer, 'x-after')).toBe(String(i + 1));
        expect(header(answer, 'access-control-allow-origin')).toBe('https://shop.example');
        expect(header(answer, 'location')).toBe(i < 2 ? '/things/1' : undefined);
        expect(header(answer, 'set-cookie')).toBe(i < 1 ? 'a=1' : undefined);
      }
      expect(header(answers[1]!, 'idempotency-replayed')).toBe('true');
    },
  );

  test(
    'an answer of ours in place of the handler’s keeps the headers from outside, and none of the handler’s',
    (app, protect) => {
      app.use('*', async (c, next) => {
        c.res.headers.set('X-Outer', 'yes');
        await next();
      });
      app.post('/things', protect(), () => {
        throw 'no Error at all';
      });
      app.post('/stream', protect(), (c) => {
        c.header('X-Handler', 'yes');
        return c.body(new ReadableStream({ start: (controller) => controller.error(new Error('broken')) }));
      });
      app.onError((error, c) => c.text(error.message, 500));
    },
    async (app) => {
      expect((await app.post('key-1')).status).toBe(500);
      const broken = await app.post('key-2', { target: '/stream' });
      assertProblem(broken, 410, 'response-not-stored');
      expect(header(broken, 'x-outer')).toBe('yes');
      expect(header(broken, 'x-handler')).toBeUndefined();
    },
  );

  test(
    'entity tags and compression around it see replays as answers',
    (app, protect) => {
      app.use('*', etag(), compress({ threshold: 0 }));
      app.post('/things', protect(), (c) => c.text('made '.repeat(500), 201));
    },
    async (app) => {
      const headers = [['Accept-Encoding', 'gzip'] as const];
      const first = await app.post('key-1', { headers });
      const again = await app.post('key-1', { headers });
      expect(header(again, 'idempotency-replayed')).toBe('true');
      for (const name of ['etag', 'content-encoding']) expect(header(again, name)).toBe(header(first, name));
      expect(header(first, 'content-encoding')).toBe('gzip');
      expect(header(await app.post('key-1'), 'content-encoding')).toBeUndefined();
    },
  );
});

describe('streams of Hono', () => {
  // F41, F81
  test(
    'server-sent events pass through as they come, and are kept meanwhile',
    (app, protect) =>
      app.post('/things', protect(), (c) =>
        streamSSE(c, async (stream) => {
          await stream.writeSSE({ data: 'one' });
          await more.opened;
          await stream.writeSSE({ data: 'two' });
        }),
      ),
    async (app) => {
      const connection = app.open().send(jsonRequest('key-1', { amount: 1 }));
      await connection.sees('data: one');
      expect((await app.post('key-1')).status).toBe(409);
      more.open();
      const first = await connection.answer();
      expect(text(first)).toBe('data: one\n\ndata: two\n\n');
      await app.saw('finished');
      const again = await app.post('key-1');
      expect([again.status, text(again)]).toEqual([200, 'data: one\n\ndata: two\n\n']);
    },
  );
  const more = gate();
});

describe('an attempt that was given up', () => {
  const runs = { count: 0 };
  const [slow, answered, started, freed, ended] = [gate(), gate(), gate(), gate(), gate()];
  test(
    'has its late answer recorded also when its handler ends while middleware still holds the answer in its place',
    (app, protect) => {
      app.use('*', async (_c, next) => {
        await next();
        answered.open();
        await slow.opened;
      });
      app.post('/things', protect({ policy: 'standard', attemptTimeMaxMs: 60_000 }), async (c) => {
        runs.count += 1;
        started.open();
        await freed.opened;
        setImmediate(ended.open);
        return c.text('made', 201);
      });
    },
    async (app, t) => {
      const first = app.post('key-1');
      await started.opened;
      await t.passUntil(answered.opened);
      freed.open();
      await ended.opened;
      slow.open();
      assertProblem(await t.passUntil(first), 409, 'outcome-unknown');
      await app.saw('finished');
      const again = await app.post('key-1');
      expect([again.status, text(again)]).toEqual([201, 'made']);
      expect(runs.count).toBe(1);
    },
  );

  // The answer of the late handler is its own, whatever stood in the context meanwhile.
  const hung = gate();
  test(
    'records the late answer with the handler’s headers and none of ours, also when middleware looks at the answer',
    (app, protect) => {
      app.use('*', async (c, next) => {
        await next();
        if (c.finalized) c.header('X-Seen', String(c.res.status));
        await Promise.resolve();
      });
      app.post('/things', protect({ attemptTimeMaxMs: 60_000 }), async (c) => {
        c.header('X-Early', 'yes');
        await hung.opened;
        c.header('Location', '/things/1');
        return c.text('made', 201);
      });
    },
    async (app, t) => {
      const given = await t.passUntil(app.post('key-1'));
      assertProblem(given, 409, 'outcome-unknown');
      expect(header(given, 'x-seen')).toBe('409');
      hung.open();
      expect((await t.passUntil(app.saw('finished'), 1_000)).to).toBe('completed');
      const late = await app.post('key-1');
      expect([late.status, text(late)]).toEqual([201, 'made']);
      expect(header(late, 'location')).toBe('/things/1');
      expect(header(late, 'x-early')).toBe('yes');
      for (const name of ['cache-control', 'retry-after', 'link']) expect(header(late, name)).toBeUndefined();
    },
  );
});

const hide: MiddlewareHandler = async (c, next) => {
  Object.defineProperty(c.req, 'matchedRoutes', { value: undefined });
  await next();
};

describe('Workers', () => {
  afterEach(() => vi.unstubAllGlobals());
  const options = { policy: 'payments', scope: () => 'acme' } as const;
  const post = { method: 'POST', headers: { 'Idempotency-Key': 'key-1' } };

  it('are kept alive by their context until the record is written; without one nothing runs', async () => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
    const samekey = createSamekey({ store: memoryStore() });
    const app = new Hono().post('/things', idempotent(samekey, options), (c) => c.text('made', 201));
    app.onError((error, c) => c.text(error.message, 500));
    const kept: Promise<unknown>[] = [];
    const context = {
      waitUntil: (work: Promise<unknown>) => void kept.push(work),
      passThroughOnException() {},
      props: {},
    };
    const refused = await app.request('/things', post);
    expect([refused.status, await refused.text()]).toEqual([500, expect.stringContaining('waitUntil')]);
    expect((await app.request('/things', post, {}, context)).status).toBe(201);
    expect(kept).toHaveLength(1);
    await kept[0];
    const again = await app.request('/things', post, {}, context);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  it('a version of Hono that does not tell its routes needs the operation named', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const app = new Hono();
    app.post('/things', hide, idempotent(samekey, options), (c) => c.text('made', 201));
    app.post('/named', hide, idempotent(samekey, { ...options, operation: 'make' }), (c) =>
      c.text('made', 201),
    );
    app.onError((error, c) => c.text(error.message, 500));
    expect(await (await app.request('/things', post)).text()).toContain('name the operation');
    expect((await app.request('/named', post)).status).toBe(201);
  });
});
