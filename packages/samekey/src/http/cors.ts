/** What browsers must be allowed. */

import { OptionsError } from '../core/errors.ts';
import { type Door, protectionOf } from './marker.ts';
import { KEY_HEADER } from './problem.ts';

/** What a browser client needs to be allowed: headers of its requests, and headers of answers that it may read. */
export interface CorsHeaders {
  readonly allowedHeaders: readonly string[];
  readonly exposedHeaders: readonly string[];
}

const EXPOSED: readonly string[] = [
  'Idempotency-Replayed',
  'Idempotent-Replayed',
  'Idempotency-Stored',
  'Idempotency-Key-Expires',
  'Retry-After',
  // Against which a client reads dates: its own clock may be wrong by hours (F136).
  'Date',
  'Location',
  'Link',
];

/**
 * What a browser client needs to be allowed (F36): pass `allowedHeaders` and `exposedHeaders` to your CORS middleware,
 * which comes before Samekey.
 */
export const CORS: CorsHeaders = corsFor(KEY_HEADER);

/**
 * The same for routes whose keys come in other headers, by their names or by what `idempotent` or `serve` returned:
 * `corsFor('PayPal-Request-Id')`, `corsFor(protect)`. The latter also knows the headers of times that its requests must
 * have, and those by which its profile or dialect tells of replays and errors. Throws `OptionsError` for what is
 * neither.
 */
export function corsFor(...of: readonly (string | object)[]): CorsHeaders {
  const doors = of.filter((each) => typeof each !== 'string').map(doorOf);
  return Object.freeze({
    allowedHeaders: distinct(
      of.flatMap((each) => (typeof each === 'string' ? [each] : sentTo(doorOf(each)))),
    ),
    exposedHeaders: distinct([...EXPOSED, ...doors.flatMap(toldBy)]),
  });
}

function doorOf(fn: object): Door {
  const door = protectionOf(fn)?.door?.() ?? null;
  if (door !== null) return door;
  throw new OptionsError('corsFor takes names of headers, and what idempotent() or serve() returned.');
}

/** Headers that a client sends for a door's sake. */
function sentTo({ header, headerName, otherHeaders, keyIn, freshness, firstSent }: Door): readonly string[] {
  return [
    headerName.toLowerCase() === header ? headerName : header,
    ...otherHeaders,
    ...(keyIn?.kind === 'header' ? [keyIn.header] : []),
    ...[freshness, firstSent].flatMap((time) => (time === null ? [] : [time.header])),
  ];
}

/** Headers that its profile adds to answers, of the handler and in its place. */
function toldBy({ profile }: Door): readonly string[] {
  const lines = [
    ...profile.replayHeaders,
    ...(profile.answerHeaders?.({ status: 200, isFinal: true, key: 'key' }) ?? []),
    ...(profile.answerHeaders?.({ status: 500, isFinal: false, key: 'key' }) ?? []),
    ...profile.render({ kind: 'key-missing' }).headers,
    ...profile.render({ kind: 'in-progress', retryAfterMs: 1_000 }).headers,
  ];
  return lines.map(([name]) => name).filter((name) => !/^(?:content-type|cache-control)$/i.test(name));
}

/** In the order in which they are named; case does not count. */
function distinct(names: readonly string[]): readonly string[] {
  const byName = new Map(names.toReversed().map((name) => [name.toLowerCase(), name]));
  return Object.freeze(
    names.filter((name, i) => byName.get(name.toLowerCase()) === name && names.indexOf(name) === i),
  );
}
