/** What a page shows of an intent: one state for all who ask for it, in all tabs of its user, and nothing of what is not its. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  type Client,
  type ClientOptions,
  createClient,
  type PendingStore,
} from '../../../client/src/index.ts';
import { type Intent, intentOf } from '../../../client/src/intent.ts';
import { memoryPending } from '../../../client/src/memory.ts';

const URL_OF_SHOP = 'https://shop.example/pay';
const five: RequestInit = { body: '5' };

/** Answers when it is let. */
class Server {
  posts = 0;
  readonly waiting: ((answer: Response | Error) => void)[] = [];

  readonly fetch = async (): Promise<Response> => {
    this.posts += 1;
    const answer = await new Promise<Response | Error>((resolve) => this.waiting.push(resolve));
    if (answer instanceof Error) throw answer;
    return answer;
  };

  async begun(posts: number): Promise<void> {
    await vi.waitFor(() => expect(this.posts).toBe(posts));
  }
}

const paid = (): Response => new Response('paid', { status: 201 });

const tabOf = (options: Partial<ClientOptions> & Pick<ClientOptions, 'pending' | 'fetch'>): Client =>
  createClient({ subject: 'alice', whenDone: 'same', triesMax: 1, ...options });

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Looks at it, as a component does; every status that was shown. */
function shown(intent: Intent): string[] {
  const statuses: string[] = [intent.state().status];
  ends.push(
    intent.subscribe(() => {
      const { status } = intent.state();
      if (status !== statuses.at(-1)) statuses.push(status);
    }),
  );
  return statuses;
}

const shows = (intent: Intent, status: string): Promise<void> =>
  vi.waitFor(() => expect(intent.state().status).toBe(status));

describe('one intent', () => {
  it('is one state for all components of a page, whatever whenDone the last of them says', async () => {
    const server = new Server();
    const client = tabOf({ pending: memoryPending(), fetch: server.fetch });
    const [one, other] = [intentOf(client, 'pay'), intentOf(client, 'pay', { whenDone: 'same' })];
    expect(other).toBe(one);
    expect(one.state().status).toBe('waiting');
    const statuses = shown(one);
    await shows(one, 'idle');
    const calls = [one.run(URL_OF_SHOP, five), other.run(URL_OF_SHOP, five)];
    await server.begun(1);
    expect(one.state().status).toBe('waiting');
    server.waiting[0]?.(paid());
    await Promise.all(calls);
    expect(statuses).toEqual(['waiting', 'idle', 'waiting', 'done']);
    expect(server.posts).toBe(1);
    expect(intentOf(client, 'other').state().status).toBe('waiting');
  });

  it('of twenty mounts is one request, and looking sends none', async () => {
    const server = new Server();
    const client = tabOf({ pending: memoryPending(), fetch: server.fetch });
    const intent = intentOf(client, 'pay');
    for (let mounts = 0; mounts < 20; mounts++) {
      shown(intent);
      ends.pop()?.();
      shown(intent);
    }
    await shows(intent, 'idle');
    expect(server.posts).toBe(0);
    const calls = Array.from({ length: 20 }, () => intent.run(URL_OF_SHOP, five));
    await server.begun(1);
    server.waiting[0]?.(paid());
    expect(new Set((await Promise.all(calls)).map(({ outcome }) => outcome))).toEqual(new Set(['done']));
    expect(server.posts).toBe(1);
  });

  it('that an earlier page has left is open, and gone on with under its key', async () => {
    const server = new Server();
    const pending = memoryPending();
    const before = intentOf(tabOf({ pending, fetch: server.fetch }), 'pay');
    const lost = before.run(URL_OF_SHOP, five);
    await server.begun(1);
    server.waiting[0]?.(new Error('lost'));
    const { key } = await lost;
    const after = intentOf(tabOf({ pending, fetch: server.fetch, trustClock: true }), 'pay');
    shown(after);
    await shows(after, 'open');
    const going = after.goOn();
    await server.begun(2);
    expect(after.state()).toMatchObject({ status: 'waiting', open: null });
    server.waiting[1]?.(paid());
    expect(await going).toMatchObject({ outcome: 'done', key });
    expect(after.state()).toMatchObject({ status: 'done', open: null });
  });

  it('is not open again by a look that was begun before it ran', async () => {
    const server = new Server();
    const store = memoryPending();
    const reads: (() => void)[] = [];
    let isSlow = false;
    const pending: PendingStore = {
      ...store,
      async read(name) {
        const text = await store.read(name);
        if (isSlow) await new Promise<void>((resolve) => reads.push(resolve));
        return text;
      },
    };
    const lost = intentOf(tabOf({ pending, fetch: server.fetch }), 'pay').run(URL_OF_SHOP, five);
    await server.begun(1);
    server.waiting[0]?.(new Error('lost'));
    await lost;
    isSlow = true;
    const intent = intentOf(tabOf({ pending, fetch: server.fetch, trustClock: true }), 'pay');
    shown(intent);
    await vi.waitFor(() => expect(reads).toHaveLength(1));
    isSlow = false;
    const call = intent.run(URL_OF_SHOP, five);
    await server.begun(2);
    server.waiting[1]?.(paid());
    await call;
    reads[0]?.();
    await new Promise((resolve) => setImmediate(resolve));
    expect(intent.state()).toMatchObject({ status: 'done', open: null });
  });

  it('whose call is refused at once shows what it has shown', async () => {
    const intent = intentOf(tabOf({ pending: memoryPending(), fetch: new Server().fetch }), 'pay');
    shown(intent);
    await expect(intent.run(URL_OF_SHOP, { method: 'GET' })).rejects.toThrow('GET');
    expect(intent.state()).toMatchObject({ status: 'idle', result: null });
  });

  it('takes no misspelt option, and none that is wrong', () => {
    const client = tabOf({ pending: memoryPending(), fetch: new Server().fetch });
    expect(() => intentOf(client, 'pay', { whendone: 'ask' } as never)).toThrow('whendone is no option here');
    expect(() => intentOf(client, 'pay', { whenDone: 'never' as never })).toThrow('whenDone is');
  });
});

describe('another tab', () => {
  it('of the same user shows that it is waited for, and what became of it, without the answer', async () => {
    const server = new Server();
    const pending = memoryPending();
    const [here, there] = [1, 2].map(() => intentOf(tabOf({ pending, fetch: server.fetch }), 'pay'));
    if (here === undefined || there === undefined) throw new Error('There are two.');
    const statuses = shown(there);
    await shows(there, 'idle');
    const call = here.run(URL_OF_SHOP, five);
    await server.begun(1);
    await shows(there, 'waiting');
    // One that is opened meanwhile asks.
    const late = intentOf(tabOf({ pending, fetch: server.fetch }), 'pay');
    const lateStatuses = shown(late);
    await vi.waitFor(() => expect(late.state().open).not.toBeNull());
    await shows(late, 'waiting');
    server.waiting[0]?.(paid());
    expect(await call).toMatchObject({ outcome: 'done', next: 'show' });
    await shows(there, 'done');
    await shows(late, 'done');
    expect(statuses).toEqual(['waiting', 'idle', 'waiting', 'done']);
    expect(lateStatuses).not.toContain('idle');
    expect(there.state().result).toMatchObject({ why: 'first', next: 'look-up', response: null, key: null });
    expect(server.posts).toBe(1);
  });

  it('that is left in the middle says so: what it has left is asked about, and its channel is closed', async () => {
    const server = new Server();
    const pending = memoryPending();
    const events = new EventTarget();
    vi.stubGlobal('addEventListener', events.addEventListener.bind(events));
    vi.stubGlobal('removeEventListener', events.removeEventListener.bind(events));
    const here = intentOf(tabOf({ pending, fetch: server.fetch }), 'pay');
    shown(here);
    await shows(here, 'idle');
    vi.unstubAllGlobals();
    const there = intentOf(tabOf({ pending, fetch: server.fetch }), 'pay');
    shown(there);
    await shows(there, 'idle');
    const call = here.run(URL_OF_SHOP, five);
    await server.begun(1);
    await shows(there, 'waiting');
    events.dispatchEvent(new Event('pagehide'));
    await shows(there, 'open');
    // From the back/forward cache: what became of it is known there.
    server.waiting[0]?.(paid());
    await call;
    events.dispatchEvent(new Event('pageshow'));
    await shows(here, 'done');
  });

  it('that meant it again shows nothing of the earlier one any more', async () => {
    const server = new Server();
    const pending = memoryPending();
    const [here, there] = [1, 2].map(() => intentOf(tabOf({ pending, fetch: server.fetch }), 'pay'));
    if (here === undefined || there === undefined) throw new Error('There are two.');
    shown(there);
    const call = here.run(URL_OF_SHOP, five);
    await server.begun(1);
    server.waiting[0]?.(paid());
    await call;
    await shows(there, 'done');
    expect(await here.again()).toBe(true);
    await shows(there, 'idle');
    expect(here.state()).toMatchObject({ status: 'idle', result: null });
  });

  it('of another user hears nothing', async () => {
    const server = new Server();
    const pending = memoryPending();
    const alice = intentOf(tabOf({ pending, fetch: server.fetch }), 'pay');
    const bob = intentOf(tabOf({ pending, fetch: server.fetch, subject: 'bob' }), 'pay');
    const also = intentOf(tabOf({ pending, fetch: server.fetch }), 'pay');
    const statuses = shown(bob);
    shown(also);
    await shows(bob, 'idle');
    const call = alice.run(URL_OF_SHOP, five);
    await server.begun(1);
    server.waiting[0]?.(paid());
    await call;
    await shows(also, 'done');
    expect(statuses).toEqual(['waiting', 'idle']);
  });
});
