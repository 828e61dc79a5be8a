/**
 * A key that comes elsewhere than in a header of its own: as a member of the JSON body (Square's `idempotency_key`) or
 * of JSON in a header (x402), in the query (Google's `requestId`), or where the application says.
 *
 * Invariants: one key or none, never a guess: a member that stands there twice, and one that is no text, are refused ·
 * a body that cannot be read is told of before a key that is missing (contract §4.2).
 */

import { type KeyFault, OptionsError } from '../core/errors.ts';
import { fieldOf, pairsOf } from '../core/percent.ts';
import { checkKey, describeKeyFault, type KeyOptions } from '../core/key.ts';
import { kindOf, nested, type Row, row, type Table, text as aText } from '../core/options.ts';
import { canonicalJson } from '../fingerprint/canonical-json.ts';
import { isJson, parseContentType } from '../fingerprint/content-type.ts';
import { type PathTree, pathTree, pointersOf } from '../fingerprint/path-tree.ts';
import type { BodyRead, Exchange } from './exchange.ts';
import { type KeyHeader, severalKeys } from './key-header.ts';

/** Gives a request's key; null, undefined or an empty text: it brings none. A pure function of the request. */
type KeyFunction<Native> = (
  request: Native,
) => string | null | undefined | Promise<string | null | undefined>;

/** A member of the JSON body. */
interface KeyMember {
  /** Its name, or its JSON Pointer (RFC 6901). */
  readonly body: string;
}

/** A parameter of the query. */
interface KeyParameter {
  /** Its name, decoded. */
  readonly query: string;
}

/** A member of JSON that a header carries in Base64. */
interface KeyInHeader {
  /** The header's name. */
  readonly header: string;
  /** The member's name, or its JSON Pointer. */
  readonly member: string;
}

/** Where a key comes, as data. */
export type NamedPlace = KeyMember | KeyParameter | KeyInHeader;

/** Where a key comes that has no header of its own: a place that is named, or what a function says. */
export type KeyPlace<Native> = NamedPlace | KeyFunction<Native>;

/** The same, compiled. */
export type CompiledPlace<Native> =
  | { readonly kind: 'function'; readonly from: KeyFunction<Native> }
  | { readonly kind: 'query'; readonly name: string }
  | (Member & { readonly kind: 'body' })
  | (Member & { readonly kind: 'header'; readonly header: string });

interface Member {
  readonly pointer: string;
  readonly path: readonly string[];
  readonly pick: PathTree | undefined;
}

const MISSING: KeyHeader = { kind: 'missing' };

/** What of a route says where its keys come. */
interface Keyed<Native> {
  readonly keyIn: CompiledPlace<Native> | null;
  readonly keyGrammar: KeyOptions;
  readonly requestSizeMaxBytes: number;
}

/** A key, or why there is none. */
export type KeyRead =
  | KeyHeader
  | Exclude<BodyRead, { readonly kind: 'body' }>
  | { readonly kind: 'not-json' };

const NAMED = nested({
  body: aText(),
  query: aText(),
  header: aText(),
  member: aText(),
} satisfies Table<Partial<KeyMember & KeyParameter & KeyInHeader>>);

/** The row of `keyIn`. */
export const KEY_PLACE_ROW: Row<KeyPlace<never>, undefined> = row((given, path) => {
  if (typeof given === 'function') return given as KeyFunction<never>;
  const named = typeof given === 'string' ? {} : NAMED.read(given, path);
  if (!FORMS.has(Object.keys(named).toSorted().join()))
    throw new OptionsError(
      `${path} names one place: { body }, { query }, or { header, member }; or it is a function.`,
    );
  if (named.member !== undefined || named.body !== undefined) pointersOf([named.member ?? named.body ?? '']);
  return named as NamedPlace;
});

const FORMS: ReadonlySet<string> = new Set(['body', 'query', 'header,member']);

/** Compiles what the row has read. */
export function compileKeyPlace<Native>(place: KeyPlace<Native>): CompiledPlace<Native> {
  if (typeof place === 'function') return { kind: 'function', from: place };
  if ('query' in place) return { kind: 'query', name: fieldOf(place.query) };
  return 'header' in place
    ? { kind: 'header', header: place.header.toLowerCase(), ...memberAt(place.member) }
    : { kind: 'body', ...memberAt(place.body) };
}

/** How people are told of a place: `/key`, `?key`, or `X-Header#/key`; null for a function, which has no name. */
export function labelOf(place: KeyPlace<never>): string | null {
  if (typeof place === 'function') return null;
  if ('query' in place) return `?${place.query}`;
  return 'header' in place
    ? `${place.header}#${memberAt(place.member).pointer}`
    : memberAt(place.body).pointer;
}

function memberAt(given: string): Member {
  const [pointer = ''] = pointersOf([given]);
  const path = pointer
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  return { pointer, path, pick: pathTree([pointer]) };
}

/** The key of a request, from its headers (`inHeader`) and the route's other place: the same in both, or in one. */
export async function keyAnywhere<Native>(
  route: Keyed<Native>,
  exchange: Exchange<Native>,
  inHeader: KeyHeader,
): Promise<KeyRead> {
  if (inHeader.kind === 'malformed') return inHeader;
  const elsewhere = await keyElsewhere(route, exchange);
  if (inHeader.kind === 'missing') return elsewhere;
  // A body that cannot be read is met again, where it is read to be compared.
  if (elsewhere.kind === 'malformed') return elsewhere;
  if (elsewhere.kind === 'key' && elsewhere.key !== inHeader.key) return severalKeys(route.keyGrammar);
  return inHeader;
}

/** What the route's other place holds. */
export async function keyElsewhere<Native>(
  { keyIn, keyGrammar, requestSizeMaxBytes }: Keyed<Native>,
  exchange: Exchange<Native>,
): Promise<KeyRead> {
  if (keyIn === null) return MISSING;
  if (keyIn.kind === 'function') {
    const key: unknown = await keyIn.from(exchange.native);
    if (key === null || key === undefined || key === '') return MISSING;
    if (typeof key === 'string') return keyOfText(key, keyGrammar);
    throw new OptionsError(`keyIn gives the key as a text, or nothing; it gave ${kindOf(key)}.`);
  }
  if (keyIn.kind === 'query') return keyOfQuery(exchange.request.query, keyIn.name, keyGrammar);
  if (keyIn.kind === 'header')
    return keyOfHeader(exchange.request.headerLines(keyIn.header), keyIn, keyGrammar);
  const body = await exchange.readBody(requestSizeMaxBytes);
  if (body.kind !== 'body') return body;
  if (body.decoded.length === 0) return MISSING;
  const read = memberOf(body.decoded, keyIn, keyGrammar);
  // Whatever the type says: handlers parse JSON that came as text, too. Another body has no members, and no key.
  const [contentType] = exchange.request.headerLines('content-type');
  return read.kind === 'not-json' && !isJson(parseContentType(contentType).essence) ? MISSING : read;
}

/** Of several parameters of one name each framework takes another, or all. */
function keyOfQuery(query: string, name: string, options: KeyOptions): KeyRead {
  const pairs = pairsOf(query);
  const found = pairs.filter((_, i) => i % 2 === 1 && pairs[i - 1] === name);
  if (found.length > 1) return severalKeys(options);
  const [value] = found;
  if (value === undefined) return MISSING;
  try {
    return keyOfText(decodeURIComponent(value), options);
  } catch {
    return malformed('not-ascii', options);
  }
}

/** A header that is none of its kind is the handler's to refuse, and without a key. */
function keyOfHeader(lines: readonly string[], member: Member, options: KeyOptions): KeyRead {
  const [line] = lines;
  if (line === undefined) return MISSING;
  if (lines.length > 1) return severalKeys(options);
  const bytes = bytesOfBase64(line.trim());
  const read = bytes === null ? null : memberOf(bytes, member, options);
  return read === null || read.kind === 'not-json' ? malformed('grammar', options) : read;
}

function bytesOfBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function memberOf(bytes: Uint8Array, { path, pick }: Member, options: KeyOptions): KeyRead {
  const canonical = canonicalJson(bytes, { pick });
  if (canonical.kind !== 'canonical') return { kind: 'not-json' };
  let rest = canonical.text;
  for (const name of path) {
    const head = `{${JSON.stringify(name)}:`;
    // Another member, a list, a text: nothing stands at the path's end.
    if (!rest.startsWith(head)) return MISSING;
    rest = rest.slice(head.length, -1);
    // The canonical text keeps every member; a parser keeps one of those that have one name, and nobody knows which.
    if (!isOneValue(rest)) return severalKeys(options);
  }
  const value: unknown = JSON.parse(rest);
  if (value === null) return MISSING;
  return typeof value === 'string' ? keyOfText(value, options) : malformed('grammar', options);
}

function isOneValue(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function keyOfText(key: string, options: KeyOptions): KeyHeader {
  const fault = checkKey(key, options);
  return fault === null ? { kind: 'key', key } : malformed(fault, options);
}

function malformed(fault: KeyFault, options: KeyOptions): KeyHeader {
  return { kind: 'malformed', fault, detail: describeKeyFault(fault, options) };
}
