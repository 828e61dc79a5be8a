/** A client of pg that its server leaves at the very moment at which the pool lends it. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Pool } from 'pg';
import { expect, it } from 'vitest';
import { fromPg } from '../../src/tx/pg/index.ts';

/** A message of PostgreSQL's protocol. */
function message(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(5);
  head.write(type, 0, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const LET_IN = message('R', Buffer.from([0, 0, 0, 0]));
const READY = message('Z', Buffer.from('I'));
const GOING = message(
  'E',
  Buffer.from('SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0'),
);

// Found by the golden proof, seed 23. pg reads both words in one go, and whoever awaited the client hears of it after both.
it('an error in the same breath as the word that the connection is ready does not end the process', async () => {
  const server = createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([LET_IN, READY, GOING])));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const unheard: unknown[] = [];
  const hear = (error: unknown): void => void unheard.push(error);
  process.on('uncaughtException', hear);
  const pool = new Pool({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, ssl: false });
  pool.on('error', () => undefined);
  try {
    await expect(fromPg(pool).run(async () => undefined)).rejects.toThrow();
    expect(unheard).toEqual([]);
  } finally {
    process.off('uncaughtException', hear);
    await pool.end();
    server.close();
  }
});
