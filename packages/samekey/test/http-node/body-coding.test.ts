/** Content codings are undone for the fingerprint, within the limit; the next reader sees the bytes as sent (F39). */
import type { Server } from 'node:http';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { answerOf, service, sized } from './bodies.ts';
import { ask, stop } from './wire.ts';

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

async function serving(...options: Parameters<typeof service>): Promise<Server> {
  const server = await service(...options);
  servers.push(server);
  return server;
}

describe('A content coding is undone for the fingerprint only', () => {
  const codings: [string, Uint8Array][] = [
    ['gzip', gzipSync('plain')],
    ['x-gzip', gzipSync('plain')],
    ['GZIP', gzipSync('plain')],
    ['deflate', deflateSync('plain')],
    ['deflate', deflateRawSync('plain')],
    ['br', brotliCompressSync('plain')],
    ['identity', Buffer.from('plain')],
    ['gzip, br', brotliCompressSync(gzipSync('plain'))],
  ];
  test.each(codings)('%s', async (coding, body) => {
    const server = await serving();
    const { raw, decoded } = answerOf(await ask(server, sized(body, `Content-Encoding: ${coding}`)));
    expect(decoded).toBe('plain');
    expect(Buffer.from(raw as string, 'latin1')).toEqual(Buffer.from(body));
  });

  test('zstd, where Node has it, else as bytes', async () => {
    const zlib = (await import('node:zlib')) as { zstdCompressSync?: (text: string) => Uint8Array };
    const body = zlib.zstdCompressSync?.('plain') ?? Buffer.from('plain');
    const server = await serving();
    expect(answerOf(await ask(server, sized(body, 'Content-Encoding: zstd')))['decoded']).toBe('plain');
  });

  test('one nobody knows is compared as bytes', async () => {
    const server = await serving();
    expect(answerOf(await ask(server, sized('x', 'Content-Encoding: rot13')))).toMatchObject({
      raw: 'x',
      decoded: 'x',
    });
  });

  test('a body that is not what it says is unreadable', async () => {
    const server = await serving();
    for (const body of ['no gzip', gzipSync('plain').subarray(0, 15)]) {
      expect(answerOf(await ask(server, sized(body, 'Content-Encoding: gzip')))).toMatchObject({
        kind: 'unreadable',
      });
    }
  });

  test('a body that grows past the limit is too large', async () => {
    const server = await serving();
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    expect(answerOf(await ask(server, sized(bomb, 'Content-Encoding: gzip')))).toMatchObject({
      kind: 'too-large',
    });
  });
});
