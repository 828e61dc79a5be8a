/**
 * Servers of Redis that belong together: a master with replicas under three Sentinels, and a Cluster. Both fail over by themselves when a
 * master is killed or frozen; each server can be killed, frozen and started again.
 *
 * Sources: https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/, …/reference/cluster-spec/.
 */

import { Redis } from 'ioredis';
import { freePort } from './machine.ts';
import { type RedisServer, startRedis } from './redis.ts';

/** Where a server listens. */
export interface Node {
  readonly host: string;
  readonly port: number;
}

/** What both kinds have. */
export interface RedisGroup {
  /** What a client is given: the Sentinels, or the servers of the cluster. */
  readonly seeds: readonly Node[];
  readonly servers: readonly RedisServer[];
  /** The server that has the key now, by the word of Sentinel or of the cluster. */
  masterOf(key: string): Promise<RedisServer>;
  /** A replica is made the master while the old one lives and knows nothing of it yet. */
  switchOver(master: RedisServer): Promise<void>;
  /** Resolves when each server is up, and each replica follows its master. */
  whole(): Promise<void>;
  stop(): Promise<void>;
}

/** The name under which Sentinel knows the master. */
export const MASTER_NAME = 'samekey';

/** How long a server is silent before it is given up, in milliseconds. */
const SILENT_MS = 1_000;
/** Everything here takes a second or two on an idle machine. */
const PATIENCE_MS = 60_000;
const HASH_SLOTS = 16_384;

const QUICK = { 'repl-timeout': '5', 'repl-ping-replica-period': '1', 'repl-diskless-sync-delay': '0' };

/** Starts a master with replicas, and three Sentinels of which two decide. */
export async function startSentinels(
  replicas: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<RedisGroup> {
  const master = await startRedis({ ...QUICK, ...settings });
  const others = await Promise.all(
    Array.from({ length: replicas }, () =>
      startRedis({ ...QUICK, replicaof: `127.0.0.1 ${master.port}`, ...settings }),
    ),
  );
  const servers = [master, ...others];
  await eachFollows(servers, () => replicas);
  const lines = [
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master.port} 2`,
    `sentinel down-after-milliseconds ${MASTER_NAME} ${SILENT_MS}`,
    `sentinel failover-timeout ${MASTER_NAME} 3000`,
    `sentinel parallel-syncs ${MASTER_NAME} ${Math.max(1, replicas)}`,
  ];
  const sentinels = await Promise.all(Array.from({ length: 3 }, () => startRedis({}, { sentinel: lines })));
  for (const { port } of sentinels) {
    // A master that comes back is told to follow within a second, not ten; Redis 6.2 does not know the command.
    await ask(port, 'SENTINEL', 'DEBUG', 'info-period', '1000').catch(() => undefined);
    await until('the Sentinels to know each other and the replicas', async () => {
      const fields = fieldsOf(await ask(port, 'SENTINEL', 'master', MASTER_NAME));
      return (
        fields.get('num-other-sentinels') === '2' &&
        fields.get('num-slaves') === String(replicas) &&
        fields.get('flags') === 'master'
      );
    });
  }
  return {
    seeds: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
    servers,
    async masterOf() {
      const [sentinel] = sentinels as [RedisServer];
      const found = (await ask(
        sentinel.port,
        'SENTINEL',
        'get-master-addr-by-name',
        MASTER_NAME,
      )) as string[];
      return serverAt(servers, Number(found[1]));
    },
    async switchOver() {
      // Refused for some seconds after the one before.
      await until('Sentinel to begin', async () => {
        const [sentinel] = sentinels as [RedisServer];
        return String(await ask(sentinel.port, 'SENTINEL', 'FAILOVER', MASTER_NAME)) === 'OK';
      });
    },
    whole: () => eachFollows(servers, () => replicas),
    async stop() {
      await Promise.all([...sentinels, ...servers].map((server) => server.stop()));
    },
  };
}

/** Starts a Cluster of three masters with so many replicas each. */
export async function startRedisCluster(
  replicas: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<RedisGroup> {
  const all = {
    ...QUICK,
    'cluster-enabled': 'yes',
    'cluster-node-timeout': String(SILENT_MS),
    'cluster-replica-validity-factor': '0',
    ...settings,
  };
  const servers: RedisServer[] = [];
  for (let i = 0; i < 3 + 3 * replicas; i += 1)
    servers.push(await startRedis(all, { port: await busPort() }));
  const masters = servers.slice(0, 3);
  const [first] = masters as [RedisServer];
  for (const [n, { port }] of masters.entries()) {
    const [from, to] = [n, n + 1].map((third) => Math.floor((third * HASH_SLOTS) / 3)) as [number, number];
    const slots = Array.from({ length: to - from }, (_, i) => String(from + i));
    await ask(port, 'CLUSTER', 'ADDSLOTS', ...slots);
    await ask(port, 'CLUSTER', 'SET-CONFIG-EPOCH', String(n + 1));
  }
  for (const { port } of servers.slice(1))
    await ask(port, 'CLUSTER', 'MEET', '127.0.0.1', String(first.port));
  const ids = await Promise.all(masters.map(async ({ port }) => String(await ask(port, 'CLUSTER', 'MYID'))));
  for (const [n, { port }] of servers.slice(3).entries()) {
    const id = ids[n % 3] as string;
    await until('a replica to know its master', async () =>
      String(await ask(port, 'CLUSTER', 'NODES')).includes(`${id} 127`),
    );
    await ask(port, 'CLUSTER', 'REPLICATE', id);
  }
  const whole = async (): Promise<void> => {
    await eachFollows(servers, () => replicas);
    for (const { port } of servers) {
      await until('the cluster to be whole', async () => {
        const isOk = String(await ask(port, 'CLUSTER', 'INFO')).includes('cluster_state:ok');
        const lines = String(await ask(port, 'CLUSTER', 'NODES'))
          .trim()
          .split('\n');
        return isOk && lines.length === servers.length && !lines.some((line) => /fail|handshake/.test(line));
      });
    }
  };
  await whole();
  return {
    seeds: servers.map(({ port }) => ({ host: '127.0.0.1', port })),
    servers,
    async masterOf(key) {
      for (const { port } of servers) {
        const slot = await ask(port, 'CLUSTER', 'KEYSLOT', key).catch(() => undefined);
        if (slot === undefined) continue;
        const ranges = (await ask(port, 'CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
        const range = ranges.find(([from, to]) => from <= Number(slot) && Number(slot) <= to);
        if (range !== undefined) return serverAt(servers, range[2][1]);
      }
      throw new Error('no server of the cluster answers');
    },
    async switchOver(master) {
      const port = /slave0:.*port=(\d+)/.exec(String(await ask(master.port, 'INFO', 'replication')))?.[1];
      await ask(Number(port), 'CLUSTER', 'FAILOVER', 'TAKEOVER');
    },
    whole,
    async stop() {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

/** Sends one command to the server at a port of this machine; rejects when it does not answer in time. */
export async function ask(port: number, command: string, ...args: string[]): Promise<unknown> {
  const client = new Redis(port, '127.0.0.1', {
    lazyConnect: true,
    retryStrategy: () => null,
    enableReadyCheck: false,
    commandTimeout: 2_000,
    connectTimeout: 2_000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}

/** Each server is a master with so many replicas that have everything, or such a replica. */
async function eachFollows(servers: readonly RedisServer[], replicasOf: () => number): Promise<void> {
  for (const { port } of servers) {
    await until('replicas to follow', async () => {
      const info = String(await ask(port, 'INFO', 'replication'));
      if (/role:slave/.test(info)) return /master_link_status:up/.test(info);
      return (info.match(/slave\d+:.*state=online/g) ?? []).length === replicasOf();
    });
  }
}

function serverAt(servers: readonly RedisServer[], port: number): RedisServer {
  const found = servers.find((server) => server.port === port);
  if (found === undefined) throw new Error('the master is none of the servers that were started');
  return found;
}

function fieldsOf(flat: unknown): ReadonlyMap<string, string> {
  const texts = (flat as unknown[]).map(String);
  return new Map(texts.flatMap((text, i) => (i % 2 === 0 ? [[text, texts[i + 1] ?? ''] as const] : [])));
}

/** A port below 55,000: the servers of a cluster also listen 10,000 above it. */
async function busPort(): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (port < 55_000) return port;
  }
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; ; ) {
    if (await isSo().catch(() => false)) return;
    if (performance.now() > end) throw new Error(`waited ${PATIENCE_MS} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
