/** What postgres.js does by itself beside what it is asked; no database is needed to see it. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { claimRequest } from '../../../testing/src/contract/context.ts';

/** AuthenticationOk and ReadyForQuery: https://www.postgresql.org/docs/current/protocol-message-formats.html. */
const GREETING = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

/** A server that greets whoever comes, and answers nothing else. */
async function silentServer(): Promise<{ url: string; close(): void }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(GREETING));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://somebody@127.0.0.1:${port}/anything`,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe('postgres.js', () => {
  // F44: as a database does that is being promoted, or has no disk.
  it('a database that greets and then answers nothing is told of, and ends no process', async () => {
    const unheard: unknown[] = [];
    const hear = (error: unknown): void => void unheard.push(error);
    process.on('unhandledRejection', hear);
    const server = await silentServer();
    const store = postgresStore({
      service: 'test',
      statementTimeMaxMs: 100,
      connect: () => postgres(server.url, { max: 1, fetch_types: false }),
    });
    await expect(store.claim([claimRequest()])).rejects.toMatchObject({ transient: true });
    await store.close();
    // It closes behind timers of its own.
    for (let turns = 0; turns < 20; turns += 1) await pause(1);
    process.off('unhandledRejection', hear);
    server.close();
    expect(unheard).toEqual([]);
  });

  it('is refused where it asks for the types of arrays, which it fails at unheard', async () => {
    const store = postgresStore({
      service: 'test',
      connect: () => postgres('postgres://somebody@127.0.0.1:1/anything', { max: 1 }),
    });
    await expect(store.claim([claimRequest()])).rejects.toThrow(
      /connect: \(\) => postgres\(url, \{ max: 1, fetch_types: false \}\)/,
    );
    await expect(store.ready()).rejects.toThrow(/fetch_types/);
    await store.close();
  });
});
