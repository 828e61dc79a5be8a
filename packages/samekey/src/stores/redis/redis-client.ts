/**
 * The clients a user may pass in, as far as we use them, and one way to talk to them: ioredis (also Cluster and Sentinel) and node-redis
 * (client, pool, cluster, sentinel). Neither is imported, not even its types.
 *
 * Invariants: replies are bytes, whatever the client is set to · commands that are given in one turn go out together, and those on one
 * key arrive in the order they were given.
 */

import { OptionsError } from '../../core/errors.ts';

/** An argument of a command. */
export type Argument = string | Uint8Array;

/** ioredis: `new Redis(…)` or `new Cluster(…)`. */
export interface IoRedis {
  callBuffer(command: string, ...args: (string | Buffer)[]): Promise<unknown>;
}

/** node-redis: `createClient(…)`, `createClientPool(…)`, `createSentinel(…)`. */
export interface NodeRedis {
  /** `never`, because each of them takes other arguments: what it is tells which. */
  sendCommand(...args: never[]): Promise<unknown>;
}

/** What a store is given. */
export type RedisClient = IoRedis | NodeRedis;

/** One way to talk to either. */
export interface Connection {
  /** Sends a command about a key; nested replies keep their shape, bulk strings are bytes. */
  send(key: string, command: string, args: readonly Argument[]): Promise<unknown>;
  /** Waits on the connection that the writes of these keys went over; null when the client cannot tell which. */
  readonly wait: ((key: string, command: string, args: readonly string[]) => Promise<unknown>) | null;
  readonly isCluster: boolean;
}

/** RESP's mark of a bulk string, by which node-redis is told to give bytes. */
const BLOB_STRING = 36;

/** Makes it. Throws `OptionsError` for anything else than these clients. */
export function openConnection(client: RedisClient): Connection {
  const found = client as Partial<IoRedis & NodeRedis> | null | undefined;
  if (typeof found?.callBuffer === 'function') return ofIoRedis(found as IoRedis);
  if (typeof found?.sendCommand === 'function') return ofNodeRedis(found as NodeRedis);
  throw new OptionsError(
    `client must be a client of ioredis or node-redis; it is ${client === null ? 'null' : typeof client}.`,
  );
}

interface IoCluster {
  readonly slots: readonly (readonly string[])[];
  nodes(role: 'master'): readonly (IoRedis & { readonly options: { host?: string; port?: number } })[];
}

function ofIoRedis(client: IoRedis): Connection {
  const isCluster = (client as { isCluster?: unknown }).isCluster === true;
  const call = (from: IoRedis, command: string, args: readonly Argument[]): Promise<unknown> =>
    from.callBuffer(command, ...args.map((arg) => (typeof arg === 'string' ? arg : bufferOf(arg))));
  return {
    isCluster,
    send: (_key, command, args) => call(client, command, args),
    wait(key, command, args) {
      if (!isCluster) return call(client, command, args);
      const cluster = client as unknown as IoCluster;
      const owner = cluster.slots[slotOf(key)]?.[0];
      const node = cluster.nodes('master').find(({ options }) => `${options.host}:${options.port}` === owner);
      if (node === undefined) return Promise.reject(new Error('CLUSTERDOWN the slot has no known owner'));
      return call(node, command, args);
    },
  };
}

function ofNodeRedis(client: NodeRedis): Connection {
  const isCluster = 'masters' in client && 'nodeByAddress' in client;
  const isPool = !isCluster && 'totalClients' in client;
  const isSentinel = !isCluster && !isPool && 'acquire' in client;
  const call = (...args: unknown[]): Promise<unknown> => client.sendCommand(...(args as never[]));
  const options = { returnBuffers: true, typeMapping: { [BLOB_STRING]: Buffer } };
  const send = (key: string, command: string, args: readonly Argument[]): Promise<unknown> => {
    const words = [command, ...args.map((arg) => (typeof arg === 'string' ? arg : bufferOf(arg)))];
    if (isCluster) return call(key, false, words, options);
    return isSentinel ? call(false, words, options) : call(words, options);
  };
  // A pool sends each command over whichever connection is free.
  return { isCluster, send, wait: isPool || isSentinel ? null : send };
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** CRC16/XMODEM of the hash tag, modulo 16,384 (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/). */
export function slotOf(key: string): number {
  const tag = /\{([^}]+)\}/.exec(key)?.[1] ?? key;
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1)
      crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc % 16_384;
}
