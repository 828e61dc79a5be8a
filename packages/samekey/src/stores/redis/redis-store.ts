/**
 * The Redis store: the state table of `store/machine/index.ts` on hashes, one script per row. Any number of processes
 * share it, also while servers fail over; how much it keeps then is the server's setting, which the user declares.
 *
 * Invariants: as `statements.ts` and `rows.ts` say · time is the server's · the client stays the user's.
 */

import type { Store } from '../../store/store.ts';
import { createAudit } from './audit.ts';
import { checkpointVerb, claimVerb, finishVerb, renewVerb } from './hot-path.ts';
import { createHints } from './hints.ts';
import { databaseId } from './identity.ts';
import { createUpkeep } from './upkeep.ts';
import { createKeys } from './key-names.ts';
import { createOperator } from './operator.ts';
import { checkOptions, type RedisStoreOptions } from './options.ts';
import { checkServer } from './ready.ts';
import { createReplicas } from './replicas.ts';
import { createRows } from './rows.ts';
import { createServer } from './server.ts';
import { createShards } from './shards.ts';
import { checkIds } from '../sql/record-row.ts';

/** Half of what one string of Redis holds (512 MB), so that the command around it fits too. */
const RECORD_SIZE_MAX_BYTES = 256_000_000;

/** Makes a store on a connected client. Throws `OptionsError` for unknown or wrong options. */
export function redisStore(options: RedisStoreOptions): Store {
  const checked = checkOptions(options);
  const { service, connection, prefix, shards: count, durability, now } = checked;
  const time = (): string => (now === undefined ? '' : String(now()));
  const server = createServer(connection);
  // No service's name has a slash: two services never meet, whatever their prefixes.
  const keys = createKeys(`${prefix}/${service}`, count);
  const rows = createRows(server, keys, time, checked.auditTransitions);
  const shards = createShards(server, keys, time);

  const { subscriber } = checked;
  const hints = subscriber === undefined ? undefined : createHints(connection, subscriber, keys);
  const replicas = createReplicas(checked, keys, rows);

  return {
    name: 'redis',
    capabilities: Object.freeze({
      transactions: false,
      transactionLock: false,
      serverClock: true,
      timePrecisionMs: 1,
      durable: durability !== 'none',
      shared: true,
      recordSizeMaxBytes: RECORD_SIZE_MAX_BYTES,
    }),

    // The client sends them one behind the other; the server works on one while this process takes up the answers to
    // another. An fsync is shared by what comes with it.
    callsAtOnceMax: durability === 'always' ? 1 : 4,

    async claim(requests) {
      const ask = (open: typeof requests): ReturnType<Store['claim']> => rows.apply(open, claimVerb);
      return replicas === undefined ? ask(requests) : replicas.claim(requests, ask);
    },
    async renew(requests) {
      const results = await rows.apply(requests, renewVerb);
      await replicas?.have(requests, results);
      return results;
    },
    async checkpoint(requests) {
      const results = await rows.apply(requests, checkpointVerb);
      await replicas?.have(requests, results);
      return results;
    },
    async finish(requests) {
      const results = await rows.apply(requests, finishVerb);
      await replicas?.have(requests, results);
      return results;
    },
    async find(ids) {
      checkIds(ids);
      const found = await rows.read(ids.map((id) => keys.of(id)));
      return found.map((seen) => seen?.record ?? null);
    },

    ...createUpkeep(server, keys, rows, shards, time),
    ...createOperator(server, keys, rows, shards),
    ...createAudit(server, keys, time, connection.isCluster),
    // Exact as they are: what an index holds is counted, and nothing has to be told.
    counters: {
      add: async () => undefined,
      read: async (callers) => {
        const counts = await Promise.all(callers.map((caller) => shards.countOf(caller)));
        return new Map(callers.map((caller, n) => [caller, counts[n] as number]));
      },
      recount: (caller) => shards.countOf(caller),
    },

    ...(hints && { hints }),
    identity: async () => ({ service, databaseId: await databaseId(server, keys) }),
    async ready() {
      await checkServer(checked, server, keys);
      await hints?.start();
    },
    close: async () => hints?.close(),
  };
}
