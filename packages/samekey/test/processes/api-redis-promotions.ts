/**
 * One fail-over of Redis under load: a master is killed and comes back as a replica, is frozen and comes back believing that it is the
 * master, or a replica is promoted beside a master that lives. What each configuration loses is counted: where every replica
 * must have what is acknowledged, nothing may be lost and nothing may run twice; elsewhere the count is the honest figure.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type RedisGroup } from '../services/redis-groups.ts';
import { randomOf } from './api-checks.ts';
import { startCluster } from './api-cluster.ts';
import { startLoad } from './api-load.ts';
import { openAtLast } from './api-promotions.ts';
import { placeOnGroup } from './backends/redis-groups.ts';

/** What the store and the servers are set to; `all` is what the guarantees promise something for. */
export const CONFIGURATIONS = ['none', 'minReplicas', 'one', 'all'] as const;
export type Configuration = (typeof CONFIGURATIONS)[number];

/** What happens to the master. */
export const MASTER_BLOWS = ['kill', 'freeze', 'switch'] as const;
export type MasterBlow = (typeof MASTER_BLOWS)[number];

/** What one round does. */
export interface RedisPromotionOptions {
  readonly seed: number;
  readonly backend: 'redis-sentinel' | 'redis-cluster';
  readonly group: RedisGroup;
  /** Replicas of each master. */
  readonly replicas: number;
  readonly configuration: Configuration;
  readonly blow: MasterBlow;
  /** Clients that send one key after the other; default 12. */
  readonly clients?: number;
}

/** What came of it. */
export interface RedisPromotionResult {
  /** What may not happen whatever the configuration; with `all` also what was lost, ran twice or stayed open. */
  readonly failures: readonly string[];
  readonly keys: number;
  /** Keys that ran twice under load. */
  readonly twice: number;
  /** Keys whose answer a client had, and that was not there when it asked again. */
  readonly lost: number;
  /** Keys that ended `unknown` or in progress because the end of their attempt was lost. */
  readonly unknown: number;
  /** From the blow to the next answer by the master's shards, or by the master. */
  readonly awayMs: number;
}

/** Keys that are answered after the fail-over before the round ends. */
const KEYS_AFTER = 60;
const AFTER_TIME_MAX_MS = 60_000;
const RAN_TWICE = / ran \d+ times/;
const OPEN = /(\d+) keys stayed/;
const LOST = /an answer did not survive|which the ledger has not/;

/** The configuration and the blow of a seed: any twelve in a row go through all of them. */
export function redisPromotionOf(seed: number): { configuration: Configuration; blow: MasterBlow } {
  const configuration = CONFIGURATIONS[seed % CONFIGURATIONS.length] ?? 'none';
  const turn = Math.floor(seed / CONFIGURATIONS.length);
  return { configuration, blow: MASTER_BLOWS[turn % MASTER_BLOWS.length] ?? 'kill' };
}

/** Runs one; afterwards the group is whole again. */
export async function redisPromotionRound(options: RedisPromotionOptions): Promise<RedisPromotionResult> {
  const { seed, backend, group, replicas, configuration, blow } = options;
  const random = randomOf(seed);
  const told: string[] = [];
  const fail = (what: string): void => void told.push(`seed ${seed} (${configuration}, ${blow}): ${what}`);
  await group.whole();
  for (const { port } of group.servers) {
    await ask(port, 'CONFIG', 'SET', 'min-replicas-to-write', configuration === 'minReplicas' ? '1' : '0');
    await ask(port, 'CONFIG', 'SET', 'min-replicas-max-lag', '2');
  }
  const requireReplicas = { none: 0, minReplicas: 0, one: 1, all: replicas }[configuration];
  const place = placeOnGroup(backend, group, { requireReplicas });
  const cluster = await startCluster({
    backend: { name: backend, faults: {}, createPlace: async () => place, close: async () => undefined },
    place,
    size: 3,
    claimTtlMs: 6_000,
  });
  try {
    const load = startLoad(cluster, {
      seed,
      random,
      clients: options.clients ?? 12,
      isStoreAtRisk: true,
      fail,
    });
    const first = 30 + Math.floor(random() * 60);
    while (load.count() < first) await sleep(5);
    const key = `{${String(place.address['prefix'])}:${Math.floor(random() * 64)}}`;
    const struckAt = performance.now();
    await strike(group, key, blow, random);
    const after = load.count();
    let awayMs = 0;
    while (load.count() < after + KEYS_AFTER && performance.now() < struckAt + AFTER_TIME_MAX_MS) {
      if (awayMs === 0 && load.count() > after) awayMs = performance.now() - struckAt;
      await sleep(10);
    }
    await load.stop();
    if (load.count() < after + KEYS_AFTER) fail('nobody was served after the fail-over');
    const open = await openAtLast(cluster.store, 20_000);
    if (open > 0) fail(`${open} keys stayed unknown or in progress`);
    await load.check();
    return resultOf(told, configuration, load.count(), awayMs);
  } finally {
    await cluster.close();
  }
}

/** Strikes the master of a key; resolves when another is the master and the old one is back. */
async function strike(group: RedisGroup, key: string, blow: MasterBlow, random: () => number): Promise<void> {
  const master = await group.masterOf(key);
  const thaw = blow === 'freeze' ? master.freeze() : undefined;
  if (blow === 'kill') await master.kill();
  if (blow === 'switch') await group.switchOver(master);
  for (const until = performance.now() + AFTER_TIME_MAX_MS; performance.now() < until; await sleep(10)) {
    if ((await group.masterOf(key).catch(() => master)) !== master) break;
  }
  // It comes back while clients still look for it, or when they have all left.
  await sleep(random() * 1_500);
  thaw?.();
  if (blow === 'kill') await master.restart();
}

function resultOf(
  told: readonly string[],
  configuration: Configuration,
  keys: number,
  awayMs: number,
): RedisPromotionResult {
  const isLoss = (what: string): boolean => [RAN_TWICE, LOST, OPEN].some((one) => one.test(what));
  const keysOf = (kind: RegExp): number =>
    new Set(told.filter((what) => kind.test(what)).map((what) => /load-[\w-]+/.exec(what)?.[0] ?? what)).size;
  return {
    failures: configuration === 'all' ? told : told.filter((what) => !isLoss(what)),
    keys,
    twice: keysOf(RAN_TWICE),
    lost: keysOf(LOST),
    unknown: told.reduce((sum, what) => sum + Number(OPEN.exec(what)?.[1] ?? 0), 0),
    awayMs,
  };
}
