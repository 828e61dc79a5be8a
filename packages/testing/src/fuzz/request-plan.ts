/**
 * Requests as bytes, drawn from a seed: what clients, proxies and attackers send, and what nobody should.
 *
 * Sources: RFC 9110 §5 (fields), RFC 9112 §2 to §7 (grammar, obs-fold, framing, chunks).
 */

import { gzipSync } from 'node:zlib';
import { createRandom, type Random } from '../random.ts';

/** The requests of one connection. */
export interface RequestPlan {
  readonly bytes: Buffer;
  /** As many as there are: those by which handlers know each request. */
  readonly ids: readonly string[];
  /** Those of requests with a line for a key; a PUT or DELETE without one may pass (contract §8.1). */
  readonly keyed: readonly string[];
}

const TARGETS = [
  '',
  '?x=1',
  '?x=%zz&x=%00',
  '?a[]=1&a[]=2',
  '#f',
  '/',
  '//',
  '/..',
  '%00',
  ';v=1',
  '?\u00e9',
] as const;

const TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=b',
  'multipart/form-data',
  'text/plain',
  'nonsense',
  '',
  'application/json;;;',
] as const;

const BODIES = [
  '',
  '{"amount":1}',
  '{"amount":1',
  '{"a":1,"a":2}',
  'null',
  '[[[[[[[[[[]]]]]]]]]]',
  '"\\ud800"',
  '1e400',
  'a=1&b=%zz&a=2',
  '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n',
  '--b\r\nbroken',
  '\u00ff\u00fe{"a":1}',
  '\u0000\u0001',
] as const;

const ODD_LINES = [
  'X-Folded: a\r\n b',
  'X-Space : a',
  ': a',
  'NoColon',
  'X-Null: a\u0000b',
  'X-Latin: caf\u00e9',
  'Expect: 100-continue',
  'Expect: nonsense',
  'Upgrade: h2c\r\nConnection: Upgrade',
  'Connection: keep-alive, close',
  'X-Long: ' + 'x'.repeat(20_000),
  'Content-Type: text/plain',
  'Host: other.test',
  'Trailer: Idempotency-Key',
  'X-HTTP-Method-Override: GET',
] as const;

const keyLines = (key: string): readonly string[] => [
  `Idempotency-Key: ${key}`,
  `Idempotency-Key: "${key}"`,
  `idempotency-key:"${key}";a=1`,
  `Idempotency-Key: ${key}\r\nIdempotency-Key: ${key}`,
  `Idempotency-Key: ${key}\r\nidempotency-key: other-${key}`,
  `Idempotency-Key: ${key}, ${key}`,
  'Idempotency-Key:',
  'Idempotency-Key: ""',
  `Idempotency-Key: ${key}\r\n folded`,
  `Idempotency-Key: \u00e9${key}`,
  `Idempotency-Key: ${key}\t`,
  `Idempotency-Key: ${'k'.repeat(300)}`,
  `Idempotency-Key : ${key}`,
  'X-None: 1',
];

/** Draws the requests of a seed. `paths` are those of the routes. */
export function requestsOf(seed: number, paths: readonly string[], name: string): RequestPlan {
  const random = createRandom(seed + 2 ** 34);
  const count = random.weighted({ one: 4, two: 1 }) === 'one' ? 1 : 2;
  const ids = Array.from({ length: count }, (_, i) => `${name}-${i}`);
  const isOneKey = random.chance(0.5);
  const bytes = ids.map((id) => requestOf(random, paths, id, isOneKey ? name : id));
  const keyed = ids.filter((_id, i) => /^idempotency-key ?:/im.test(String(bytes[i])));
  return { bytes: Buffer.concat(bytes), ids, keyed };
}

function requestOf(random: Random, paths: readonly string[], id: string, key: string): Buffer {
  const method = random.chance(0.8)
    ? random.pick(['POST', 'POST', 'PATCH', 'PUT', 'DELETE'])
    : random.pick(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'post', 'PURGE', 'FOO', 'M-SEARCH', 'QUERY']);
  const path = random.pick(paths) + (random.chance(0.75) ? '' : random.pick(TARGETS));
  const target = random.weighted({ origin: 12, absolute: 1, star: 1, other: 1 });
  const where = { origin: path, absolute: `http://samekey.test${path}`, star: '*', other: 'nonsense' }[
    target
  ];
  const version = random.weighted({ '1.1': 20, '1.0': 2, '2.0': 1, '1.2': 1 });
  const lines = [`${method} ${where} HTTP/${version}`];
  if (!random.chance(0.03)) lines.push('Host: samekey.test');
  lines.push(`x-plan: ${id}`);
  lines.push(random.chance(0.6) ? `Idempotency-Key: key-${key}` : random.pick(keyLines(`key-${key}`)));
  if (random.chance(0.9)) lines.push(`Content-Type: ${random.chance(0.6) ? TYPES[0] : random.pick(TYPES)}`);
  if (random.chance(0.2)) lines.push(random.pick(ODD_LINES));
  if (random.chance(0.5)) lines.push('Connection: close');
  const body = codedBody(random, lines);
  return Buffer.concat([...framed(random, lines, body)]);
}

function codedBody(random: Random, lines: string[]): Buffer {
  const plain = Buffer.from(random.chance(0.6) ? BODIES[1] : random.pick(BODIES), 'latin1');
  if (!random.chance(0.15)) return plain;
  const coding = random.pick(['gzip', 'deflate', 'br', 'identity', 'x-unknown', 'gzip, gzip, gzip', '']);
  lines.push(`Content-Encoding: ${coding}`);
  return random.chance(0.4) ? gzipSync(plain) : plain;
}

const LENGTHS = ['-1', '+5', '0x5', '5, 5', '99999999999999999999', '1e3', '', 'abc', '0'] as const;

/** Head and body, framed rightly for the most part. */
function* framed(random: Random, lines: string[], body: Buffer): Generator<Buffer> {
  const how = random.weighted({ length: 12, chunked: 4, both: 1, wrong: 1, odd: 1, twice: 1, none: 1 });
  const length = `Content-Length: ${body.length}`;
  if (how === 'length') lines.push(length);
  if (how === 'both') lines.push(length, 'Transfer-Encoding: chunked');
  if (how === 'chunked')
    lines.push(
      `Transfer-Encoding: ${random.pick(['chunked', 'chunked', 'Chunked', 'gzip, chunked', 'chunked, gzip'])}`,
    );
  if (how === 'wrong') lines.push(`Content-Length: ${Math.max(0, body.length + random.between(-2, 2))}`);
  if (how === 'odd') lines.push(`Content-Length: ${random.pick(LENGTHS)}`);
  if (how === 'twice')
    lines.push(length, `Content-Length: ${random.chance(0.5) ? body.length : body.length + 1}`);
  yield Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  if (how === 'chunked' || how === 'both') yield* chunks(random, body);
  else yield body;
}

function* chunks(random: Random, body: Buffer): Generator<Buffer> {
  const size = random.chance(0.5) ? Math.max(1, body.length) : random.between(1, 5);
  for (let at = 0; at < body.length; at += size) {
    const piece = body.subarray(at, at + size);
    const says = random.chance(0.03) ? random.pick(['-1', 'zz', 'fffffffff', '']) : piece.length.toString(16);
    yield Buffer.from(`${says}${random.chance(0.1) ? ';x=y' : ''}\r\n`);
    yield piece;
    yield Buffer.from(random.chance(0.03) ? '' : '\r\n');
  }
  yield Buffer.from(random.chance(0.05) ? '' : random.chance(0.1) ? '0\r\nX-Sum: 1\r\n\r\n' : '0\r\n\r\n');
}
