/** What only the Fetch adapter has: runtimes that end with the answer, digests that take their time, streams, signals. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  type FetchContext,
  type FetchHandler,
  type FetchOptions,
  idempotent,
} from '../../src/adapters/fetch/index.ts';
import type { SamekeyEvent } from '../../src/engine/events.ts';
import { createSamekey, type SamekeyOptions } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { type FakeWorld, fakeWorld } from '../../../testing/src/fake-world.ts';
import { gate } from '../../../testing/src/adapter/kit.ts';
import { listen } from './fetch-harness.ts';

afterEach(() => vi.unstubAllGlobals());

const OPTIONS: FetchOptions = { policy: 'payments', scope: () => ['acme'] };
const made: FetchHandler<FetchContext> = () => new Response('made', { status: 201 });

function setup(handler = made, options: Partial<FetchOptions> = {}, instance: Partial<SamekeyOptions> = {}) {
  const world: FakeWorld = fakeWorld();
  const events: SamekeyEvent[] = [];
  const store = memoryStore({ now: () => world.wallNow() });
  const samekey = createSamekey({ store, world, onEvent: (event) => void events.push(event), ...instance });
  return { world, events, store, app: idempotent(samekey, { ...OPTIONS, ...options }, handler) };
}

function ask(body: RequestInit['body'] = '{"amount":1}', init: RequestInit = {}): Request {
  const headers = { 'Idempotency-Key': 'key-1', 'Content-Type': 'application/json' };
  return new Request('http://samekey.test/things', { method: 'POST', headers, body: body ?? null, ...init });
}

describe('a runtime that ends with the answer', () => {
  for (const [what, name, value] of [
    ['Cloudflare Workers', 'navigator', { userAgent: 'Cloudflare-Workers' }],
    ['Vercel Edge', 'EdgeRuntime', 'edge-runtime'],
  ] as const) {
    it(`is recognised (${what}): without waitUntil nothing runs`, async () => {
      vi.stubGlobal(name, value);
      const handler = vi.fn<FetchHandler<FetchContext>>(made);
      const { app, store } = setup(handler);
      await expect(app(ask())).rejects.toMatchObject({ code: 'ERR_SAMEKEY_OPTIONS' });
      expect(handler).not.toHaveBeenCalled();
      expect(await store.list({})).toEqual([]);
      expect((await app(new Request('http://samekey.test/things'))).status).toBe(201);
    });
  }

  it('is kept alive until the record is written', async () => {
    const source = gate();
    async function* events(): AsyncGenerator<Uint8Array> {
      yield new TextEncoder().encode('data: 1\n\n');
      await source.opened;
    }
    const headers = { 'Content-Type': 'text/event-stream' };
    const { app, store } = setup(() => new Response(streamOf(events()), { headers }), {
      endsWithAnswer: true,
    });
    const kept: Promise<unknown>[] = [];
    const context = { waitUntil: (work: Promise<unknown>) => void kept.push(work) };
    const response = await app(ask(), context);
    expect((await store.list({}))[0]?.state).toBe('in_progress');
    source.open();
    expect(await response.text()).toBe('data: 1\n\n');
    expect(kept).toHaveLength(1);
    await kept[0];
    expect((await store.list({}))[0]?.state).toBe('completed');
  });
});

it('works with digests that are promises, HMAC included', async () => {
  const sync = fakeWorld();
  const world = {
    ...sync,
    sha256: async (bytes: Uint8Array) => sync.sha256(bytes),
    hmacSha256: async (secret: Uint8Array, bytes: Uint8Array) => sync.hmacSha256(secret, bytes),
  };
  for (const fingerprint of [{}, { secrets: { current: 'a', keys: { a: new Uint8Array(32) } } }]) {
    const { app } = setup(made, { fingerprint }, { world });
    const both = await Promise.all([app(ask()), app(ask())]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
    expect((await app(ask())).headers.get('idempotency-replayed')).toBe('true');
    expect((await app(ask('{"amount":2}'))).status).toBe(422);
  }
});

const echo = async (request: Request, context: FetchContext & { name?: string }) =>
  Response.json([await request.json(), request.headers.get('content-type'), context.name]);

describe('the handler’s request', () => {
  it('has its body unread, its headers, and its own context', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const app = idempotent(samekey, OPTIONS, echo);
    const response = await app(ask(), { name: 'ctx' });
    expect(await response.json()).toEqual([{ amount: 1 }, 'application/json', 'ctx']);
  });

  it('is not aborted when the client is, but when the attempt is', async () => {
    const signals: AbortSignal[] = [];
    const started = gate();
    const { app, world } = setup(
      (request) => {
        signals.push(request.signal);
        started.open();
        return new Promise<Response>(() => undefined);
      },
      { attemptTimeMaxMs: 60_000 },
    );
    const client = new AbortController();
    const answer = app(ask(undefined, { signal: client.signal }));
    await started.opened;
    client.abort();
    expect(signals[0]?.aborted).toBe(false);
    await world.advance(60_000);
    expect(signals[0]?.aborted).toBe(true);
    expect((await answer).status).toBe(409);
  });

  it('may have come with a stream that has nothing in it', async () => {
    const { app } = setup(async (request) => new Response(`[${await request.text()}]`));
    const empty = new ReadableStream({ start: (controller) => controller.close() });
    const response = await app(ask(empty, { duplex: 'half' } as RequestInit));
    expect([response.status, await response.text()]).toEqual([200, '[]']);
  });

  it.each(['used', 'locked'])('is a loud error when the body was %s before', async (how) => {
    const { app, events } = setup();
    const request = ask();
    if (how === 'used') await request.text();
    else request.body?.getReader();
    await expect(app(request)).rejects.toMatchObject({ code: 'ERR_SAMEKEY_OPTIONS' });
    expect(events).toContainEqual(expect.objectContaining({ type: 'misuse', code: 'body-consumed' }));
  });
});

describe('the handler’s answer', () => {
  it.each([204, 205, 304])('may be a %i, which has no body, at first and replayed', async (status) => {
    const { app } = setup(() => new Response(null, { status, headers: { ETag: '"1"' } }));
    for (const response of [await app(ask()), await app(ask())]) {
      expect([response.status, response.body, response.headers.get('etag')]).toEqual([status, null, '"1"']);
    }
  });

  it('may have headers that cannot be changed', async () => {
    const { app } = setup(() => Response.redirect('http://samekey.test/x', 303));
    await app(ask());
    const again = await app(ask());
    expect([again.status, again.headers.get('location')]).toEqual([303, 'http://samekey.test/x']);
  });

  it('that is Response.error() is an error, and no proof that nothing happened', async () => {
    const { app, events } = setup(() => Response.error());
    await expect(app(ask())).rejects.toThrow();
    expect(events).toContainEqual(expect.objectContaining({ type: 'finished', to: 'unknown' }));
    expect((await app(ask())).status).toBe(409);
  });

  // F104
  it.each<[string, () => Response]>([
    ['has text where bytes belong', () => new Response(streamOf(['text']) as ReadableStream<Uint8Array>)],
    [
      'has a body that was read',
      () => {
        const used = new Response('x');
        void used.text();
        return used;
      },
    ],
    [
      'has a body that breaks',
      () => new Response(new ReadableStream({ start: (c) => c.error(new Error('broken')) })),
    ],
  ])('that %s is decided by its status, and never a wrong answer', async (_what, answer) => {
    const { app, events } = setup(answer);
    expect((await app(ask())).status).toBe(410);
    expect(events).toContainEqual(expect.objectContaining({ type: 'finished', to: 'completed' }));
    expect((await app(ask())).status).toBe(410);
  });

  it('that never ends is cancelled when it is decided and nobody reads', async () => {
    const cancelled = gate();
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('data: x\n\n')),
      cancel: cancelled.open,
    });
    const headers = { 'Content-Type': 'text/event-stream' };
    const { app, world, store } = setup(() => new Response(endless, { headers }), {
      attemptTimeMaxMs: 60_000,
    });
    const reader = (await app(ask())).body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    await world.advance(60_000);
    expect((await store.list({}))[0]?.state).toBe('completed');
    expect((await reader?.read())?.done).toBe(false);
    await reader?.cancel();
    await cancelled.opened;
  });
});

it('a handler that throws for an unprotected request rejects, and the server lives on', async () => {
  const { app } = setup((request) => {
    if (request.method === 'GET') throw new Error('broken');
    return made(request, {}, null);
  });
  const served = await listen((request) => app(request));
  try {
    const url = `http://127.0.0.1:${served.port}/things`;
    expect((await fetch(url)).status).toBe(500);
    const headers = { 'Idempotency-Key': 'key-1' };
    expect((await fetch(url, { method: 'POST', headers })).status).toBe(201);
  } finally {
    await served.close();
  }
});

function streamOf(
  chunks: AsyncIterable<Uint8Array> | Iterable<unknown>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { from } = ReadableStream as unknown as {
    readonly from: (chunks: unknown) => ReadableStream<Uint8Array<ArrayBuffer>>;
  };
  return from(chunks);
}

describe('a key with records under two names of its operation', () => {
  // What keyWasUniqueFor bridges (F72): a rollback meets records of both sides.
  it('is answered by the one that lives: what was forgotten before it hides nothing, and runs nothing', async () => {
    const store = memoryStore();
    let runs = 0;
    const door = (options: Partial<FetchOptions>) =>
      idempotent(
        createSamekey({ store, policy: 'standard' }),
        { scope: () => 't', operation: 'pay', ...options },
        async () => Response.json({ run: (runs += 1) }, { status: 201 }),
      );
    const tell = async (answer: ReturnType<typeof door>): Promise<string> => {
      const response = await answer(ask());
      return `${response.status} ${await response.text()}`;
    };
    expect(await tell(door({ keyUniqueFor: 'caller' }))).toBe('201 {"run":1}');
    const [record] = await store.list({});
    await store.forget([{ ...(record as NonNullable<typeof record>), reason: 'on purpose', actor: null }]);
    expect(await tell(door({ keyUniqueFor: 'operation' }))).toBe('201 {"run":2}');
    const bridged = door({ keyUniqueFor: 'operation', keyWasUniqueFor: 'caller' });
    expect(await tell(bridged)).toBe('201 {"run":2}');
    expect(runs).toBe(2);
  });
});
