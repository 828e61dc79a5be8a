/** What only Express has around answers: wrappers of `res`, headers of outer middleware, files, helpers. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type express from 'express';
import type { RequestHandler } from 'express';
import { describe, expect } from 'vitest';
import { assertProblem, assertReplay, header } from '../../src/testing/adapter/expect.ts';
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
