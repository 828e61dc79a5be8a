/** A server of Redis or Valkey, opened for an operator with the driver that is installed: ioredis, else node-redis. */

import { createKeys } from 'samekey/internals/stores/redis/key-names';
import { redisStore } from 'samekey/stores/redis';
import { CliError, messageOf } from '../cli-error.ts';
import { driver } from './driver.ts';
import { CONNECT_TIME_MAX_MS, type OpenStore } from './opened.ts';
import type { RedisAddress } from './store-address.ts';

/** A connection that carries nothing for so long is given up, and made anew. */
const SILENCE_MAX_MS = 2_000;
const PING_MS = 500;

/** What is asked beside the store. */
interface Connected {
  readonly client: Parameters<typeof redisStore>[0]['client'];
  readonly ask: (command: string, ...args: readonly string[]) => Promise<unknown>;
  readonly close: () => void;
}

/** Connects by one driver; null where it is not installed. */
type Connect = (address: RedisAddress) => Promise<Connected | null>;

/**
 * Opens it with the first driver that is there. Throws `CliError` where there is none, the server cannot be asked, or
 * it has no records of the service.
 */
export async function openRedis(
  address: RedisAddress,
  drivers: readonly Connect[] = [byIoRedis, byNodeRedis],
): Promise<OpenStore> {
  let connected: Connected | null = null;
  for (const connect of drivers) connected ??= await connect(address);
  if (connected === null) {
    throw new CliError(
      'A redis:// address needs a driver that is not installed here: npm install --save-dev ioredis (5 or newer; or redis, 5 or newer).',
    );
  }
  return opened(address, connected);
}

async function opened(address: RedisAddress, connected: Connected): Promise<OpenStore> {
  try {
    const shards = await shardsOf(address, connected);
    const durability = await durabilityOf(address, connected);
    const store = redisStore({
      service: address.service,
      prefix: address.prefix,
      shards,
      client: connected.client,
      // What the server is set to, it says itself; the application declares what it needs.
      durability,
    });
    return {
      store,
      async now() {
        const [seconds, micros] = (await connected.ask('TIME')) as readonly unknown[];
        return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
      },
      async close() {
        await store.close();
        connected.close();
      },
    };
  } catch (error) {
    connected.close();
    throw error;
  }
}

/** As the server is set; who may not ask for the setting of the file is believed to have a usual one. */
async function durabilityOf(address: RedisAddress, { ask }: Connected): Promise<'everysec' | 'none'> {
  const told = await ask('INFO', 'persistence').catch((error: unknown) => {
    throw unasked(address, error);
  });
  if (/^aof_enabled:0/m.test(String(told))) return 'none';
  const fsync = await ask('CONFIG', 'GET', 'appendfsync').catch(() => '');
  return /\bno$/.test(String(fsync)) ? 'none' : 'everysec';
}

/** In how many parts the records lie: with another number they are looked for in the wrong place. */
async function shardsOf(address: RedisAddress, { ask }: Connected): Promise<number> {
  const { service, prefix, shards } = address;
  const { meta } = createKeys(`${prefix}/${service}`, 1);
  const said = await ask('HGET', meta, 'shards').catch((error: unknown) => {
    throw unasked(address, error);
  });
  const kept = Number(said ?? 0);
  if (kept === 0) {
    if (shards !== undefined) return shards;
    throw new CliError(
      `The Redis server ${address.shown} says nothing of a service ${JSON.stringify(service)} under the prefix ${JSON.stringify(prefix)}: ` +
        'check service and prefix of the address. If none of its processes has ever called ready(), add its number of shards: &shards=64.',
    );
  }
  if (shards !== undefined && kept !== shards)
    throw new CliError(`The records lie in ${kept} shards: leave shards out of the address.`);
  return kept;
}

async function byIoRedis(address: RedisAddress): Promise<Connected | null> {
  const module = await driver('ioredis', () => import('ioredis'));
  if (module === null) return null;
  const client = new module.Redis(address.url, {
    lazyConnect: true,
    connectTimeout: CONNECT_TIME_MAX_MS,
    socketTimeout: SILENCE_MAX_MS,
  });
  let fault: unknown;
  // The server may go at any time: the next question says so.
  client.on('error', (error: unknown) => {
    fault = error;
  });
  await client.connect().catch((error: unknown) => {
    client.disconnect();
    throw unasked(address, fault ?? error);
  });
  return {
    client,
    ask: (command, ...args) => client.call(command, ...args),
    close: () => client.disconnect(),
  };
}

/** With node-redis. */
export async function byNodeRedis(address: RedisAddress): Promise<Connected | null> {
  const module = await driver('redis', () => import('redis'));
  if (module === null) return null;
  let isOpen = false;
  const client = module.createClient({
    url: address.url,
    pingInterval: PING_MS,
    socket: {
      connectTimeout: CONNECT_TIME_MAX_MS,
      socketTimeout: SILENCE_MAX_MS,
      // The first connection is made or is not; one that is lost is made anew.
      reconnectStrategy: (tries, cause) => (isOpen ? Math.min(tries * 50, 1_000) : cause),
    },
  });
  client.on('error', () => undefined);
  await client.connect().catch((error: unknown) => {
    throw unasked(address, error);
  });
  isOpen = true;
  return {
    client,
    ask: (command, ...args) => client.sendCommand([command, ...args]),
    close: () => client.destroy(),
  };
}

function unasked({ shown }: RedisAddress, error: unknown): CliError {
  return new CliError(`The Redis server ${shown} cannot be asked: ${messageOf(error)}.`);
}
