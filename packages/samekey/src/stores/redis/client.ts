/**
 * The clients a user may pass in, as far as we use them, and one way to talk to them: ioredis (also Cluster and
 * Sentinel) and node-redis (client, pool, cluster, sentinel). Neither is imported, not even its types.
 *
 * Invariants: replies are bytes, whatever the client is set to · commands that are given in one turn go out together,
 * and those on one key arrive in the order they were given.
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
  /** The one connection to the server that has a key; null when the client cannot tell which of several it takes. */
  readonly pin: ((key: string) => Promise<Pinned>) | null;
  readonly isCluster: boolean;
  /** Whether the client gives up a connection that carries nothing any more; undefined when that cannot be seen. */
  readonly endsSilence: boolean | undefined;
  /** Whether it connects again after that; undefined when that cannot be seen. */
  readonly comesBack: boolean | undefined;
}

/** One connection. What its server has not (any more) is an error, not sent elsewhere. */
interface Pinned {
  send(command: string, args: readonly Argument[]): Promise<unknown>;
  /**
   * Whether all that was sent since it was pinned went over one connection: clients repeat on a new one what had no
   * answer.
   */
  isSame(): boolean;
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
    from.callBuffer(command, ...wordsOf(args));
  return {
    isCluster,
    endsSilence: isBounded(client, isCluster ? ['options', 'redisOptions'] : ['options']),
    comesBack: true,
    send: (_key, command, args) => call(client, command, args),
    async pin(key) {
      const cluster = client as unknown as IoCluster;
      const owner = isCluster ? cluster.slots[slotOf(key)]?.[0] : undefined;
      const node = isCluster
        ? cluster.nodes('master').find(({ options }) => `${options.host}:${options.port}` === owner)
        : client;
      if (node === undefined) throw new Error('CLUSTERDOWN the slot has no known owner');
      return { send: (command, args) => call(node, command, args), isSame: sameSince(node) };
    },
  };
}

interface NodeCluster {
  readonly slots: readonly ({ readonly master: object } | undefined)[];
  nodeClient(node: object): Promise<NodeRedis>;
}

function ofNodeRedis(client: NodeRedis): Connection {
  const isCluster = 'masters' in client && 'nodeByAddress' in client;
  const isPool = !isCluster && 'totalClients' in client;
  const isSentinel = !isCluster && !isPool && 'acquire' in client;
  const call = (from: NodeRedis, ...args: unknown[]): Promise<unknown> =>
    from.sendCommand(...(args as never[]));
  const options = { returnBuffers: true, typeMapping: { [BLOB_STRING]: Buffer } };
  const isSingle = !isCluster && !isPool && !isSentinel;
  return {
    isCluster,
    // Where the others keep what they were given is their own affair.
    endsSilence: isSingle ? isBounded(client, ['options', 'socket']) : undefined,
    comesBack: isSingle ? hasStrategy(client) : undefined,
    send(key, command, args) {
      const words = [command, ...wordsOf(args)];
      if (isCluster) return call(client, key, false, words, options);
      return isSentinel ? call(client, false, words, options) : call(client, words, options);
    },
    // A pool and a sentinel send each command over whichever connection is free.
    pin:
      isPool || isSentinel
        ? null
        : async (key) => {
            const cluster = client as unknown as NodeCluster;
            const master = isCluster ? cluster.slots[slotOf(key)]?.master : undefined;
            if (isCluster && master === undefined) throw new Error('CLUSTERDOWN the slot has no known owner');
            const node = master === undefined ? client : await cluster.nodeClient(master);
            return {
              send: (command, args) => call(node, [command, ...wordsOf(args)], options),
              isSame: sameSince(node),
            };
          },
  };
}

/**
 * Whether a time for silent sockets stands in the options of a client; undefined when they are not where they should
 * be.
 */
function isBounded(client: object, path: readonly string[]): boolean | undefined {
  let at: unknown = client;
  for (const [depth, name] of path.entries()) {
    at = (at as Record<string, unknown>)[name];
    if (typeof at !== 'object' || at === null) return depth === 0 ? undefined : false;
  }
  return typeof (at as Record<string, unknown>)['socketTimeout'] === 'number';
}

/** node-redis by itself is closed for good after a silence: its own strategy does not connect again then. */
function hasStrategy(client: object): boolean | undefined {
  const { options } = client as { options?: { socket?: { reconnectStrategy?: unknown } } };
  if (options === undefined) return undefined;
  return ['function', 'number'].includes(typeof options.socket?.reconnectStrategy);
}

/** How often each client has connected since we look. */
const connects = new WeakMap<object, { count: number }>();

/** Whether a client still has the connection that it has now. */
function sameSince(client: object): () => boolean {
  let told = connects.get(client);
  if (told === undefined) {
    const counted = { count: 0 };
    told = counted;
    connects.set(client, counted);
    // Both tell of a new connection before anything is sent over it.
    (client as { on(event: 'connect', listener: () => void): unknown }).on('connect', () => {
      counted.count += 1;
    });
  }
  const { count } = told;
  return () => told.count === count;
}

/** Mostly all are text. */
function wordsOf(args: readonly Argument[]): readonly (string | Buffer)[] {
  if (args.every((arg) => typeof arg === 'string')) return args;
  return args.map((arg) =>
    typeof arg === 'string' ? arg : Buffer.from(arg.buffer, arg.byteOffset, arg.byteLength),
  );
}

/**
 * CRC16/XMODEM of the hash tag, modulo 16,384
 * (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/).
 */
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
