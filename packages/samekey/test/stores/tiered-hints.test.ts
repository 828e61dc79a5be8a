/** Hints by Redis, with each client: who waits is told by the process that finishes, and by nobody else. */

import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChangeHints } from '../../src/store/store.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { redisHints, tieredStore } from '../../src/stores/tiered/index.ts';
import { createSignal } from '../../../testing/src/engine/signals.ts';
import { isRedisHere, type RedisServer, startRedis } from '../services/redis.ts';

const ID = { scope: 't|pay', key: 'k' };

interface Opened {
  readonly hints: ChangeHints;
  readonly subscriber: Redis | null;
  close(): void;
}

const CLIENTS = {
  async ioredis(url: string, channel: string): Promise<Opened> {
    const [client, subscriber] = [0, 1].map(() => new Redis(url, { retryStrategy: () => 20 })) as [
      Redis,
      Redis,
    ];
    for (const each of [client, subscriber]) each.on('error', () => undefined);
    return {
      hints: redisHints({ client, subscriber, channel }),
      subscriber,
      close: () => [client, subscriber].forEach((each) => each.disconnect()),
    };
  },
  async 'node-redis'(url: string, channel: string): Promise<Opened> {
    const client = createClient({ url });
    const subscriber = client.duplicate();
    for (const each of [client, subscriber]) {
      each.on('error', () => undefined);
      await each.connect();
    }
    return {
      hints: redisHints({ client, subscriber, channel }),
      subscriber: null,
      close: () => [client, subscriber].forEach((each) => each.destroy()),
    };
  },
};

/** Says "changed" until it is heard: a process says nothing before it has heard that somebody waits. */
async function told(waits: ChangeHints, finishes: ChangeHints): Promise<void> {
  const state = { isHeard: false };
  const end = waits.watch(ID, () => (state.isHeard = true));
  while (!state.isHeard) {
    finishes.changed(ID);
    await new Promise(setImmediate);
  }
  end();
}

describe.runIf(isRedisHere())('hints by Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ appendonly: 'no' });
  });
  afterAll(() => server.stop());

  for (const [name, open] of Object.entries(CLIENTS)) {
    it(`a process that waits is told by another, with ${name}`, async () => {
      const [a, b] = await Promise.all([open(server.url, name), open(server.url, name)]);
      await told(a.hints, b.hints);
      await told(b.hints, a.hints);
      a.close();
      b.close();
    });
  }

  it('after its connection was lost, it looks once, asks again, and is told again', async () => {
    const [a, b] = await Promise.all([
      CLIENTS.ioredis(server.url, 'lost'),
      CLIENTS.ioredis(server.url, 'lost'),
    ]);
    await told(a.hints, b.hints);
    const looked = new Promise<void>((resolve) => void a.hints.watch(ID, resolve));
    a.subscriber?.disconnect(true);
    await looked;
    await told(a.hints, b.hints);
    a.close();
    b.close();
  });

  it('nothing is published while nobody waits', async () => {
    const [a, b] = await Promise.all([
      CLIENTS.ioredis(server.url, 'quiet'),
      CLIENTS.ioredis(server.url, 'quiet'),
    ]);
    const spectator = new Redis(server.url);
    const names = new Set<string>();
    spectator.on('message', (_, payload) => {
      for (const name of String(payload).split(',').slice(1)) names.add(name);
    });
    await spectator.subscribe('quiet');
    for (let i = 0; i < 100; i += 1) b.hints.changed({ ...ID, key: `k-${i}` });
    // Behind what would have been said, on the same connection.
    const end = a.hints.watch(ID, () => undefined);
    await expect
      .poll(() => {
        b.hints.changed(ID);
        return names.size;
      })
      .toBe(1);
    end();
    spectator.disconnect();
    a.close();
    b.close();
  });

  it('two instances share a store and hints; a request that waits gets the answer of the other', async () => {
    const truth = memoryStore();
    const [a, b] = await Promise.all([
      CLIENTS.ioredis(server.url, 'whole'),
      CLIENTS.ioredis(server.url, 'whole'),
    ]);
    await told(a.hints, b.hints);
    const instance = (hints: ChangeHints): ReturnType<typeof createSamekey> =>
      createSamekey({ store: tieredStore({ store: truth, hints }), policy: 'standard', waitMaxMs: 10_000 });
    const [one, two] = [instance(a.hints), instance(b.hints)];
    const request = { operation: 'pay', scope: ['t'], key: 'k', fingerprint: 1 } as const;
    const [started, finished] = [createSignal(), createSignal()];
    const first = one.run(request, async () => {
      started.send();
      await finished.sent;
      return { paid: true };
    });
    await started.sent;
    const second = two.run(request, () => ({ paid: false }));
    finished.send();
    expect(await first).toMatchObject({ kind: 'executed' });
    expect(await second).toMatchObject({ kind: 'replay', value: { paid: true } });
    a.close();
    b.close();
  });
});
