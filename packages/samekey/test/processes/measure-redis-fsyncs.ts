/**
 * Counts how often Redis brings its append-only file to disk, with `appendfsync always` and `everysec`: for claims and ends one by one, for
 * groups, and for replays. A kill of the server proves nothing here, because the page cache survives it. Needs strace:
 *
 *   node packages/samekey/test/processes/.out/processes/measure-redis-fsyncs.js
 */

import { Redis } from 'ioredis';
import { redisStore } from 'samekey/stores/redis';
import { startRedis } from '../services/redis.ts';
import { countFsyncs } from './fsyncs.ts';
import { claimOf, finishOf } from './requests.ts';

const KEYS = 50;
const names = (what: string): string[] => Array.from({ length: KEYS }, (_, i) => `${what}-${i}`);

for (const durability of ['always', 'everysec'] as const) {
  const server = await startRedis({ appendfsync: durability });
  const client = new Redis(server.url, { socketTimeout: 10_000 });
  const store = redisStore({ service: 'test', client, durability });
  await store.ready();
  const pid = Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1]);
  await store.claim([claimOf('warm')]);
  await store.finish([finishOf('warm')]);
  const count = (what: string, work: () => Promise<unknown>): Promise<void> =>
    countFsyncs(pid, `${durability}: ${what}`, work);
  await count(`${KEYS} claims, one after the other`, async () => {
    for (const key of names('single')) await store.claim([claimOf(key)]);
  });
  await count(`${KEYS} ends, one after the other`, async () => {
    for (const key of names('single')) await store.finish([finishOf(key)]);
  });
  await count(`${KEYS} claims in one group`, () => store.claim(names('group').map((key) => claimOf(key))));
  await count(`${KEYS} ends in one group`, () => store.finish(names('group').map((key) => finishOf(key))));
  await count(`${2 * KEYS} replays`, async () => {
    for (const key of [...names('single'), ...names('group')]) {
      const [found] = await store.claim([{ ...claimOf(key), claimId: `again-${key}` }]);
      if (found?.kind !== 'found') throw new Error(`${key} was ${found?.kind}`);
    }
  });
  client.disconnect();
  await server.stop();
}
