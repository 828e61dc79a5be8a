/** What only Express has around answers: wrappers of `res`, headers of outer middleware, files, helpers. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import type express from 'express';
import type { RequestHandler } from 'express';
import { describe, expect } from 'vitest';
import { assertProblem, assertReplay, header, json } from '../../../testing/src/adapter/expect.ts';
import { expressTests } from './express-app.ts';

const FILE = join(mkdtempSync(join(tmpdir(), 'samekey-express-')), 'report.csv');
writeFileSync(FILE, 'row;of;a;report\n'.repeat(200_000));

/** Describes them for one version of Express. */
export function expressAnswers(name: string, framework: typeof express): void {
  const test = expressTests(name, framework);

  describe(`answers of ${name} beyond the contract`, () => {
    // Outermost, it wraps replays too; innermost, its bytes are what is stored.
    for (const [place, order] of [
      ['around', 0],
      ['within', 1],
    ] as const) {
      test(
        `a compressing middleware ${place} Samekey gives every client the same`,
        (app, protect) => {
          const both = [zip, protect()];
          app.post(
            '/things',
            ...(order === 0 ? both : both.toReversed()),
            (_req, res) => void res.status(201).json({ a: 1 }),
          );
        },
        async (app) => {
          const first = await app.post('key-1');
          expect([header(first, 'content-encoding'), gunzipSync(first.body).toString()]).toEqual([
            'gzip',
            '{"a":1}',
          ]);
          assertReplay(first, await app.post('key-1'));
        },
      );
    }

    test(
      'headers of outer middleware are those of each request, also with a replay',
      (app, protect) => {
        let requests = 0;
        app.use((req, res, next) => {
          res.set({
            'X-Request-Id': `r-${(requests += 1)}`,
            'Access-Control-Allow-Origin': req.get('origin') ?? '',
          });
          next();
        });
        app.post('/things', protect(), (_req, res) => void res.status(201).end('made'));
      },
      async (app) => {
        for (const [i, origin] of ['https://a.example', 'https://b.example'].entries()) {
          const answer = await app.post('key-1', { headers: [['Origin', origin]] });
          expect(header(answer, 'x-request-id')).toBe(`r-${i + 1}`);
          expect(header(answer, 'access-control-allow-origin')).toBe(origin);
          expect(header(answer, 'idempotency-replayed')).toBe(i === 0 ? undefined : 'true');
        }
      },
    );

    // F39
    test(
      'a file too large to be kept is sent whole, once',
      (app, protect) => app.post('/things', protect(), (_req, res) => res.sendFile(FILE)),
      async (app) => {
        const first = await app.post('key-1');
        expect([first.status, first.isComplete]).toEqual([200, true]);
        expect(first.body.length).toBe(3_200_000);
        assertProblem(await app.post('key-1'), 410, 'response-not-stored');
      },
    );

    // F104
    for (const [way, breakOff] of Object.entries(BREAKS)) {
      for (const policy of ['standard', 'payments', 'stripe'] as const) {
        test(
          `a 201 that ${way} after its first bytes is completed under ${policy}, and never run again`,
          (app, protect) => {
            app.post('/things', protect({ policy }), (req, res, next) => {
              res.status(201).set('Location', '/things/1');
              breakOff(req, res, next);
            });
          },
          async (app) => {
            const first = await app.post('key-1').catch(() => null);
            expect(first === null || !first.isComplete || first.status === 410).toBe(true);
            expect((await app.saw('finished')).to).toBe('completed');
            const again = await app.post('key-1');
            assertProblem(again, 410, 'response-not-stored');
            expect(json(again)).toMatchObject({ originalStatus: 201 });
            expect(header(again, 'location')).toBe('/things/1');
          },
        );
      }
    }

    test(
      'a response that is destroyed before any answer was given is no proof that nothing happened',
      (app, protect) =>
        app.post('/things', protect({ policy: 'standard' }), (_req, res) => void res.destroy()),
      async (app) => {
        await app.post('key-1').catch(() => null);
        expect((await app.saw('finished')).to).toBe('unknown');
        assertProblem(await app.post('key-1'), 409, 'outcome-unknown');
      },
    );

    test(
      'redirects, cookies and generated ETags are Express’s own, and replayed',
      (app, protect) => {
        app.post('/go', protect(), (_req, res) => res.cookie('a', '1').redirect(303, '/things/1'));
        app.post('/things', protect(), (_req, res) => void res.send('made'));
      },
      async (app) => {
        const redirect = await app.post('key-1', { target: '/go' });
        expect([redirect.status, header(redirect, 'location'), header(redirect, 'set-cookie')]).toEqual([
          303,
          '/things/1',
          'a=1; Path=/',
        ]);
        expect(header(await app.post('key-1', { target: '/go' }), 'location')).toBe('/things/1');
        const first = await app.post('key-1');
        expect(header(first, 'etag')).toBeDefined();
        assertReplay(first, await app.post('key-1'));
      },
    );
  });
}

async function* broken(): AsyncGenerator<string> {
  yield 'abc';
  await new Promise((resolve) => void setImmediate(resolve));
  throw new Error('the source broke');
}

/** The ways a body breaks off on a response of Node. */
const BREAKS: Readonly<Record<string, RequestHandler>> = {
  'is destroyed': (_req, res) => {
    res.write('abc');
    setImmediate(() => res.destroy(new Error('no')));
  },
  'is destroyed before its first byte': (_req, res) => void setImmediate(() => res.destroy()),
  'breaks in a pipeline': (_req, res) => pipeline(Readable.from(broken()), res, () => undefined),
  'breaks in a pipe': (_req, res) => {
    const source = Readable.from(broken());
    source.on('error', () => res.destroy());
    source.pipe(res);
  },
  'is thrown at': (_req, res, next) => {
    res.write('abc');
    setImmediate(() => next(new Error('after the head')));
  },
};

/** As compression does it: told of the head by `writeHead`, it takes the body at `end`. */
const zip: RequestHandler = (_req, res, next) => {
  const own = { writeHead: res.writeHead.bind(res), end: res.end.bind(res) };
  res.writeHead = (status: number) => {
    res.set('Content-Encoding', 'gzip').removeHeader('Content-Length');
    return own.writeHead(status);
  };
  res.end = ((chunk?: string | Uint8Array) => {
    if (!res.headersSent) res.writeHead(res.statusCode);
    return own.end(gzipSync(chunk ?? ''));
  }) as typeof res.end;
  next();
};
