/**
 * What `ready()` looks at: that the client gives up dead connections and comes back, the version, that nothing is
 * evicted, that the append-only file is what the user declared, and that the records lie in as many shards as this
 * store thinks. Managed servers hide their settings; what cannot be seen is not refused.
 */

import { SchemaError } from '../../core/errors.ts';
import { textOf } from './fields.ts';
import type { Keys } from './key-names.ts';
import type { CheckedOptions } from './options.ts';
import type { Server } from './server.ts';

/** A ping keeps what is merely idle. */
const NODE_REDIS =
  'socket: { socketTimeout: 2_000, reconnectStrategy: (tries) => Math.min(tries * 50, 1_000) } and pingInterval: 500 (node-redis)';

/** Throws `SchemaError` with what to set. */
export async function checkServer(
  { connection, durability, shards, requireFsync }: CheckedOptions,
  server: Server,
  keys: Keys,
): Promise<void> {
  if (connection.endsSilence === false) {
    throw new SchemaError(
      'The client keeps a connection that went silent (a network that drops packets, a frozen server), and every key is answered 503 until ' +
        `the system gives it up, often after 15 minutes: make it with socketTimeout: 2_000 (ioredis; in redisOptions of a Cluster) or ${NODE_REDIS}.`,
    );
  }
  if (connection.comesBack === false) {
    throw new SchemaError(
      'node-redis connects no more once its socketTimeout has ended a connection, unless it is given a strategy, and every key would be ' +
        `answered 503 until the process is started again: make the client with ${NODE_REDIS}.`,
    );
  }
  const at = keys.meta;
  const send = async (command: string, args: readonly string[]): Promise<string> => {
    const reply = await connection.send(at, command, args);
    return Array.isArray(reply) ? reply.map(textOf).join(' ') : textOf(reply);
  };
  const info = infoOf(await server.ask('INFO', 'everything').then(([text]) => textOf(text)));
  const [major = 0, minor = 0] = (info.get('redis_version') ?? '').split('.').map(Number);
  if (major > 0 && (major < 6 || (major === 6 && minor < 2))) {
    throw new SchemaError(`Redis ${major}.${minor} is too old: use 6.2 or newer, or Valkey.`);
  }
  if (requireFsync && (major < 7 || (major === 7 && minor < 2))) {
    throw new SchemaError(
      `requireFsync needs WAITAOF, which Redis ${major}.${minor} does not know: use Redis 7.2 or newer or Valkey, or durability "always" without it.`,
    );
  }
  const policy = info.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    throw new SchemaError(
      `Redis would evict records to make room (maxmemory-policy ${policy}), and evicted keys run again: ` +
        'set it with CONFIG SET maxmemory-policy noeviction, and in redis.conf.',
    );
  }
  const isAppending = info.get('aof_enabled');
  if (durability !== 'none' && isAppending === '0') {
    throw new SchemaError(
      `Redis keeps no append-only file, and durability is declared as "${durability}": set appendonly yes, or declare "none".`,
    );
  }
  const fsync = await send('CONFIG', ['GET', 'appendfsync']).catch(() => '');
  const found = / (always|everysec|no)$/.exec(fsync.trim())?.[1];
  if (durability !== 'none' && found !== undefined && found !== durability && found !== 'always') {
    throw new SchemaError(
      `Redis has appendfsync ${found}, and durability is declared as "${durability}": set appendfsync ${durability}, or declare what it is.`,
    );
  }
  await server.ask('HSETNX', at, 'shards', String(shards));
  const [kept] = await server.ask('HGET', at, 'shards');
  if (textOf(kept) !== String(shards)) {
    throw new SchemaError(
      `The records under this prefix lie in ${textOf(kept)} shards, and the store was made with ${shards}: pass shards: ${textOf(kept)}, or another prefix.`,
    );
  }
}

function infoOf(text: string): ReadonlyMap<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}
