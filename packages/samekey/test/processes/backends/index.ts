/** The backends, one a line; each module is loaded when it is needed. */

import type { BackendKind, OpenStore, StoreAddress } from './backend.ts';

const KINDS = {
  sqlite: async () => (await import('./sqlite.ts')).sqliteBackend,
  postgres: async () => (await import('./postgres.ts')).postgresBackend,
  distributed: async () => (await import('./distributed.ts')).distributedBackend,
  citus: async () => (await import('./distributed.ts')).citusBackend,
  pgbouncer: async () => (await import('./pgbouncer.ts')).pgbouncerBackend,
  dynamodb: async () => (await import('./dynamodb.ts')).dynamodbBackend,
  mysql: async () => (await import('./mysql.ts')).mysqlBackend,
  redis: async () => (await import('./redis.ts')).redisBackend,
  'redis-sentinel': async () => (await import('./redis-groups.ts')).redisSentinelBackend,
  tiered: async () => (await import('./tiered.ts')).tieredBackend,
  'redis-cluster': async () => (await import('./redis-groups.ts')).redisClusterBackend,
} as const satisfies Record<string, () => Promise<BackendKind>>;

/** The name of a backend. */
export type BackendName = keyof typeof KINDS;

/** Many servers for what one shows as well: they are for fail-overs, and for proofs that name them. */
const GROUPS: readonly string[] = ['redis-sentinel', 'redis-cluster', 'tiered'];

/** All others, in the order in which proofs run. */
export const BACKENDS: readonly BackendName[] = (Object.keys(KINDS) as BackendName[]).filter(
  (name) => !GROUPS.includes(name),
);

/** One by name. Throws when there is none of that name. */
export async function backendOf(name: string): Promise<BackendKind> {
  if (!Object.hasOwn(KINDS, name)) {
    throw new Error(`There is no backend named ${name}: there are ${Object.keys(KINDS).join(', ')}.`);
  }
  return KINDS[name as BackendName]();
}

/** Opens the store at an address. */
export async function openStore(address: StoreAddress): Promise<OpenStore> {
  return (await backendOf(address.backend)).open(address);
}

/** Those that this machine has and tests run on. */
export async function availableBackends(): Promise<readonly BackendKind[]> {
  const kinds = await Promise.all(BACKENDS.map(backendOf));
  return kinds.filter((kind) => kind.proofsOnly !== true && kind.isAvailable());
}
