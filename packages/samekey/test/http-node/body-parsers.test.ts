/** Parsers before and after `readBody`; a body that somebody else has read is a loud `consumed` (F31). */
import type { IncomingMessage, Server } from 'node:http';
import { gzipSync } from 'node:zlib';
import express from 'express';
import { afterEach, describe, expect, test } from 'vitest';
import { type BodyRead, readBody, rememberRawBody } from '../../src/http-node/body.ts';
import { answerOf, head, JSON_TYPE, LIMIT, shownRead, sized } from './bodies.ts';
import { ask, listen, parse, stop, untyped } from './wire.ts';

const { default: express4 } = (await untyped('express4')) as { default: typeof express };
const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

const pass: express.RequestHandler = (_req, _res, next) => next();
const keep = (req: IncomingMessage, _res: unknown, bytes: Buffer): void =>
  void Object.assign(req, { rawBody: bytes });
const reader: express.RequestHandler = (req, res, next) => {
  void (async () => {
    res.locals['read'] = await readBody(req, LIMIT);
    next();
  })();
};

describe.each([
  ['Express 5', express],
  ['Express 4', express4],
])('Parsers of %s', (_name, framework) => {
  async function app(before: express.RequestHandler[], after: express.RequestHandler[]): Promise<Server> {
    const one = framework();
    one.use(...before, reader);
    for (const parser of after) one.use(parser);
    one.post(
      '/',
      (req, res) => void res.json({ ...shownRead(res.locals['read'] as BodyRead), body: req.body }),
    );
    const server = await listen(one);
    servers.push(server);
    return server;
  }

  test('parse JSON after readBody', async () => {
    const server = await app([pass], [framework.json()]);
    expect(answerOf(await ask(server, sized('{"a":1}', JSON_TYPE)))).toMatchObject({
      raw: '{"a":1}',
      body: { a: 1 },
    });
  });
  test('parse gzip-encoded JSON after readBody', async () => {
    const server = await app([pass], [framework.json()]);
    const request = sized(gzipSync('{"a":1}'), JSON_TYPE, 'Content-Encoding: gzip');
    expect(answerOf(await ask(server, request))).toMatchObject({ decoded: '{"a":1}', body: { a: 1 } });
  });
  test('parse forms after readBody', async () => {
    const server = await app([pass], [framework.urlencoded({ extended: false })]);
    const request = sized('a=1&b=2', 'Content-Type: application/x-www-form-urlencoded');
    expect(answerOf(await ask(server, request))).toMatchObject({ body: { a: '1', b: '2' } });
  });
  test('may run before, when they remember the bytes', async () => {
    const server = await app([framework.json({ verify: rememberRawBody })], []);
    expect(answerOf(await ask(server, sized('{"a": 1}', JSON_TYPE)))).toMatchObject({
      decoded: '{"a": 1}',
      body: { a: 1 },
    });
  });
  test('may run before, when they keep rawBody', async () => {
    const server = await app([framework.json({ verify: keep })], []);
    expect(answerOf(await ask(server, sized('{"a": 1}', JSON_TYPE)))).toMatchObject({ decoded: '{"a": 1}' });
  });
  test('that ran before and kept nothing are told apart from an empty body (F31)', async () => {
    const server = await app([framework.json()], []);
    expect(answerOf(await ask(server, sized('{"a":1}', JSON_TYPE)))).toMatchObject({ kind: 'consumed' });
    expect(answerOf(await ask(server, sized('', JSON_TYPE)))).toMatchObject({ kind: 'body', raw: '' });
  });
});

test.each([
  ['is being read', (req: IncomingMessage) => void req.on('data', () => {})],
  ['has an encoding set', (req: IncomingMessage) => void req.setEncoding('utf8')],
  ['was resumed', (req: IncomingMessage) => void req.resume()],
])('A stream that %s by somebody else is consumed (F31)', async (_name, disturb) => {
  const server = await listen((req, res) => {
    disturb(req);
    void readBody(req, LIMIT).then((result) => res.end(result.kind));
  });
  servers.push(server);
  expect(parse(await ask(server, sized('x'))).body.toString()).toBe('consumed');
});

test('A rawBody that is text is taken as UTF-8, and the limit holds for kept bytes too', async () => {
  const server = await listen((req, res) => {
    Object.assign(req, { rawBody: req.url === '/big' ? 'x'.repeat(11) : 'z\u00fc' });
    void readBody(req, { requestSizeMaxBytes: 10 }).then((result) =>
      res.end(JSON.stringify(shownRead(result))),
    );
  });
  servers.push(server);
  expect(answerOf(await ask(server, head()))).toMatchObject({ raw: 'z\u00c3\u00bc' });
  expect(answerOf(await ask(server, head().replace(' / ', ' /big ')))).toEqual({ kind: 'too-large' });
});
