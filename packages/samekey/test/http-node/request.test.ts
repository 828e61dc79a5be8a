/** Header lines and targets as the client sent them. */
import type { IncomingMessage, Server } from 'node:http';
import express from 'express';
import { afterEach, expect, test } from 'vitest';
import { headerLines, requestTarget } from '../../src/http-node/node-request.ts';
import { ask, listen, parse, stop } from './wire.ts';

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

async function seen(request: string, look: (req: IncomingMessage) => unknown): Promise<unknown> {
  const server = await listen((req, res) => void res.end(JSON.stringify(look(req))));
  servers.push(server);
  return JSON.parse(parse(await ask(server, request)).body.toString());
}

test('Two lines of a field are two values, whatever their case, in order (F33)', async () => {
  const request =
    'POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nIdempotency-Key: a\r\nX: y\r\nidempotency-key: "b, c"\r\nIdempotency-Key:\r\n\r\n';
  expect(await seen(request, (req) => headerLines(req, 'Idempotency-KEY'))).toEqual(['a', '"b, c"', '']);
  expect(await seen(request, (req) => headerLines(req, 'missing'))).toEqual([]);
});

test.each([
  ['/a/b?x=1&y=%20', '/a/b', 'x=1&y=%20'],
  ['/a?', '/a', ''],
  ['/a?b?c', '/a', 'b?c'],
  ['//double/x', '//double/x', ''],
  ['http://example.com:80/p%2Fq?r', '/p%2Fq', 'r'],
  ['http://example.com', '/', ''],
  ['http://example.com?q', '/', 'q'],
  ['/redirect?to=http://x/', '/redirect', 'to=http://x/'],
])('The target %s has the path %s and the query %s', async (target, path, query) => {
  const request = `POST ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
  expect(await seen(request, requestTarget)).toEqual({ path, query });
});

test('The asterisk of OPTIONS is the path', async () => {
  const request = 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  expect(await seen(request, requestTarget)).toEqual({ path: '*', query: '' });
});

test('A mounted router does not shorten the target', async () => {
  const app = express();
  const router = express.Router();
  router.post('/b', (req, res) => void res.json(requestTarget(req)));
  app.use('/a', router);
  const server = await listen(app);
  servers.push(server);
  const answer = await ask(server, 'POST /a/b?c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(JSON.parse(parse(answer).body.toString())).toEqual({ path: '/a/b', query: 'c' });
});
