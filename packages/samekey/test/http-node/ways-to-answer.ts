/** The ways a handler can answer over node:http; each is run with and without a capture (F2, F38–F40). */
import { Buffer } from 'node:buffer';
import { createReadStream, mkdtempSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';

const directory = mkdtempSync(join(tmpdir(), 'samekey-http-node-'));
export const FILE: string = join(directory, 'report.csv');
writeFileSync(FILE, `${'row;of;a;report\n'.repeat(20_000)}end\n`);
const NASTY = Buffer.from([0x00, 0xff, 0xfe, 0x80, 0x01]);
const BIG = Buffer.alloc(2 * 1_048_576, 'samekey ');

type Way = (res: ServerResponse, req: IncomingMessage) => unknown;
/** Node takes pairs, its types do not say so. */
const pairs = (...list: [string, string][]): string[] => list as unknown as string[];

export const WAYS: Record<string, Way> = {
  'end without a body': (res) => res.end(),
  'end with a string': (res) => res.end('{"id":1}'),
  'end with text outside ASCII': (res) => res.end('Zürich – 東京'),
  'end with a string in hex': (res) => res.end('00fffe8001', 'hex'),
  'end with a string in latin1': (res) => res.end('caf\u00e9', 'latin1'),
  'end with a callback only': (res) => res.end(() => {}),
  'end with body and callback': (res) => res.end('x', () => {}),
  'end with body, encoding and callback': (res) => res.end('eA==', 'base64', () => {}),
  'end with an empty string': (res) => res.end(''),
  'end with an empty buffer': (res) => res.end(Buffer.alloc(0)),
  'end with a Uint8Array': (res) => res.end(new Uint8Array(NASTY)),
  'end twice': (res) => {
    res.end('once');
    res.end();
  },
  'bytes that are no text': (res) => res.setHeader('Content-Type', 'application/octet-stream').end(NASTY),
  'a body with NUL': (res) => res.end('a\0b'),
  'a gzip-encoded body': (res) => res.setHeader('Content-Encoding', 'gzip').end(gzipSync('zipped')),
  'false as JSON': (res) => res.setHeader('Content-Type', 'application/json').end('false'),
  'null as JSON': (res) => res.setHeader('Content-Type', 'application/json').end('null'),
  'an empty JSON string': (res) => res.setHeader('Content-Type', 'application/json').end('""'),
  'several writes': (res) => {
    res.write('one,');
    res.write(Buffer.from('two,'));
    res.write('74687265652c', 'hex', () => {});
    res.end('four');
  },
  'several writes with a declared length': (res) => {
    res.setHeader('Content-Length', 6);
    res.write('abc');
    res.end('def');
  },
  'an empty write, then end': (res) => {
    res.write('');
    res.end();
  },
  'writes in later turns': (res) => {
    res.write('a');
    setImmediate(() => {
      res.write('b');
      setImmediate(() => res.end('c'));
    });
  },
  'awaited write callbacks': async (res) => {
    await new Promise<void>((resolve) => void res.write('a', () => resolve()));
    res.end('b');
  },
  'writeHead and end': (res) => res.writeHead(201, { 'X-One': '1' }).end('made'),
  'writeHead with a reason': (res) => res.writeHead(202, 'Taken', { 'X-One': '1' }).end(),
  'writeHead with an empty reason': (res) => res.writeHead(200, '').end('x'),
  'a status message property': (res) => {
    res.statusCode = 299;
    res.statusMessage = 'Fine by me';
    res.end('x');
  },
  'writeHead with a flat list and repeats': (res) =>
    res.writeHead(200, ['X-A', '1', 'Link', '<a>', 'X-B', '2', 'Link', '<b>']).end('x'),
  'writeHead with a flat list after setHeader': (res) => {
    res.setHeader('Link', '<0>');
    res.writeHead(200, ['X-A', '1', 'Link', '<a>', 'X-B', '2', 'Link', '<b>']).end('x');
  },
  'writeHead with pairs': (res) => res.writeHead(200, pairs(['X-A', '1'], ['X-A', '2'])).end('x'),
  'writeHead with an object after setHeader': (res) => {
    res.setHeader('X-A', 'a');
    res.setHeader('X-B', 'b');
    res.writeHead(200, { 'x-a': 'other', 'Set-Cookie': ['p=1', 'q=2'] }).end('x');
  },
  'writeHead with number values': (res) => res.writeHead(200, { 'Content-Length': 2, 'X-N': 7 }).end('ab'),
  'repeated Link and Set-Cookie': (res) => {
    res.setHeader('Set-Cookie', ['a=1; Path=/', 'b=2']);
    res.appendHeader('Link', '</x>; rel=next');
    res.appendHeader('Link', '</y>; rel=prev');
    res.end('x');
  },
  'setHeaders with a Headers object': (res) => {
    res.setHeaders(new Headers({ 'x-a': '1', 'set-cookie': 'c=3' })).end('x');
  },
  'a removed Date and a removed header': (res) => {
    res.setHeader('X-Gone', '1');
    res.removeHeader('X-Gone');
    res.removeHeader('Date');
    res.end('x');
  },
  'Content-Disposition with a comma': (res) =>
    res.setHeader('Content-Disposition', 'attachment; filename="a, b.csv"').end('x'),
  'a header outside ASCII': (res) => res.setHeader('X-Name', 'caf\u00e9').end('text'),
  // Found by the fuzz (seeds 29, 38, 59, 113, 136, 146 of node): Node encodes a head by what it leaves with.
  'a flushed head outside ASCII': (res) => {
    res.setHeader('X-Name', 'caf\u00e9').flushHeaders();
    res.end(NASTY);
  },
  'a flushed 204 with a header outside ASCII': (res) => {
    res.statusCode = 204;
    res.setHeader('X-Name', 'caf\u00e9').flushHeaders();
    res.end();
  },
  'an event stream with a header outside ASCII': (res) => {
    res.setHeader('Content-Type', 'text/event-stream').setHeader('X-Name', 'caf\u00e9');
    res.write('data: 1\n\n');
    res.end();
  },
  'a flushed event stream with a header outside ASCII': (res) => {
    res.setHeader('Content-Type', 'text/event-stream').setHeader('X-Name', 'caf\u00e9').flushHeaders();
    res.end('data: 1\n\n');
  },
  'an empty text first, with a header outside ASCII': (res) => {
    res.setHeader('X-Name', 'caf\u00e9').write('');
    res.end(NASTY);
  },
  'a large body in pieces, with a header outside ASCII': (res) => {
    res.setHeader('X-Name', 'caf\u00e9').write(BIG);
    res.end(NASTY);
  },
  'a disposition outside ASCII, with bytes': (res) =>
    res.setHeader('Content-Disposition', 'attachment; filename="na\u00efve.txt"').end(NASTY),
  'a disposition outside ASCII, in chunks': (res) => {
    res.writeHead(200, { 'Content-Disposition': 'attachment; filename="na\u00efve.txt"' });
    res.end('x');
  },
  'a 303 with Location': (res) => res.writeHead(303, { Location: '/orders/1' }).end(),
  'a 204': (res) => res.writeHead(204).end(),
  'a 204 with a body that is dropped': (res) => {
    res.statusCode = 204;
    res.write('no');
    res.end('body');
  },
  'a 205': (res) => res.writeHead(205).end(),
  'a 304': (res) => {
    res.statusCode = 304;
    res.setHeader('ETag', '"v1"');
    res.end('dropped');
  },
  'an empty 202': (res) => {
    res.statusCode = 202;
    res.end();
  },
  trailers: (res) => {
    res.writeHead(200, { Trailer: 'Content-MD5' });
    res.write('body');
    res.addTrailers({ 'Content-MD5': 'x', 'X-Two': ['1', '2'] as unknown as string });
    res.end();
  },
  'trailers as pairs, with an implicit head': (res) => {
    res.setHeader('Trailer', 'X-T');
    res.addTrailers([['X-T', '1']]);
    res.end('body');
  },
  'trailers that cannot be sent': (res) => {
    res.addTrailers({ 'X-T': '1' });
    res.end('body');
  },
  'trailers where chunks are forbidden': (res) => {
    res.removeHeader('Transfer-Encoding');
    res.writeHead(200);
    res.addTrailers({ 'X-T': '1' });
    res.end('body');
  },
  'trailers where a length is forbidden': (res) => {
    res.removeHeader('Content-Length');
    res.addTrailers({ 'X-T': '1' });
    res.end('body');
  },
  'trailers in chunks, beside a length': (res) => {
    res.setHeader('Transfer-Encoding', 'chunked');
    res.setHeader('Content-Length', '4');
    res.addTrailers({ 'X-T': '1' });
    res.end('body');
  },
  'a name in two spellings, after a header that was taken away': (res) => {
    res.setHeader('X-Two', '1');
    res.removeHeader('X-Two');
    res.writeHead(200, { 'X-One': '1', 'x-one': '2' });
    res.end('body');
  },
  'explicit chunked coding': (res) => res.setHeader('Transfer-Encoding', 'chunked').end('body'),
  'Connection: close': (res) => res.setHeader('Connection', 'close').end('bye'),
  'a piped file': (res) => createReadStream(FILE).pipe(res),
  'a file through pipeline': (res) => pipeline(createReadStream(FILE), res),
  'an async generator through pipeline': (res) =>
    pipeline(async function* rows() {
      for (const row of ['a\n', 'b\n', 'c\n']) yield await Promise.resolve(row);
    }, res),
  'an async iterator with drain': async (res) => {
    for await (const chunk of Readable.from([Buffer.from('1'), Buffer.from('2')])) {
      if (!res.write(chunk)) await new Promise((resolve) => void res.once('drain', resolve));
    }
    res.end();
  },
  'a body of 2 MiB at once': (res) => res.end(BIG),
  'a body of 2 MiB with a declared length, piped': (res) => {
    res.setHeader('Content-Length', BIG.length);
    Readable.from([BIG.subarray(0, 700_000), BIG.subarray(700_000, 1_500_000), BIG.subarray(1_500_000)]).pipe(
      res,
    );
  },
  'a body of 2 MiB in chunks': (res) => {
    for (let at = 0; at < BIG.length; at += 65_536) res.write(BIG.subarray(at, at + 65_536));
    res.end();
  },
  'an event stream that ends': (res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream' });
    res.write('data: 1\n\n');
    res.end('data: 2\n\n');
  },
  'an explicit flush of the head': (res) => {
    res.setHeader('X-A', '1');
    res.flushHeaders();
    res.write('a');
    res.end('b');
  },
  'a flush of a head that has no body': (res) => {
    res.statusCode = 204;
    res.flushHeaders();
    res.end();
  },
  'cork and uncork': (res) => {
    res.cork();
    res.write('a');
    res.write('b');
    res.uncork();
    res.end('c');
  },
  'interim answers first': (res) => {
    res.writeProcessing();
    res.writeEarlyHints({ link: '</style.css>; rel=preload' });
    res.end('final');
  },
};
