/** Hints by Pub/Sub: who waits reads at once; lost, late or untrue, they change nothing but when somebody looks. */

import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisStoreOptions, redisStore } from '../../src/stores/redis/index.ts';
import { createSamekey } from '../../src/samekey.ts';
import { systemWorld } from '../../src/system.ts';
import { isRedisHere, type RedisServer, startRedis } from '../services/redis.ts';

const REQUEST = { operation: 'pay', scope: ['t'], fingerprint: 1 } as const;
/** The waiter's own look, as `engine/waiter.ts` has it. */
const TICK_MS = 25;

describe.runIf(isRedisHere())('hints by Pub/Sub', () => {
  let server: RedisServer;
  const ends: (() => unknown)[] = [];
  let prefixes = 0;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
    await server.stop();
  });

  const ioredis = async (): Promise<Pick<RedisStoreOptions, 'client' | 'subscriber'>> => {
    const client = new Redis(server.url, { socketTimeout: 10_000 });
    const subscriber = client.duplicate();
    ends.push(
      () => client.disconnect(),
      () => subscriber.disconnect(),
    );
    return { client, subscriber };
  };
  const nodeRedis = async (): Promise<Pick<RedisStoreOptions, 'client' | 'subscriber'>> => {
    const client = createClient({
      url: server.url,
      socket: { socketTimeout: 60_000, reconnectStrategy: 20 },
    });
    const subscriber = client.duplicate();
    for (const each of [client, subscriber]) {
      each.on('error', () => undefined);
      await each.connect();
      ends.push(() => each.destroy());
    }
    return { client, subscriber };
  };

  /** A process. Without `ticks` its waiter never looks by itself: only a hint makes it read. */
  async function startNode(open: typeof ioredis, prefix: string, ticks: boolean) {
    const clients = await open();
    const store = redisStore({ service: 'test', ...clients, durability: 'always', prefix });
    await store.ready();
    ends.push(() => store.close());
    const world = systemWorld();
    const setTimer: typeof world.setTimer = (ms, run) =>
      ticks || ms !== TICK_MS ? world.setTimer(ms, run) : { cancel: () => undefined };
    return { samekey: createSamekey({ store, policy: 'standard', world: { ...world, setTimer } }), clients };
  }

  it.each([
    ['ioredis', ioredis],
    ['node-redis', nodeRedis],
  ])(
    '%s: a process that waits reads when another has finished, without a look of its own; nothing that is said names a key',
    async (_, open) => {
      prefixes += 1;
      const prefix = `hints-${prefixes}`;
      const a = await startNode(open, prefix, true);
      const b = await startNode(open, prefix, false);
      const spy = await spyOn(a.clients.subscriber, prefix);
      const { begun, begin, released, release } = gate();
      const first = a.samekey.run({ ...REQUEST, key: 'secret-key' }, () => {
        begin();
        return released;
      });
      await begun;
      const told = b.samekey.run({ ...REQUEST, key: 'secret-key', waitMaxMs: 20_000 }, () => 'never');
      // The first has heard it.
      await expect.poll(() => spy.some((said) => said.startsWith('w,'))).toBe(true);
      release('done');
      await first;
      expect(await told).toMatchObject({ kind: 'replay', value: 'done' });
      for (const said of spy) expect(said).toMatch(/^[wc](,[0-9a-f]{8})+$/);
    },
  );

  it('nobody waits, nothing is said', async () => {
    const a = await startNode(ioredis, 'quiet', true);
    const spy = await spyOn(a.clients.subscriber, 'quiet');
    for (let i = 0; i < 10; i += 1) await a.samekey.run({ ...REQUEST, key: `k${i}` }, () => i);
    const admin = new Redis(server.url);
    await admin.publish('{quiet/test:0}:hints', 'end');
    await expect.poll(() => spy.at(-1)).toBe('end');
    expect(spy).toEqual(['end']);
    // And rubbish on the channel harms nobody.
    await a.samekey.run({ ...REQUEST, key: 'after' }, () => 1);
    admin.disconnect();
  });

  it('what is no client is refused', () => {
    const client = new Redis(server.url, { socketTimeout: 10_000 });
    expect(() =>
      redisStore({ service: 'test', client, durability: 'always', subscriber: {} as never }),
    ).toThrow(/subscriber must be/);
    client.disconnect();
  });
});

/** All that a store hears on its channel from now on, once it has heard it. */
async function spyOn(subscriber: RedisStoreOptions['subscriber'], prefix: string): Promise<string[]> {
  const said: string[] = [];
  const channel = `{${prefix}/test:0}:hints`;
  if (subscriber instanceof Redis)
    subscriber.on('message', (_channel, message: string) => void said.push(message));
  else await subscriber?.subscribe(channel, (message: string) => void said.push(message));
  return said;
}

/** An attempt that says when it has begun, and ends when it is released. */
function gate(): {
  readonly begun: Promise<void>;
  readonly begin: () => void;
  readonly released: Promise<string>;
  readonly release: (value: string) => void;
} {
  const calls: { begin?: () => void; release?: (value: string) => void } = {};
  const begun = new Promise<void>((resolve) => {
    calls.begin = resolve;
  });
  const released = new Promise<string>((resolve) => {
    calls.release = resolve;
  });
  return { begun, released, begin: () => calls.begin?.(), release: (value) => calls.release?.(value) };
}
