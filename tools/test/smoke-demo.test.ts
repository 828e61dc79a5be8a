import { describe, expect, it } from 'vitest';
import { smokeDemo } from '../smoke-demo.mjs';
import { lines, tree } from './fixture.ts';

/** A demo as small as can be, with one thing wrong with it. */
const demo = (fault: 'none' | 'charges-twice' | 'forgets' | 'ignores-ctrl-c' | 'guesses') => `
  import { existsSync, readFileSync, writeFileSync } from 'node:fs';
  import { createServer } from 'node:http';
  import { join } from 'node:path';
  const file = join(process.env.SAMEKEY_DEMO_DIR, 'answers.json');
  const kept = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const unclear = new Set();
  let charges = 0;
  const server = createServer(async (request, response) => {
    if (request.url === '/ledger') {
      response.end(JSON.stringify({ intents: 2, charges, oneChargePerIntent: charges === 2 }));
      return;
    }
    let body = '';
    for await (const chunk of request) body += chunk;
    const key = request.headers['idempotency-key'];
    const replayed = key in kept && '${fault}' !== 'charges-twice';
    if (!replayed && !unclear.has(key)) charges += 1;
    if (body.includes('loses-reply') && !unclear.has(key) && '${fault}' !== 'guesses') {
      unclear.add(key);
      response.writeHead(409).end();
      return;
    }
    if (!replayed) kept[key] = 'payment ' + Math.random();
    if ('${fault}' !== 'forgets') writeFileSync(file, JSON.stringify(kept));
    response.writeHead(201, replayed ? { 'Idempotency-Replayed': 'true' } : {}).end(kept[key]);
  });
  server.listen(Number(process.env.SAMEKEY_DEMO_PORT), '127.0.0.1', () => {
    console.log('open http://localhost:' + server.address().port + '/');
  });
  process.on('SIGINT', () => {
    if ('${fault}' === 'ignores-ctrl-c') process.exit(7);
    server.close();
    server.closeAllConnections();
  });
`;

async function walk(program: string): Promise<string[]> {
  const root = tree({ 'demo.mjs': program });
  const command = [process.execPath, 'demo.mjs'];
  return lines(await smokeDemo(root, { npm: command, node: command }));
}

describe('smoke-demo', () => {
  it('a demo that keeps its promise passes', async () => {
    expect(await walk(demo('none'))).toEqual([]);
  });

  it('a demo that charges twice fails', async () => {
    expect(await walk(demo('charges-twice'))).toContainEqual(
      expect.stringContaining('the retry: another body'),
    );
  });

  it('a demo whose ledger has another number of charges fails', async () => {
    expect(await walk(demo('charges-twice'))).toContainEqual(
      expect.stringContaining('the ledger: not two intents with one charge each'),
    );
  });

  it('a demo that answers as if it knew what its provider has done fails', async () => {
    expect(await walk(demo('guesses'))).toContainEqual(
      expect.stringContaining('a lost reply: status 201, not 409'),
    );
  });

  it('a demo that forgets when it stops fails', async () => {
    expect(await walk(demo('forgets'))).toContainEqual(
      expect.stringContaining('the retry after another start: Idempotency-Replayed is null'),
    );
  });

  it('a demo that does not end cleanly on Ctrl-C fails', async () => {
    expect(await walk(demo('ignores-ctrl-c'))).toContainEqual(
      expect.stringContaining('ended with 7 on SIGINT'),
    );
  });

  it('a demo that prints no address fails', async () => {
    expect(await walk('console.log("hello")')).toEqual([
      expect.stringContaining('printed no http://localhost'),
    ]);
  });
});
