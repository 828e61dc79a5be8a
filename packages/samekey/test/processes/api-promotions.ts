/**
 * One failover under load, of PostgreSQL or MariaDB: the primary is killed with -9, its standby is promoted, and the processes find it at
 * the address they knew. With a synchronous standby nothing that a client was told may be lost, nothing may run twice; what an asynchronous
 * one loses is a failure as well, and counted.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { anyPostgres } from '../services/postgres.ts';
import { startPair } from '../services/postgres-pair.ts';
import type { Medium } from '../services/postgres-run.ts';
import { startFaultProxy } from '../services/fault-proxy.ts';
import { startMysqlPair } from '../services/mysql-pair.ts';
import { randomOf } from './api-checks.ts';
import { startCluster } from './api-cluster.ts';
import { startLoad } from './api-load.ts';
import { anyMariadb, mysqlPlaceOn } from './backends/mysql.ts';
import { placeOn } from './backends/postgres.ts';

/** What one failover does. */
export interface PromotionOptions {
  readonly seed: number;
  /** Default `postgres`. */
  readonly store?: 'postgres' | 'mysql';
  /** Whether commits wait for the standby; default true. */
  readonly synchronous?: boolean;
  /** The standby has heard nothing for so long when the primary dies, in milliseconds; default 0. */
  readonly behindMs?: number;
  /** Clients that send one key after the other; default 12. */
  readonly clients?: number;
  readonly medium?: Medium;
}

/** What came of it. */
export interface PromotionResult {
  readonly failures: readonly string[];
  readonly keys: number;
  readonly retried: number;
  /** From the kill to the first answer for a new key. */
  readonly awayMs: number;
}

/** Keys that are answered after the failover before the round ends. */
const KEYS_AFTER = 60;
/** A frozen takeover must not hang the round. */
const AFTER_TIME_MAX_MS = 30_000;

interface Pair {
  readonly primary: {
    url(): string;
    createDatabase(): Promise<string>;
    kill(): Promise<void>;
  };
  readonly standby: { url(): string };
  detach(): Promise<void>;
  promote(): Promise<void>;
  stop(): Promise<void>;
}

type StartPair = (options: { readonly synchronous: boolean; readonly medium: Medium }) => Promise<Pair>;

const postgresPair: StartPair = async (options) => {
  const source = anyPostgres();
  if (source === undefined) throw new Error('This machine has no PostgreSQL.');
  return startPair(source, options);
};

const mysqlPair: StartPair = async (options) => {
  const source = anyMariadb();
  if (source === undefined) throw new Error('This machine has no MariaDB.');
  return startMysqlPair(source, options);
};

/** Runs one on servers of its own. */
export async function promotionRound(options: PromotionOptions): Promise<PromotionResult> {
  const { medium = 'memory', synchronous = true } = options;
  const random = randomOf(options.seed);
  const failures: string[] = [];
  const fail = (what: string): void => void failures.push(`seed ${options.seed}: ${what}`);
  const isMysql = options.store === 'mysql';
  const pair = await (isMysql ? mysqlPair : postgresPair)({ synchronous, medium });
  const proxy = await startFaultProxy(pair.primary.url());
  const place = (isMysql ? mysqlPlaceOn : placeOn)(await pair.primary.createDatabase(), proxy);
  const backend = {
    name: 'standby',
    faults: {},
    createPlace: async () => place,
    close: async () => undefined,
  };
  // The harness follows the failover like everybody else.
  const cluster = await startCluster({
    backend,
    place: { ...place, direct: place.address },
    size: 3,
    claimTtlMs: 2_000,
  });
  try {
    const load = startLoad(cluster, {
      seed: options.seed,
      random,
      clients: options.clients ?? 12,
      isStoreAtRisk: true,
      fail,
    });
    const first = 5 + Math.floor(random() * 60);
    while (load.count() < first) await sleep(5);
    if (options.behindMs !== undefined) {
      await pair.detach();
      await sleep(options.behindMs);
    }
    const killedAt = performance.now();
    await pair.primary.kill();
    await pair.promote();
    proxy.leadTo(pair.standby.url());
    const after = load.count();
    let awayMs = 0;
    while (load.count() < after + KEYS_AFTER && performance.now() < killedAt + AFTER_TIME_MAX_MS) {
      if (awayMs === 0 && load.count() > after) awayMs = performance.now() - killedAt;
      await sleep(10);
    }
    await load.stop();
    if (load.count() < after + KEYS_AFTER) fail('nobody was served after the failover');
    // Keys whose owner had given them up are free within its next look.
    const open = await openAtLast(cluster.store);
    if (open > 0) fail(`${open} keys stayed unknown or in progress`);
    await load.check();
    return { failures, keys: load.count(), retried: load.retried(), awayMs };
  } finally {
    await cluster.close();
    await proxy.close();
    await pair.stop();
  }
}

/** What can count its keys by state. */
export type Counting = { count(): Promise<Readonly<Record<string, number>>> };

/** How many keys are neither answered nor free once everything had its time. */
export async function openAtLast(store: Counting, timeMaxMs = 15_000): Promise<number> {
  for (const until = performance.now() + timeMaxMs; ; await sleep(50)) {
    const counts = await store.count().catch(() => ({ unknown: 1, in_progress: 0 }));
    const open = (counts['unknown'] ?? 0) + (counts['in_progress'] ?? 0);
    if (open === 0 || performance.now() > until) return open;
  }
}
