/**
 * Any sequence of calls, reloads and new intents against any sequence of network faults and answers, in virtual time: a key is never
 * sent for two requests; a new one is never sent while the last may have taken effect and nobody was told; and no call takes longer
 * than its time.
 */

import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type Client,
  type ClientResult,
  createClient,
  type PendingStore,
} from '../../../client/src/index.ts';
import { memoryPending } from '../../../client/src/memory.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';
import { seedOf } from '../races/seed.ts';

/** What happens to one request. The shop itself keeps keys; everything else is a network, or a proxy that knows nothing of them. */
type Happening =
  /** The shop takes it, as it is. */
  | 'works'
  /** The shop refuses it, if it is new to it, and keeps the refusal. */
  | 'refuses'
  | 'cut'
  /** Done, and the answer is lost. */
  | 'lost'
  /** Done, and the answer takes for ever. */
  | 'hangs'
  /** The browser sends it a second time by itself: the first one is done, the answer is that of a check in front of the shop (F127). */
  | 'resent'
  | { readonly status: number; readonly retryAfter: string | null; readonly code: string | null };

const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.constantFrom<Happening>('works', 'refuses', 'cut', 'lost', 'hangs', 'resent'),
  fc.record({
    status: fc.constantFrom(
      202,
      302,
      303,
      307,
      400,
      401,
      403,
      404,
      408,
      409,
      410,
      422,
      425,
      429,
      500,
      501,
      502,
      503,
      504,
    ),
    retryAfter: fc.constantFrom(
      null,
      null,
      null,
      '0',
      '1',
      '30',
      '3600',
      'Thu, 01 Jan 2026 00:10:00 GMT',
      'soon',
    ),
    // Most of what is in front of a shop knows nothing of keys.
    code: fc.oneof(
      { weight: 4, arbitrary: fc.constant(null) },
      fc.constantFrom(
        'in-progress',
        'outcome-unknown',
        'key-reused',
        'key-expired',
        'pending',
        'response-not-stored',
      ),
    ),
  }),
);

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('call' as const),
      amount: fc.constantFrom(5, 5, 6),
      tabs: fc.constantFrom(1, 1, 2, 3),
      // The store cannot be told that it is over.
      isFull: fc.constantFrom(false, false, false, true),
    }),
  },
  fc.constant({ do: 'reload' as const }),
  fc.constant({ do: 'give-up' as const }),
  // Alice signs out and in again, and Bob looks in between (F84).
  fc.constant({ do: 'sign-out' as const }),
  // Of what the page holds in memory nothing is lost (F128).
  fc.constant({ do: 'clear-storage' as const }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1_000, 3_600_000, 86_000_000) }),
);

const TIME_MAX_MS = 60_000;
const TRIES_MAX = 5;

interface Judged {
  readonly faults: string[];
  readonly requests: number;
}

/** Plays a history; what was wrong with it. */
async function play(
  seed: number,
  happenings: readonly Happening[],
  steps: readonly (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[],
): Promise<Judged> {
  const faults: string[] = [];
  const world = fakeWorld({ seed });
  const texts = memoryPending();
  let isFull = false;
  const pending: PendingStore = {
    ...texts,
    swap: (name, before, next) =>
      isFull && next?.includes('"settled"') === true
        ? Promise.reject(new Error('full'))
        : texts.swap(name, before, next),
  };
  const left = [...happenings];
  /** What the shop answers to a key from now on. */
  const records = new Map<string, number>();
  const bodies = new Map<string, string>();
  /** Keys under which something was done, and nobody was told yet. */
  const untold = new Set<string>();
  /** Keys whose operation somebody was told is done, be it by a proxy's 202 while another tab still asks. */
  const toldDone = new Set<string>();
  let mayBeNew = true;
  /** What is open is known to the page alone: another tab, or a reload, cannot know of it. */
  let isCleared = false;
  /** This page has not met the open payment since it was made: the store alone knows of it. */
  let isFresh = false;
  let requests = 0;

  async function fetch(_url: string, init: RequestInit): Promise<Response> {
    requests += 1;
    const key = new Headers(init.headers).get('idempotency-key') ?? '';
    const body = new TextDecoder().decode(init.body as Uint8Array);
    if ((bodies.get(key) ?? body) !== body) faults.push('a key was sent for two requests');
    if (!bodies.has(key)) {
      if (!mayBeNew) faults.push('a second key was sent for one operation');
      if (untold.size > 0) faults.push('a new key was sent while the last one may have taken effect');
      mayBeNew = false;
      bodies.set(key, body);
    }
    const what = left.shift() ?? 'works';
    if (typeof what === 'object') {
      const headers = new Headers({ 'content-type': 'application/problem+json' });
      if (what.retryAfter !== null) headers.set('retry-after', what.retryAfter);
      const { status, code } = what;
      const said = code === null ? {} : { type: `https://shop.example/errors#${code}`, status, code };
      return new Response(JSON.stringify(said), { status, headers });
    }
    if (what === 'cut') throw new TypeError('fetch failed');
    const known = records.get(key);
    const status = known ?? (what === 'refuses' ? 402 : 201);
    records.set(key, status);
    if (status === 201 && known === undefined && !toldDone.has(key)) untold.add(key);
    if (what === 'lost') throw new TypeError('fetch failed');
    if (what === 'resent') return new Response('', { status: 403 });
    if (what === 'hangs') return new Promise(() => undefined);
    const headers = new Headers({ 'idempotency-key-expires': 'Fri, 02 Jan 2026 00:00:00 GMT' });
    if (known !== undefined) headers.set('idempotency-replayed', 'true');
    return new Response('{}', { status, headers });
  }

  /** Lets virtual time pass until it is there. */
  async function until<Value>(promise: Promise<Value>): Promise<Value> {
    let isThere = false;
    const watched = promise.finally(() => (isThere = true));
    for (;;) {
      for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
      if (isThere) return watched;
      world.timeline.step();
    }
  }

  const open = (): Client =>
    createClient({
      subject: 'alice',
      baseUrl: 'https://shop.example',
      pending,
      fetch,
      world,
      whenDone: 'same',
      makeKey: () => `key-of-random-${bodies.size}-${Math.floor(world.random() * 1e9)}`,
      timeMaxMs: TIME_MAX_MS,
      triesMax: TRIES_MAX,
      tryTimeMaxMs: 10_000,
    });

  let lastWhy = '';
  function told({ outcome, key, why }: ClientResult): void {
    lastWhy = why;
    if (outcome === 'done') {
      untold.delete(`"${key}"`);
      toldDone.add(`"${key}"`);
    }
    // Certain means certain.
    if (outcome === 'refused' && untold.has(`"${key}"`)) faults.push('refused, and it may have taken effect');
    if (outcome !== 'unknown') mayBeNew = true;
  }

  async function timed(call: Promise<ClientResult>): Promise<void> {
    const startedAt = world.monotonicNow();
    told(await call);
    const tookMs = world.monotonicNow() - startedAt;
    if (tookMs > TIME_MAX_MS) faults.push(`a call took ${tookMs} ms`);
  }

  let client = open();
  for (const act of steps) {
    if (act.do === 'wait') await world.advance(act.ms);
    if (act.do === 'clear-storage') {
      for (const [name, text] of await pending.rows('')) await pending.swap(name, text, null);
      if (isFresh) {
        mayBeNew = true;
        untold.clear();
      } else isCleared = true;
    }
    if (act.do === 'reload') {
      if (isCleared) {
        mayBeNew = true;
        untold.clear();
        isCleared = false;
      }
      client = open();
      for (const unsettled of await until(client.resume())) {
        const result = await until(unsettled.goOn());
        if (result !== null) told(result);
      }
    }
    if (act.do === 'sign-out') {
      await until(client.clear());
      const bob = createClient({ subject: 'bob', pending, world, whenDone: 'same' });
      if ((await until(bob.resume())).length > 0) faults.push('another user sees what is open');
      client = open();
      // What the page alone knew of is in the store again, and the next client knows nothing else.
      isCleared = false;
      isFresh = true;
    }
    if (act.do === 'give-up') {
      const operation = client.operation('pay');
      const wasOpen = await until(operation.discard({ consented: true }));
      if (wasOpen || (await until(operation.again()))) mayBeNew = true;
      if (wasOpen) untold.clear();
    }
    if (act.do === 'call') {
      // Tabs without locks between them: clients of their own.
      const clients = [client, client, open()].slice(0, isCleared ? Math.min(act.tabs, 2) : act.tabs);
      const init = { method: 'POST', body: JSON.stringify({ amount: act.amount }) };
      isFull = act.isFull;
      await until(Promise.all(clients.map((one) => timed(one.operation('pay').fetch('/pay', init)))));
      isFull = false;
      if ((await until(client.resume())).length > 0 && lastWhy !== 'other-request') isFresh = false;
    }
  }
  return { faults: [...new Set(faults)], requests };
}

it('no history sends two keys for one operation, one key for two, or takes longer than its time', async () => {
  const seed = seedOf('client histories');
  let requests = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 2 ** 30 }),
      fc.array(happening, { maxLength: 20 }),
      fc.array(step, { minLength: 2, maxLength: 8 }),
      async (worldSeed, happenings, steps) => {
        const judged = await play(worldSeed, happenings, steps);
        requests += judged.requests;
        expect(judged.faults).toEqual([]);
      },
    ),
    { seed, numRuns: Number(process.env['SAMEKEY_HISTORIES'] ?? 1_500) },
  );
  expect(requests).toBeGreaterThan(1_000);
});
