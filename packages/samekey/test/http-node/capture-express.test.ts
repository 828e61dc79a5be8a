/** Every way of Express 4 and 5 to answer looks the same with and without a capture (F2, F38–F40). */
import type { Server } from 'node:http';
import express, { type RequestHandler } from 'express';
import { afterEach, describe, expect, test } from 'vitest';
import { captureResponse, type CaptureEnd } from '../../src/http-node/capture.ts';
import { ask, listen, options, parse, requestBytes, shown, shownBody, stop, untyped } from './wire.ts';
import { FILE } from './ways-to-answer.ts';

const { default: express4 } = (await untyped('express4')) as { default: typeof express };
const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

/** Fields the handler has set, not Node. */
const own = ([field]: readonly [string, string]): boolean =>
  !/^(connection|transfer-encoding|content-length)$/i.test(field);

const HANDLERS: Record<string, RequestHandler> = {
  'res.json of an object': (_req, res) => void res.status(201).json({ id: 1, name: 'Zürich' }),
  'res.json of false': (_req, res) => void res.json(false),
  'res.json of null': (_req, res) => void res.json(null),
  'res.json of an empty string': (_req, res) => void res.json(''),
  'res.send of text': (_req, res) => void res.send('<p>hello</p>'),
  'res.send of bytes': (_req, res) => void res.send(Buffer.from([0x00, 0xff, 0xfe, 0x80, 0x01])),
  'res.send of nothing': (_req, res) => void res.status(202).send(),
  'res.sendStatus(204)': (_req, res) => void res.sendStatus(204),
  'res.status(205).send': (_req, res) => void res.status(205).send('dropped'),
  'res.status(304).send': (_req, res) => void res.status(304).send('dropped'),
  'res.redirect': (_req, res) => res.redirect(303, '/orders/1'),
  'res.sendFile': (_req, res) => res.sendFile(FILE),
  'res.download': (_req, res) => res.download(FILE, 'a, b – naïve.csv'),
  'res.attachment outside ASCII': (_req, res) => void res.attachment('naïve.txt').send('text'),
  'res.cookie and res.links': (_req, res) => {
    res.cookie('a', '1').cookie('b', '2').links({ next: '/n', last: '/l' });
    res.append('Link', '</x>; rel=x').json([]);
  },
  'res.jsonp': (_req, res) => void res.jsonp({ a: 1 }),
  'res.format': (_req, res) =>
    void res.format({ text: () => void res.send('t'), json: () => void res.json({}) }),
  'next(err)': (_req, _res, next) => next(Object.assign(new Error('refused'), { status: 422, expose: true })),
  'a throw': () => {
    throw Object.assign(new Error('broken'), { status: 500 });
  },
  'next without a handler': (_req, _res, next) => next(),
  'a mounted application': (req, res, next) => {
    const sub = express();
    sub.use((_req, one) => void one.status(200).json({ sub: true }));
    sub(req, res, next);
  },
};

describe.each([
  ['Express 5', express],
  ['Express 4', express4],
])('An answer of %s, captured and released, is byte for byte the handler\u2019s', (_name, framework) => {
  test.each(Object.keys(HANDLERS))('%s', async (name) => {
    const ends: CaptureEnd[] = [];
    const build = async (captures: boolean): Promise<Server> => {
      const app = framework();
      app.set('env', 'test');
      app.use((_req, res, next) => {
        if (captures) {
          const capture = captureResponse(res, options());
          void capture.ended.then((end) => {
            ends.push(end);
            capture.release();
          });
        }
        next();
      });
      app.post('/', HANDLERS[name]!);
      const server = await listen(app);
      servers.push(server);
      return server;
    };
    const expected = parse(await ask(await build(false), requestBytes()));
    expect(shown(parse(await ask(await build(true), requestBytes())))).toEqual(shown(expected));
    const [end] = ends;
    if (end?.kind !== 'answer' || end.body === null) throw new Error('no answer');
    expect(shownBody(end.body)).toBe(shownBody(expected.body));
    expect(end.headers.filter(own)).toEqual(expected.headers.filter(own));
  });
});
