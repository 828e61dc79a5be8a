/** What only route handlers of Next.js have: thrown answers, their request's class, parameters, functions that freeze. */

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  attemptOf,
  idempotent,
  type NextContext,
  type NextOptions,
  serve,
  serveStatus,
} from '../../src/adapters/next/index.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { lack } from '../services/lacking.ts';
import { OwnRequest, proxied } from './next-harness.ts';

afterEach(() => vi.unstubAllGlobals());

const OPTIONS: NextOptions = { policy: 'payments', scope: () => ['acme'] };
const CONTEXT: NextContext = { params: Promise.resolve({}) };

function ask(Own: typeof Request = OwnRequest, body = '{"amount":1}'): Request {
  const headers = { 'Idempotency-Key': 'key-1', 'Content-Type': 'application/json', Cookie: 'a=1' };
  return proxied(new Own('http://samekey.test/things/7?x=1', { method: 'POST', headers, body }));
}

/** The form of what Next's functions throw. */
function thrown(digest: string): Error {
  return Object.assign(new Error('of Next'), { digest });
}

/** Answers twice: what the first and the second answer are, and how often the handler ran. */
async function twice(run: () => Response, request: () => Request = ask) {
  const handler = vi.fn(run);
  const app = idempotent(createSamekey({ store: memoryStore() }), OPTIONS, handler);
  const first = await app(request(), CONTEXT);
  const second = await app(request(), CONTEXT);
  return { first, second, handler };
}

describe('what Next throws', () => {
  for (const [digest, status, location] of [
    ['NEXT_REDIRECT;replace;/orders/7;307;', 307, '/orders/7'],
    ['NEXT_REDIRECT;push;/a;b;c?d=1;303;', 303, '/a;b;c?d=1'],
    ['NEXT_REDIRECT;replace;https://pay.test/;308;', 308, 'https://pay.test/'],
    ['NEXT_HTTP_ERROR_FALLBACK;404', 404, null],
    ['NEXT_HTTP_ERROR_FALLBACK;403', 403, null],
  ] as const) {
    it(`is an answer, and replayed: ${digest}`, async () => {
      const { first, second, handler } = await twice(() => {
        throw thrown(digest);
      });
      for (const answer of [first, second]) {
        expect(answer.status).toBe(status);
        expect(answer.headers.get('location')).toBe(location);
      }
      expect(handler).toHaveBeenCalledTimes(1);
    });
  }

  for (const digest of [
    '1234567',
    'NEXT_REDIRECT;replace;/;200;',
    'OTHER;404',
    'NEXT_HTTP_ERROR_FALLBACK;500',
  ]) {
    it(`is thrown on for any other error: ${digest}`, async () => {
      const error = thrown(digest);
      const app = idempotent(createSamekey({ store: memoryStore() }), OPTIONS, () => {
        throw error;
      });
      await expect(app(ask(), CONTEXT)).rejects.toBe(error);
    });
  }
});

describe('a route handler', () => {
  it('gets a request of its own class, and its attempt', async () => {
    const seen: unknown[] = [];
    const app = idempotent(
      createSamekey({ store: memoryStore() }),
      OPTIONS,
      async (request: Request, _context, attempt) => {
        const own = request as OwnRequest;
        seen.push(own.nextUrl.search, await own.json(), own.headers.get('cookie'));
        expect(attemptOf(request)).toBe(attempt);
        expect(attempt).not.toBeNull();
        return new Response('made', { status: 201 });
      },
    );
    expect((await app(ask(), CONTEXT)).status).toBe(201);
    expect(seen).toEqual(['?x=1', { amount: 1 }, 'a=1']);
  });

  it('has the parameters of its route in the scope', async () => {
    const handler = vi.fn(() => new Response('made', { status: 201 }));
    const app = idempotent(
      createSamekey({ store: memoryStore() }),
      { policy: 'payments', scope: ({ params }) => String(params['shop']) },
      handler,
    );
    for (const shop of ['a', 'b', 'a'])
      expect((await app(ask(), { params: Promise.resolve({ shop }) })).status).toBe(201);
    expect(handler).toHaveBeenCalledTimes(2);
  });

  it('is kept alive until its record is written', async () => {
    const store = memoryStore();
    const kept: Promise<unknown>[] = [];
    const waitUntil = (work: Promise<unknown>): void => void kept.push(work);
    const app = idempotent(createSamekey({ store }), { ...OPTIONS, waitUntil }, () => new Response('made'));
    await app(ask(), CONTEXT);
    expect(kept).toHaveLength(1);
    await Promise.all(kept);
    expect(await store.list({})).toMatchObject([{ state: 'completed' }]);
  });

  it('does not run on the edge runtime without waitUntil', async () => {
    vi.stubGlobal('EdgeRuntime', 'edge-runtime');
    const handler = vi.fn(() => new Response('made'));
    const app = idempotent(createSamekey({ store: memoryStore() }), OPTIONS, handler);
    await expect(app(ask(), CONTEXT)).rejects.toMatchObject({ code: 'ERR_SAMEKEY_OPTIONS' });
    expect(handler).not.toHaveBeenCalled();
  });
});

describe('an operation that is served', () => {
  it('answers once, tells how it stands, and refuses what is not protected', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const run = vi.fn((input: { amount: number }) => ({ paid: input.amount }));
    const pay = samekey.plain({ name: 'pay', policy: 'payments', run });
    const POST = serve(pay, { scope: () => 'acme' });
    const first = await POST(ask(), CONTEXT);
    const second = await POST(ask(), CONTEXT);
    expect(await first.json()).toEqual({ paid: 1 });
    expect(await second.json()).toEqual({ paid: 1 });
    expect(run).toHaveBeenCalledTimes(1);
    expect((await POST(new Request('http://samekey.test/'), CONTEXT)).status).toBe(405);
    const GET = serveStatus(pay, { scope: () => 'acme', key: ({ params }) => String(params['key']) });
    const status = await GET(new Request('http://samekey.test/'), {
      params: Promise.resolve({ key: 'key-1' }),
    });
    expect(await status.json()).toEqual({ paid: 1 });
  });
});

interface RealNext {
  readonly NextRequest: typeof Request;
  readonly redirect: (to: string) => never;
  readonly notFound: () => never;
}

function realNext(): RealNext | undefined {
  const load = createRequire(fileURLToPath(new URL('../../../../tools/optional/index.js', import.meta.url)));
  try {
    return { ...(load('next/server') as RealNext), ...(load('next/navigation') as RealNext) };
  } catch (cause) {
    return lack('tests with Next.js, which is not installed', 'Run: npm ci --prefix tools/optional', cause);
  }
}

const next = realNext();

describe.skipIf(next === undefined)('with the package of Next.js', () => {
  it('gives its handler a NextRequest', async () => {
    const { NextRequest } = next as RealNext;
    const { first, handler } = await twice(
      () => new Response('made', { status: 201 }),
      () => ask(NextRequest),
    );
    expect(first.status).toBe(201);
    const [[request]] = handler.mock.calls as unknown as [[Request & { nextUrl: URL }]];
    expect(request).toBeInstanceOf(NextRequest);
    expect(request.nextUrl.search).toBe('?x=1');
  });

  it('takes redirect() and notFound() for answers', async () => {
    const { redirect, notFound } = next as RealNext;
    const moved = await twice(() => redirect('/orders/7'));
    expect(moved.second.status).toBe(307);
    expect(moved.second.headers.get('location')).toBe('/orders/7');
    expect(moved.handler).toHaveBeenCalledTimes(1);
    expect((await twice(() => notFound())).second.status).toBe(404);
  });
});
