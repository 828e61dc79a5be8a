/** What the client makes of its store: ages, rows that cannot be read, a store that fails, and a thousand that are over. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ClientEvent,
  type ClientOptions,
  createClient,
  type PendingStore,
} from '../../../client/src/index.ts';
import { memoryPending } from '../../../client/src/memory.ts';
import { withoutSecrets } from '../../../client/src/kept-secrets.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';
import { type Shop, startShop } from '../processes/client-shop.ts';

let shop: Shop;
beforeEach(async () => {
  shop = await startShop();
});
afterEach(() => shop.close());

function clientOf(options: Partial<ClientOptions> = {}): ReturnType<typeof createClient> {
  return createClient({
    baseMs: 5,
    capMs: 20,
    baseUrl: shop.url,
    subject: 'alice',
    pending: memoryPending(),
    whenDone: 'same',
    ...options,
  });
}

const five: RequestInit = { body: '{"amount":5}' };
const once = { triesMax: 1 };
const consented = { consented: true } as const;
const HOUR = 3_600_000;
const NOON = Date.UTC(2030, 0, 1, 12);

/** A browser hides the dates of other origins. */
const undated = async (url: string, init: RequestInit): Promise<Response> => {
  const { status, headers, body } = await fetch(url, init);
  const kept = new Headers(headers);
  kept.delete('date');
  return new Response(body, { status, headers: kept });
};

/** One server and one device whose clock can be set; every page is made anew over one store. */
function twoClocks(): {
  server: number;
  device: number;
  isDated: boolean;
  answers: (Response | null)[];
  sent: number;
  page(options?: Partial<ClientOptions>): ReturnType<typeof createClient>;
} {
  const pending = memoryPending();
  const at = {
    server: NOON,
    device: NOON,
    isDated: true,
    /** Null: lost. Where there is none, it is done. */
    answers: [] as (Response | null)[],
    sent: 0,
    page: (options: Partial<ClientOptions> = {}) => {
      const world = fakeWorld();
      return createClient({
        baseUrl: 'https://shop.example',
        subject: 'alice',
        pending,
        whenDone: 'same',
        trustClock: false,
        world: {
          ...world,
          wallNow: () => at.device,
          monotonicNow: () => at.server - NOON,
          setTimer: (delayMs, callback) => {
            const timer = setTimeout(callback, Math.min(delayMs, 5));
            return { cancel: () => clearTimeout(timer) };
          },
        },
        ...once,
        ...options,
        async fetch() {
          at.sent += 1;
          const answer = at.answers.shift();
          if (answer === null) throw new TypeError('fetch failed');
          const done = answer ?? new Response('', { status: 201 });
          if (at.isDated) done.headers.set('date', new Date(at.server).toUTCString());
          return done;
        },
      });
    },
  };
  return at;
}

/** Whether the operation `pay` is sent by a call in a new page, and by somebody who was asked. */
async function ageOf(clocks: ReturnType<typeof twoClocks>, isSeen: boolean): Promise<unknown> {
  const page = clocks.page();
  if (isSeen) await page.operation(`seen-${clocks.sent}`).fetch('/seen', five);
  const [left] = await page.resume({ operations: ['pay'] });
  const before = clocks.sent;
  const told = await page.operation('pay').fetch('/pay', five);
  return { ageMs: left?.ageMs, why: told.why, sent: clocks.sent - before };
}

describe('ages', () => {
  it('are by the server’s dates, whatever the device’s clock was and is set to (F136)', async () => {
    for (const [then, now] of [
      [48 * HOUR, 0],
      [0, 365 * 24 * HOUR],
      [0, -7 * 24 * HOUR],
    ] as const) {
      const clocks = twoClocks();
      clocks.device = NOON + then;
      const first = clocks.page();
      await first.operation('other').fetch('/other', five);
      clocks.answers.push(null);
      await first.operation('pay').fetch('/pay', five);
      clocks.server += 2 * HOUR;
      clocks.device = clocks.server + now;
      expect(await ageOf(clocks, true)).toEqual({ ageMs: 2 * HOUR, why: 'first', sent: 1 });
    }
  });

  it('too old by the server’s dates is not sent, though the device’s clock has been set back', async () => {
    const clocks = twoClocks();
    clocks.answers.push(new Response('', { status: 503 }), null);
    // The date of the first answer, which was none, is enough.
    await clocks.page({ triesMax: 2 }).operation('pay').fetch('/pay', five);
    clocks.server += 24 * HOUR;
    expect(await ageOf(clocks, true)).toEqual({ ageMs: 24 * HOUR, why: 'aged-out', sent: 0 });
    const [left] = await clocks.page().resume({ operations: ['pay'] });
    expect(left).toMatchObject({ ageMs: 0 });
  });

  it('are not known where no date was seen, or the clock went back: it is sent when somebody was asked', async () => {
    for (const isDated of [false, true]) {
      const clocks = twoClocks();
      clocks.isDated = isDated;
      clocks.answers.push(null);
      if (isDated) clocks.answers.unshift(new Response('', { status: 503 }));
      await clocks
        .page({ triesMax: isDated ? 2 : 1 })
        .operation('pay')
        .fetch('/pay', five);
      if (isDated) clocks.device -= HOUR;
      else clocks.device += HOUR;
      clocks.server += HOUR;
      expect(await ageOf(clocks, false)).toEqual({ ageMs: null, why: 'age-unknown', sent: 0 });
      // Not even by a second click.
      expect(await ageOf(clocks, false)).toEqual({ ageMs: null, why: 'age-unknown', sent: 0 });
      const [left] = await clocks.page().resume();
      expect(await left?.goOn()).toMatchObject({ outcome: 'done', why: 'first' });
    }
  });

  it('are not asked in a circle where the request is not kept whole: who was asked makes the same call', async () => {
    const clocks = twoClocks();
    clocks.isDated = false;
    const pending = withoutSecrets(memoryPending(), ['amount']);
    clocks.answers.push(null);
    await clocks.page({ pending }).operation('pay').fetch('/pay', five);
    const page = clocks.page({ pending });
    expect(await page.operation('pay').fetch('/pay', five)).toMatchObject({ why: 'age-unknown', tries: 0 });
    const [left] = await page.resume();
    expect(await left?.goOn()).toMatchObject({ why: 'cleared', next: 'wait', tries: 0 });
    expect(await page.operation('pay').fetch('/pay', five)).toMatchObject({ outcome: 'done', tries: 1 });
  });

  it('are those of the page and not of its client: who signs out and in is not asked', async () => {
    const pending = memoryPending();
    const page = (): ReturnType<typeof createClient> =>
      clientOf({ pending, trustClock: false, fetch: undated, ...once });
    shop.faults.push('lose-reply');
    const before = page();
    await before.operation('pay').fetch('/pay', five);
    await before.clear();
    expect(await page().operation('pay').fetch('/pay', five)).toMatchObject({ why: 'replayed' });
  });

  it('are not made less by the old date of a cached answer', async () => {
    const clocks = twoClocks();
    const first = clocks.page();
    await first.operation('other').fetch('/other', five);
    clocks.answers.push(null);
    await first.operation('pay').fetch('/pay', five);
    clocks.server += 30 * HOUR;
    const page = clocks.page();
    await page.operation('new').fetch('/new', five);
    clocks.isDated = false;
    clocks.answers.push(new Response('', { status: 201, headers: { date: new Date(NOON).toUTCString() } }));
    await page.operation('old').fetch('/old', five);
    expect(await page.operation('pay').fetch('/pay', five)).toMatchObject({ why: 'aged-out', tries: 0 });
  });

  it('are not by the date of an answer that says itself that it is old', async () => {
    for (const old of [{ age: '108000' }, { 'idempotency-replayed': 'true' }] as Record<string, string>[]) {
      const clocks = twoClocks();
      const first = clocks.page();
      await first.operation('other').fetch('/other', five);
      clocks.answers.push(null);
      await first.operation('pay').fetch('/pay', five);
      clocks.server += 30 * HOUR;
      clocks.device += 30 * HOUR;
      clocks.isDated = false;
      const page = clocks.page();
      const headers: Record<string, string> = { ...old, date: new Date(NOON).toUTCString() };
      clocks.answers.push(new Response('', { status: 201, headers }));
      await page.operation('old').fetch('/old', five);
      expect(await page.operation('pay').fetch('/pay', five)).toMatchObject({ why: 'aged-out', tries: 0 });
    }
  });

  it('of what this page sent itself are known without any date, through the sleep of the device too', async () => {
    const clocks = twoClocks();
    clocks.isDated = false;
    const page = clocks.page();
    clocks.answers.push(null, null);
    await page.operation('pay').fetch('/pay', five);
    expect(await page.operation('pay').fetch('/pay', five)).toMatchObject({ why: 'no-answer', tries: 1 });
    expect(await page.resume()).toMatchObject([{ ageMs: 0 }]);
    // Monotonic clocks stand still meanwhile.
    clocks.device += 30 * HOUR;
    expect(await page.operation('pay').fetch('/pay', five)).toMatchObject({ why: 'aged-out', tries: 0 });
  });

  it('a Retry-After that is a date is read by the server’s clock', async () => {
    const clocks = twoClocks();
    clocks.device += 365 * 24 * HOUR;
    const later = new Date(clocks.server + 30_000).toUTCString();
    clocks.answers.push(new Response('', { status: 503, headers: { 'retry-after': later } }));
    expect(await clocks.page().operation('pay').fetch('/pay', five)).toMatchObject({ retryAfterMs: 30_000 });
  });

  it('kept answers end by the server’s clock, and not where nobody knows', async () => {
    const clocks = twoClocks();
    const page = clocks.page();
    await page.operation('pay').fetch('/pay', five);
    clocks.device += 365 * 24 * HOUR;
    clocks.server += HOUR;
    const next = clocks.page();
    await next.operation('other').fetch('/other', five);
    expect(await next.operation('pay').fetch('/pay', five)).toMatchObject({ why: 'kept' });
    clocks.server += 24 * HOUR;
    const last = clocks.page();
    await last.operation('third').fetch('/third', five);
    expect(await last.operation('pay').fetch('/pay', five)).toMatchObject({ why: 'first' });
  });
});

/** A store that does what the test says. */
function faulty(store: PendingStore = memoryPending()): PendingStore & { fails: boolean } {
  const one = {
    fails: false,
    read: async (name: string) => (check(), store.read(name)),
    swap: async (name: string, expected: string | null, next: string | null) => (
      check(), store.swap(name, expected, next)
    ),
    rows: async (prefix: string) => (check(), store.rows(prefix)),
  };
  const check = (): void => {
    if (one.fails) throw new Error('blocked');
  };
  return one;
}

describe('a store that does not hold', () => {
  it('fails or is blocked while a payment is in flight: it is paid once, under one key, and told', async () => {
    const pending = faulty();
    const events: ClientEvent[] = [];
    const client = clientOf({
      pending,
      onEvent(event) {
        events.push(event);
        if (event.type === 'try') pending.fails = true;
      },
    });
    shop.faults.push('lose-reply', { status: 503 });
    const operation = client.operation('pay');
    expect(await operation.fetch('/pay', five)).toMatchObject({ outcome: 'done', why: 'replayed', tries: 3 });
    expect(events.some(({ type }) => type === 'pending-store-error')).toBe(true);
    // Nor does a second click, or a store that is back with what it had, make another.
    expect(await operation.fetch('/pay', five)).toMatchObject({ outcome: 'done' });
    pending.fails = false;
    expect(await operation.fetch('/pay', five)).toMatchObject({ outcome: 'done' });
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('is not needed to give up what memory holds too, but says what it could not write', async () => {
    const pending = faulty();
    const client = clientOf({ pending, ...once });
    shop.faults.push('lose-reply');
    await client.operation('pay').fetch('/pay', five);
    pending.fails = true;
    await expect(client.operation('pay').discard(consented)).rejects.toThrow('blocked');
    await expect(client.operation('other').again()).rejects.toThrow('blocked');
    await expect(client.resume()).rejects.toThrow('blocked');
    await expect(client.resume({ operations: ['other'] })).rejects.toThrow('blocked');
  });

  it('holds what cannot be read: it is told, listed and discarded, and paying goes on', async () => {
    for (const text of ['{"v":2,"key":"k"}', 'no row', 'null']) {
      const pending = memoryPending();
      const client = clientOf({ pending, ...once });
      shop.faults.push('cut');
      await client.operation('pay').fetch('/pay', five);
      const [row] = await pending.rows('');
      await pending.swap(row?.[0] ?? '', row?.[1] ?? '', text);
      const page = clientOf({ pending });
      expect(await page.operation('pay').fetch('/pay', five)).toMatchObject({
        outcome: 'unknown',
        why: 'unreadable',
        next: 'decide',
        tries: 0,
      });
      expect(await page.operation('pay').cancel()).toBe(false);
      const [left] = await page.resume();
      expect(left).toMatchObject({ operation: 'pay', wasSent: true, canGoOn: false, url: '' });
      expect(await left?.discard(consented)).toBe(true);
      expect(await page.operation('pay').fetch('/pay', five)).toMatchObject({ why: 'first' });
    }
  });
});

describe('a row of another shape', () => {
  it('is one that cannot be read: it is told, holds up no other, and can be given up', async () => {
    const store = memoryPending();
    shop.faults.push('cut');
    await clientOf({ pending: store, ...once })
      .operation('pay')
      .fetch('/pay', five);
    await clientOf({ pending: store }).operation('done').fetch('/pay', five);
    const [[name, open] = ['', ''], [, done] = ['', '']] = await store.rows('');
    const [sent, settled] = [JSON.parse(open) as object, JSON.parse(done) as { answer: object }];
    const shapes: object[] = [
      { v: 1 },
      { ...sent, key: undefined },
      { ...sent, created: undefined },
      { ...sent, created: NOON },
      { ...sent, request: { headers: 'x' } },
      { ...settled, settled: undefined },
      { ...settled, settled: { wall: 'now', page: 0, server: null } },
      { ...settled, answer: undefined },
      { ...settled, answer: {} },
    ];
    for (const shape of shapes) {
      const pending = memoryPending();
      await pending.swap(name, null, JSON.stringify(shape));
      const page = clientOf({ pending });
      expect(await page.operation('pay').fetch('/pay', five)).toMatchObject({ why: 'unreadable', tries: 0 });
      expect(await page.operation('other').fetch('/pay', five)).toMatchObject({ outcome: 'done' });
      const [left] = await page.resume();
      expect(left).toMatchObject({ operation: 'pay', ageMs: null, canGoOn: false });
      await clientOf({ pending }).clear({ unsettled: true });
      expect(await page.operation('pay').fetch('/pay', five)).toMatchObject({ why: 'first' });
    }
    for (const part of [{ status: 'x' }, { headers: [['bad header', 'x']] }, { body: '%%' }]) {
      const pending = memoryPending();
      const row = { ...settled, answer: { ...settled.answer, ...part } };
      await pending.swap(name, null, JSON.stringify(row));
      // That it is done is known.
      expect(await clientOf({ pending }).operation('pay').fetch('/pay', five)).toMatchObject({
        outcome: 'done',
        next: 'look-up',
        response: null,
      });
    }
  });
});

describe('a thousand that are over', () => {
  it('hide nothing and slow nothing: what is open is found in one look (F135)', async () => {
    const store = memoryPending();
    let looks = 0;
    const pending: PendingStore = {
      read: async (name) => ((looks += 1), store.read(name)),
      swap: async (...change) => store.swap(...change),
      rows: async (prefix) => ((looks += 1), store.rows(prefix)),
    };
    const paid = { pending, fetch: async () => new Response('{"paid":true}', { status: 201 }) };
    const busy = clientOf(paid);
    for (let i = 0; i < 1_000; i += 1) await busy.operation(`paid-${i}`).fetch('/pay', five);
    shop.faults.push('cut');
    await clientOf({ pending, ...once })
      .operation('pay')
      .fetch('/pay', five);
    looks = 0;
    expect(await clientOf({ pending }).resume()).toMatchObject([{ operation: 'pay' }]);
    expect(looks).toBe(1);
    looks = 0;
    await clientOf({ pending }).operation('pay').fetch('/pay', five);
    expect(looks).toBeLessThan(10);
  });

  it('are no more than a thousand, the oldest go first, and none that is open goes', async () => {
    const pending = memoryPending();
    let [now, up] = [NOON, 0];
    const world = { ...fakeWorld(), wallNow: () => (now += 1_000), monotonicNow: () => (up += 0.1) };
    const client = clientOf({
      pending,
      world,
      fetch: async (url) => {
        if (url.endsWith('open')) throw new TypeError('fetch failed');
        return new Response('', { status: 201 });
      },
      triesMax: 1,
      timeMaxMs: 1_000,
    });
    await client.operation('open').fetch('/open', five);
    for (let i = 0; i < 1_101; i += 1) await client.operation(`paid-${i}`).fetch('/pay', five);
    const names = (await pending.rows('')).map(([name]) => name.replace(/^.*:/, ''));
    expect(names.length).toBeLessThanOrEqual(1_101);
    expect(names).toContain('open');
    expect(names).toContain('paid-1100');
    expect(names).not.toContain('paid-0');
    await client.resume();
    expect(await pending.rows('')).toHaveLength(1_001);
  });

  it('the newest stay when the clock of the device was set back', async () => {
    for (const [isDated, isOtherPage] of [
      [true, true],
      [true, false],
      [false, false],
    ] as const) {
      const clocks = twoClocks();
      clocks.isDated = isDated;
      const busy = clocks.page({ trustClock: true });
      for (let i = 0; i < 1_000; i += 1) await busy.operation(`paid-${i}`).fetch('/pay', five);
      clocks.device -= 5 * HOUR;
      clocks.server += HOUR;
      const page = clocks.page({ trustClock: true });
      await page.operation('pay').fetch('/pay', five);
      const next = isOtherPage ? clocks.page({ trustClock: true }) : page;
      await next.resume();
      const sent = clocks.sent;
      expect(await next.operation('pay').fetch('/pay', five)).toMatchObject({ why: 'kept', tries: 0 });
      expect(clocks.sent).toBe(sent);
    }
  });

  it('are deleted when they are old', async () => {
    const clocks = twoClocks();
    const page = clocks.page();
    await page.operation('pay').fetch('/pay', five);
    clocks.server += 25 * HOUR;
    clocks.device += 25 * HOUR;
    const next = clocks.page();
    await next.operation('new').fetch('/new', five);
    await next.resume();
    expect(await next.operation('pay').fetch('/pay', five)).toMatchObject({ why: 'first' });
  });
});
