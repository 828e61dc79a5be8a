/**
 * Header lines: from the arguments of `writeHead`, from a response, and back onto one.
 *
 * Invariant: order, repeats and spelling are kept (RFC 9110 §5.3). What Node refuses is refused here, with its codes.
 *
 * Source: https://nodejs.org/docs/latest-v20.x/api/http.html#responsewriteheadstatuscode-statusmessage-headers
 */
import { IncomingMessage, ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http';
import { Socket } from 'node:net';
import type { HeaderLine } from '../core/response.ts';
import type { CaptureState, HeaderValue, RawHead } from './capture-state.ts';
import { rawHeaderNames } from './node-state.ts';

/** Adds lines to the headers of a response: a name's first line replaces what is there, its further ones append. */
export function setLines(res: ServerResponse, lines: readonly HeaderLine[]): void {
  for (const [i, [name, value]] of lines.entries()) {
    const field = name.toLowerCase();
    const repeated = lines.slice(0, i).some((line) => line[0].toLowerCase() === field);
    if (repeated) res.appendHeader(name, value);
    else res.setHeader(name, value);
  }
}

/** The headers for `writeHead` with lines added, in the form they were given in. */
export function withLines(raw: RawHead, extra: readonly HeaderLine[]): RawHead {
  if (extra.length === 0) return raw;
  if (!isList(raw)) {
    const added: Record<string, unknown> = { ...raw };
    for (const [name, value] of extra) {
      added[name] = Object.hasOwn(added, name) ? [added[name], value].flat() : value;
    }
    return added;
  }
  return Array.isArray(raw[0]) ? [...raw, ...extra] : [...raw, ...extra.flat()];
}

/** Trailer lines of the argument of `addTrailers`. */
export function trailerLines(trailers: object): HeaderLine[] {
  const entries = Array.isArray(trailers) ? (trailers as [string, unknown][]) : Object.entries(trailers);
  return entries.flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one): HeaderLine => [name, String(one)]),
  );
}

/** Node ≥ 24 keeps repeats of a flat list given to `writeHead` after `setHeader`; earlier ones keep the last only. */
let repeatsKept: boolean | undefined;

function flatListRepeats(): boolean {
  if (repeatsKept === undefined) {
    const res = new ServerResponse(new IncomingMessage(new Socket()));
    res.setHeader('a', '0');
    res.writeHead(200, ['b', '1', 'b', '2'] as unknown as Record<string, string>);
    repeatsKept = Array.isArray(res.getHeader('b'));
  }
  return repeatsKept;
}

/** Applies the headers given to `writeHead` to a response that has others already. */
export function mergeHeaders(res: ServerResponse, given: RawHead): void {
  if (!isList(given)) {
    for (const name of Object.keys(given)) if (name) res.setHeader(name, given[name] as HeaderValue);
    return;
  }
  if (given.length % 2 !== 0) throw invalidHeaders();
  const repeats = flatListRepeats();
  if (repeats) for (let n = 0; n < given.length; n += 2) res.removeHeader(given[n] as string);
  for (let n = 0; n < given.length; n += 2) {
    const name = given[n] as string;
    if (!name) continue;
    if (repeats) res.appendHeader(name, given[n + 1] as string);
    else res.setHeader(name, given[n + 1] as string);
  }
}

/** Notes the header lines of a response whose headers were set one by one. */
export function linesOfResponse(c: CaptureState): void {
  const res = c.res;
  const lines: HeaderLine[] = [];
  for (const name of rawHeaderNames(res)) {
    const value = res.getHeader(name);
    if (Array.isArray(value)) {
      for (const one of value) lines.push([name, String(one)]);
      note(c, name, String(value[0]));
    } else {
      const text = String(value);
      lines.push([name, text]);
      note(c, name, text);
    }
  }
  c.lines = lines;
}

/** Notes the header lines given to `writeHead` on a response without any. */
export function linesOfRaw(c: CaptureState, raw: RawHead): void {
  if (isList(raw) && !Array.isArray(raw[0]) && raw.length % 2 !== 0) throw invalidHeaders();
  if (!isList(raw)) for (const name of Object.keys(raw)) linesOfField(c, name, raw[name]);
  else if (Array.isArray(raw[0]))
    for (const [name, value] of raw as readonly [string, unknown][]) linesOfField(c, name, value);
  else for (let n = 0; n < raw.length; n += 2) linesOfField(c, raw[n] as string, raw[n + 1]);
}

function linesOfField(c: CaptureState, name: string, value: unknown): void {
  validateHeaderName(name);
  if (Array.isArray(value)) for (const one of value) lineOfField(c, name, one);
  else lineOfField(c, name, value);
}

function lineOfField(c: CaptureState, name: string, value: unknown): void {
  validateHeaderValue(name, value as string);
  const text = String(value);
  c.lines.push([name, text]);
  note(c, name, text);
}

/** The few fields that decide about framing and streaming. */
function note(c: CaptureState, name: string, value: string): void {
  if (name.length < 7 || name.length > 17) return;
  switch (name.toLowerCase()) {
    case 'content-length':
      c.declared = Number(value);
      break;
    case 'content-type':
      c.eventStream = /^\s*text\/event-stream/i.test(value);
      break;
    case 'trailer':
      c.hasTrailerField = true;
      break;
    case 'transfer-encoding':
      c.chunkedField = /chunk/i.test(value);
      break;
    default:
  }
}

/** The handler may reuse what it passed: Node has rendered it by then. */
export function copyRaw(raw: RawHead): RawHead {
  if (!isList(raw)) return { ...raw };
  return Array.isArray(raw[0]) ? (raw as [string, unknown][]).map((pair) => [...pair] as const) : [...raw];
}

function isList(raw: RawHead): raw is readonly unknown[] {
  return Array.isArray(raw);
}

function invalidHeaders(): Error {
  return Object.assign(new TypeError("The argument 'headers' is invalid: it has a name without a value."), {
    code: 'ERR_INVALID_ARG_VALUE',
  });
}
