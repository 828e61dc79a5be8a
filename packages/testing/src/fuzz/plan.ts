/**
 * Descriptions of answers, drawn from a seed. One is played by a server without Samekey and by one with it, so that both
 * have been told the same thing in the same words.
 *
 * Invariants: a plan is data and follows from its seed alone · what it asks for may be wrong (a length that lies, a name
 * that no server sends): a framework's refusal is part of what must be equal.
 */

import type { HeaderLine } from 'samekey/internals/core/response';
import { createRandom, type Random } from '../random.ts';

/** A piece of a body as an application passes it. */
export interface Piece {
  readonly bytes: Uint8Array;
  /** How it is passed: as bytes, or as a text of this encoding. */
  readonly as: 'bytes' | BufferEncoding;
}

/** One call on a `ServerResponse`, or what stands between two. */
export type Step =
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'set'; readonly name: string; readonly value: string | number | readonly string[] }
  | { readonly kind: 'append'; readonly name: string; readonly value: string | readonly string[] }
  | { readonly kind: 'remove'; readonly name: string }
  | { readonly kind: 'headers'; readonly lines: readonly HeaderLine[] }
  | {
      readonly kind: 'head';
      readonly status: number;
      readonly reason: string | null;
      readonly form: 'none' | 'object' | 'flat' | 'pairs';
      readonly lines: readonly HeaderLine[];
    }
  | { readonly kind: 'flush' | 'turn' | 'destroy' | 'throw' | 'processing' | 'no-date' }
  | { readonly kind: 'write'; readonly piece: Piece; readonly callback: 'none' | 'unheard' | 'awaited' }
  | { readonly kind: 'trailers'; readonly lines: readonly HeaderLine[]; readonly form: 'object' | 'pairs' }
  | { readonly kind: 'end'; readonly piece: Piece | null; readonly callback: boolean };

/** An answer as calls, in the manner of `node:http`. */
export interface CallPlan {
  readonly kind: 'calls';
  readonly steps: readonly Step[];
}

/** An answer as a value, in the manner of everything else. */
export interface ValuePlan {
  readonly kind: 'value';
  readonly status: number;
  readonly lines: readonly HeaderLine[];
  readonly body: 'none' | 'bytes' | 'text' | 'blob' | 'stream';
  readonly pieces: readonly Uint8Array[];
  /** Whether turns pass between the pieces of a stream. */
  readonly isSlow: boolean;
  /** Fails instead of answering, or breaks off instead of ending its stream. */
  readonly fault: 'none' | 'throws' | 'breaks';
}

export type AnswerPlan = CallPlan | ValuePlan;

/** What a framework can be told; the rest is not drawn for it. */
export interface Speech {
  readonly kinds: readonly AnswerPlan['kind'][];
  /** Whether values keep lines of one name apart. */
  readonly bodies: readonly ValuePlan['body'][];
  /** Whether what a `Response` refuses cannot be said: a body of 204, lengths and connection headers. */
  readonly isFetch: boolean;
  /** Whether the framework itself leaves its client waiting when a stream breaks: none does then. */
  readonly hangsOnBreak?: boolean;
}

const MEANINGFUL = [
  200, 200, 201, 202, 204, 205, 206, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 407, 408,
  409, 410, 412, 413, 415, 418, 422, 425, 429, 500, 501, 502, 503, 504, 505, 599,
] as const;

const NAMES = [
  'X-One',
  'x-one',
  'X-ONE',
  'X-Two',
  'Link',
  'link',
  'Vary',
  'ETag',
  'Cache-Control',
  'Location',
  'Content-Type',
  'content-type',
  'Content-Language',
  'Content-Disposition',
  'Set-Cookie',
  'set-cookie',
  'X-Request-Id',
  'Access-Control-Allow-Origin',
  'Server-Timing',
  'WWW-Authenticate',
  'Retry-After',
  'Server',
  'Age',
  'a',
  '!#$%&*+.^_`|~',
  'constructor',
  'Idempotency-Replayed',
] as const;

/** Of the connection: what a framework of values sets by itself. */
const CONNECTION_NAMES = ['Connection', 'Keep-Alive', 'Date', 'Proxy-Authenticate', 'Upgrade', 'TE'] as const;

const VALUES = [
  '',
  '1',
  'a, b',
  'a,b;c="d, e"',
  'caf\u00e9',
  '\u0080\u00ff',
  'a\tb',
  '</x>; rel="next"',
  'no-store',
  '"v1"',
  'x'.repeat(300),
] as const;

const TYPES = [
  'application/json',
  'text/plain; charset=utf-8',
  'text/plain;charset=latin1',
  'text/html',
  'application/octet-stream',
  'text/event-stream',
  'TEXT/Event-Stream; x=y',
  '',
] as const;

/** What Node refuses to send, each by an error. */
const BAD: readonly HeaderLine[] = [
  ['X-Bad', '\u20ac'],
  ['X-Bad', 'a\nb'],
  ['X Bad', '1'],
  ['', '1'],
];

const TEXTS = [
  '',
  'a',
  '{"id":1}',
  'Z\u00fcrich \u2013 \u6771\u4eac',
  'null',
  'data: 1\n\n',
  'x'.repeat(64),
] as const;

/** Draws the plan of a seed. */
export function planOf(seed: number, speech: Speech): AnswerPlan {
  const random = createRandom(seed);
  return random.pick(speech.kinds) === 'calls' ? callPlan(random) : valuePlan(random, speech);
}

function statusOf(random: Random): number {
  return random.chance(0.7) ? random.pick(MEANINGFUL) : random.between(200, 599);
}

function bytesOf(random: Random): Uint8Array {
  if (random.chance(0.5)) return new TextEncoder().encode(random.pick(TEXTS));
  const most = random.chance(0.1) ? 3_000 : 40;
  return Uint8Array.from({ length: random.between(0, most) }, () => random.between(0, 255));
}

/** Bytes as pieces: whole, byte by byte, or cut anywhere, some of them empty. */
function piecesOf(random: Random, bytes: Uint8Array): Uint8Array[] {
  const how = random.weighted({ whole: 4, bytes: bytes.length <= 80 ? 1 : 0, cut: 5 });
  const size =
    how === 'whole' ? bytes.length : how === 'bytes' ? 1 : Math.ceil(bytes.length / random.between(2, 5));
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += Math.max(1, size)) {
    pieces.push(bytes.subarray(at, at + Math.max(1, size)));
    if (random.chance(0.1)) pieces.push(new Uint8Array(0));
  }
  if (pieces.length === 0 || random.chance(0.1)) pieces.unshift(new Uint8Array(0));
  return pieces;
}

/** A text only where it gives these bytes back. */
function pieceOf(random: Random, bytes: Uint8Array): Piece {
  const as = random.weighted({ bytes: 4, utf8: 4, latin1: 1, base64: 1, hex: 1 });
  const isText = as !== 'utf8' || Buffer.from(Buffer.from(bytes).toString('utf8')).equals(bytes);
  return { bytes, as: isText ? as : 'bytes' };
}

function lineOf(random: Random, isOfConnection: boolean): HeaderLine {
  if (isOfConnection && random.chance(0.12)) {
    const name = random.pick(CONNECTION_NAMES);
    return [
      name,
      name === 'Connection'
        ? random.pick(['close', 'keep-alive', 'x-one, x-two', 'link, X-ONE, close'])
        : '1',
    ];
  }
  const name = random.pick(NAMES);
  if (name.toLowerCase() === 'content-type') return [name, random.pick(TYPES)];
  if (name.toLowerCase() === 'set-cookie')
    return [name, `c${random.between(0, 2)}=${random.between(0, 9)}; Path=/`];
  return [name, random.pick(VALUES)];
}

function linesOf(random: Random, most: number, isOfConnection = true): HeaderLine[] {
  return Array.from({ length: random.between(0, most) }, () => lineOf(random, isOfConnection));
}

const CODINGS = ['gzip', 'br', 'identity', 'gzip, br', 'x-unknown'] as const;

function valuePlan(random: Random, speech: Speech): ValuePlan {
  const status = statusOf(random);
  const lines = linesOf(random, 6, !speech.isFetch);
  if (random.chance(0.15)) lines.push(['Content-Encoding', random.pick(CODINGS)]);
  const isEmpty = speech.isFetch && [204, 205, 304].includes(status);
  const body = isEmpty ? 'none' : random.pick(speech.bodies);
  const whole = bytesOf(random);
  const isText = Buffer.from(Buffer.from(whole).toString('utf8')).equals(whole);
  const bytes = body === 'none' ? new Uint8Array(0) : body === 'text' && !isText ? new Uint8Array(0) : whole;
  const isBroken = body === 'stream' && random.chance(0.15);
  return {
    kind: 'value',
    status,
    lines,
    body,
    pieces: piecesOf(random, bytes),
    isSlow: random.chance(0.3),
    fault: isBroken && speech.hangsOnBreak !== true ? 'breaks' : random.chance(0.04) ? 'throws' : 'none',
  };
}

function callPlan(random: Random): CallPlan {
  const pieces = piecesOf(random, bytesOf(random));
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const steps: Step[] = [...beforeHead(random, size)];
  if (random.chance(0.4)) steps.push(headStep(random, size));
  if (random.chance(0.1)) steps.push({ kind: 'flush' });
  steps.push(...bodySteps(random, pieces));
  return { kind: 'calls', steps: broken(random, steps) };
}

function* beforeHead(random: Random, size: number): Generator<Step> {
  if (random.chance(0.05)) yield { kind: 'processing' };
  if (random.chance(0.7)) yield { kind: 'status', status: statusOf(random) };
  if (random.chance(0.05)) yield { kind: 'message', text: random.pick(['Fine', '', 'caf\u00e9', 'a\nb']) };
  if (random.chance(0.03)) yield { kind: 'no-date' };
  for (let left = random.between(0, 6); left > 0; left -= 1) yield headerStep(random);
  if (random.chance(0.15)) yield framingStep(random, size);
  if (random.chance(0.05)) {
    yield { kind: 'set', name: 'X-Hop', value: '1' };
    yield { kind: 'set', name: 'Connection', value: random.pick(['x-hop', 'X-HOP, close']) };
  }
  if (random.chance(0.1)) yield { kind: 'set', name: 'Content-Encoding', value: random.pick(CODINGS) };
}

function headerStep(random: Random): Step {
  const [name, value] = random.chance(0.04) ? random.pick(BAD) : lineOf(random, true);
  switch (random.weighted({ set: 5, append: 4, remove: 1, headers: 1 })) {
    case 'set': {
      const several = random.chance(0.25) ? [value, random.pick(VALUES)] : value;
      // Node takes a number for this one, and fails on it once it knows the length.
      const isNumber = /^[1-9]$/.test(value) && name !== 'Content-Disposition';
      return { kind: 'set', name, value: isNumber ? Number(value) : several };
    }
    case 'append':
      return { kind: 'append', name, value: random.chance(0.2) ? [value, value] : value };
    case 'remove':
      return { kind: 'remove', name: random.chance(0.2) ? 'Date' : random.pick(NAMES) };
    default:
      return { kind: 'headers', lines: linesOf(random, 3) };
  }
}

/** Headers that say how the body is framed: rightly, wrongly, or twice. */
function framingStep(random: Random, size: number): Step {
  switch (random.weighted({ right: 4, wrong: 2, chunked: 2, trailer: 2, close: 1 })) {
    case 'right':
      return { kind: 'set', name: 'Content-Length', value: size };
    case 'wrong':
      return { kind: 'set', name: 'content-length', value: Math.max(0, size + random.between(-3, 3)) };
    case 'chunked':
      return { kind: 'set', name: 'Transfer-Encoding', value: 'chunked' };
    case 'trailer':
      return { kind: 'set', name: 'Trailer', value: 'X-Sum' };
    default:
      return { kind: 'remove', name: random.pick(['Connection', 'Content-Length', 'Transfer-Encoding']) };
  }
}

function headStep(random: Random, size: number): Step {
  const lines = linesOf(random, 4);
  if (random.chance(0.2)) lines.push(['Content-Length', String(size + (random.chance(0.2) ? 1 : 0))]);
  const bad = random.chance(0.03) ? random.pick(BAD) : null;
  const reason = random.chance(0.15) ? random.pick(['Done', '', 'caf\u00e9']) : null;
  const form = random.pick(['none', 'object', 'object', 'flat', 'flat', 'pairs'] as const);
  const head = { kind: 'head', status: statusOf(random), reason, form } as const;
  // Node keeps the length of a head that it refuses, and sends it before whatever comes then; Samekey keeps nothing of it.
  return bad === null
    ? { ...head, lines }
    : { ...head, lines: [...lines.filter(([name]) => name !== 'Content-Length'), bad] };
}

function* bodySteps(random: Random, pieces: readonly Uint8Array[]): Generator<Step> {
  const endsWithData = random.chance(0.6);
  const isSlow = random.chance(0.3);
  for (const [i, bytes] of pieces.entries()) {
    const isLast = i === pieces.length - 1;
    if (isLast && random.chance(0.1)) yield trailersStep(random);
    if (isLast && endsWithData) {
      yield { kind: 'end', piece: pieceOf(random, bytes), callback: random.chance(0.2) };
      break;
    }
    const callback = random.weighted({ none: 6, unheard: 2, awaited: 2 });
    yield { kind: 'write', piece: pieceOf(random, bytes), callback };
    if (random.chance(0.02)) yield { kind: 'flush' };
    // Too late: refused in the same way.
    if (random.chance(0.02)) yield headerStep(random);
    if (isSlow && random.chance(0.5)) yield { kind: 'turn' };
  }
  if (!endsWithData) yield { kind: 'end', piece: null, callback: random.chance(0.2) };
  if (random.chance(0.03)) yield { kind: 'end', piece: null, callback: false };
}

function trailersStep(random: Random): Step {
  const lines: HeaderLine[] = [['X-Sum', random.pick(['1', 'caf\u00e9', ''])]];
  if (random.chance(0.3)) lines.push(['X-Sum', '2'], ['X-Request-Id', '3']);
  return { kind: 'trailers', lines, form: random.pick(['object', 'pairs']) };
}

/** Some break off at any of their steps. */
function broken(random: Random, steps: readonly Step[]): readonly Step[] {
  if (!random.chance(0.12)) return steps;
  const how = random.pick(['destroy', 'throw'] as const);
  // What has ended cannot break off.
  const end = steps.findIndex(({ kind }) => kind === 'end');
  return [...steps.slice(0, random.between(0, end)), { kind: how }];
}

/** All that a plan gives as a body. */
export function bodyOf(plan: AnswerPlan): Buffer {
  if (plan.kind === 'value') return Buffer.concat(plan.pieces);
  const parts: Uint8Array[] = [];
  for (const step of plan.steps) {
    if (step.kind === 'write') parts.push(step.piece.bytes);
    if (step.kind !== 'end') continue;
    if (step.piece !== null) parts.push(step.piece.bytes);
    break;
  }
  return Buffer.concat(parts);
}
