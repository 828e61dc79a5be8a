/**
 * Servers that take a connection and then stand still, or hang up: as a database does that is being promoted, or has no
 * disk. No server is needed to see it. Whatever a client library does then, the store tells of it, and nothing fails
 * where nobody hears it: that would end the process.
 */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import * as mariadb from 'mariadb';
import * as mysql2 from 'mysql2/promise';
import { Client } from 'pg';
import postgres from 'postgres';
import { createClient } from 'redis';
import { describe, expect, it } from 'vitest';
import { createSamekey } from '../../src/samekey.ts';
import type { Store } from '../../src/store/store.ts';
import { mysqlStore } from '../../src/stores/mysql/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { claimRequest } from '../../../testing/src/contract/context.ts';

/** AuthenticationOk and ReadyForQuery: https://www.postgresql.org/docs/current/protocol-message-formats.html. */
const GREETS_POSTGRES = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

/** HandshakeV10: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_v10.html. */
function greetsMysql(): Buffer {
  const capabilities = 0x00_0f_a2_0d;
  const body = Buffer.concat([
    Buffer.from([10]),
    Buffer.from('8.0.0\0'),
    Buffer.from([1, 0, 0, 0]),
    Buffer.from('12345678\0'),
    Buffer.from([capabilities & 0xff, (capabilities >> 8) & 0xff, 45, 2, 0]),
    Buffer.from([(capabilities >> 16) & 0xff, (capabilities >> 24) & 0xff, 21]),
    Buffer.alloc(10),
    Buffer.from('123456789012\0'),
    Buffer.from('mysql_native_password\0'),
  ]);
  return Buffer.concat([Buffer.from([body.length, 0, 0, 0]), body]);
}

/** What a server says: at once, or to the first words of a client; and whether it hangs up then. */
interface Manners {
  readonly atOnce?: Buffer;
  readonly toFirst?: Buffer;
  readonly hangsUp: boolean;
}

async function serverOf({ atOnce, toFirst, hangsUp }: Manners): Promise<{ port: number; close(): void }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    if (atOnce !== undefined) socket.write(atOnce);
    socket.once('data', () => {
      if (toFirst !== undefined) socket.write(toFirst);
      if (hangsUp) socket.end();
    });
    if (hangsUp && atOnce === undefined && toFirst === undefined) socket.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

interface Case {
  readonly name: string;
  readonly greets: Pick<Manners, 'atOnce' | 'toFirst'>;
  readonly open: (port: number) => { readonly store: Store; readonly close: () => unknown };
}

const SOON = { service: 'test', statementTimeMaxMs: 100 } as const;
const address = (scheme: string, port: number): string => `${scheme}://somebody@127.0.0.1:${port}/anything`;

const CASES: readonly Case[] = [
  {
    name: 'pg',
    greets: { toFirst: GREETS_POSTGRES },
    open(port) {
      const store = postgresStore({
        ...SOON,
        connect: () => new Client({ connectionString: address('postgres', port), ssl: false }),
      });
      return { store, close: () => store.close() };
    },
  },
  {
    name: 'postgres.js',
    greets: { toFirst: GREETS_POSTGRES },
    open(port) {
      const store = postgresStore({
        ...SOON,
        connect: () => postgres(address('postgres', port), { max: 1, fetch_types: false, backoff: false }),
      });
      return { store, close: () => store.close() };
    },
  },
  {
    name: 'mysql2',
    greets: { atOnce: greetsMysql() },
    open(port) {
      const connect = () => mysql2.createConnection({ uri: address('mysql', port), connectTimeout: 500 });
      const store = mysqlStore({ ...SOON, connect });
      return { store, close: () => store.close() };
    },
  },
  {
    name: 'mariadb',
    greets: { atOnce: greetsMysql() },
    open(port) {
      const connect = () =>
        mariadb.createConnection({ host: '127.0.0.1', port, user: 'somebody', connectTimeout: 500 });
      const store = mysqlStore({ ...SOON, connect });
      return { store, close: () => store.close() };
    },
  },
  {
    name: 'ioredis',
    greets: {},
    open(port) {
      const client = new Redis(port, '127.0.0.1', { retryStrategy: () => 20 });
      client.on('error', () => undefined);
      const store = redisStore({ service: 'test', client, durability: 'none' });
      return { store, close: () => client.disconnect() };
    },
  },
  {
    name: 'node-redis',
    greets: {},
    open(port) {
      const client = createClient({ url: `redis://127.0.0.1:${port}`, socket: { reconnectStrategy: 20 } });
      client.on('error', () => undefined);
      void client.connect().catch(() => undefined);
      const store = redisStore({ service: 'test', client, durability: 'none' });
      return { store, close: () => client.destroy() };
    },
  },
];

const MANNERS: readonly (readonly [string, (greets: Case['greets']) => Manners])[] = [
  ['takes the connection and says nothing', () => ({ hangsUp: false })],
  ['greets and then says nothing', (greets) => ({ ...greets, hangsUp: false })],
  ['hangs up at once', () => ({ hangsUp: true })],
  ['greets and hangs up', (greets) => ({ ...greets, hangsUp: true })],
];

function neverRuns(): never {
  expect.fail('it ran without a claim');
}

// At once: most of it is waiting, and whoever fails unheard fails all.
describe.concurrent.each(CASES)('with $name', ({ greets, open }) => {
  // F44
  it.each(MANNERS)('a server that %s is told of, and ends no process', async (_, mannersOf) => {
    const unheard: unknown[] = [];
    const hear = (error: unknown): void => void unheard.push(error);
    process.on('unhandledRejection', hear);
    process.on('uncaughtException', hear);
    const server = await serverOf(mannersOf(greets));
    const { store, close } = open(server.port);
    const samekey = createSamekey({
      store,
      policy: 'payments',
      storeTimeMaxMs: 300,
      onEvent: () => undefined,
    });
    const outcome = await samekey.run(
      { operation: 'pay', scope: ['t'], key: 'k', fingerprint: null },
      neverRuns,
    );
    expect(outcome).toMatchObject({ kind: 'unavailable', because: 'store' });
    await samekey.close({ drainMs: 0 });
    await close();
    server.close();
    // Drivers give up behind timers of their own, of half a second at most here.
    for (let turns = 0; turns < 30; turns += 1) await pause(30);
    process.off('unhandledRejection', hear);
    process.off('uncaughtException', hear);
    expect(unheard).toEqual([]);
  });
});

// What it fails at unheard is its question for the types of arrays, when its connection is closed before the answer.
it('postgres.js that asks for types is refused, with what mends it', async () => {
  const store = postgresStore({
    service: 'test',
    connect: () => postgres(address('postgres', 1), { max: 1 }),
  });
  await expect(store.claim([claimRequest()])).rejects.toThrow(
    /connect: \(\) => postgres\(url, \{ max: 1, fetch_types: false \}\)/,
  );
  await expect(store.ready()).rejects.toThrow(/fetch_types/);
  await store.close();
});
