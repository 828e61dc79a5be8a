/**
 * The keys that clients send: counters, clocks and short texts. Two clients that count meet each other's keys; a key
 * that can be guessed can be used by somebody else first. Looked at in the newest records; none of them is printed.
 */

import type { Check, Finding, Sample } from './finding.ts';
import { groupBy } from './numbers.ts';

/** Fewer keys of one form may be chance. */
const SERIES_MIN = 10;
/** So much room between neighbours, and it is still a count. */
const GAP_MAX = 10;
/** 64 bits: a billion keys meet by chance once in 37. */
const BITS_MIN = 64;
/** More of them than this share, and it is how the client makes keys. */
const SHARE_MAX = 0.05;
/** A key that is the time of its request, in milliseconds, is off by this at most. */
const CLOCK_FAR_MS = 86_400_000;

/** Counters, times, short texts. */
export const keys: Check = ({ recent }) => {
  const client = recent.filter(({ state }) => state !== 'pending');
  if (client.length === 0) return [];
  const found = [...series(client), ...weak(client)];
  if (found.length > 0) return found;
  return [
    {
      check: 'keys',
      level: 'ok',
      what: `The keys of the newest ${client.length} records look random.`,
      measured: { records: client.length },
      remedy: null,
    },
  ];
};

function series(samples: readonly Sample[]): readonly Finding[] {
  const forms = groupBy(samples, ({ operation, key }) => `${operation}\n${key.replace(/\d+$/, '')}`);
  let counted = 0;
  let timed = 0;
  const operations = new Set<string>();
  for (const group of forms.values()) {
    const numbers = group.flatMap(({ key, createdAt, operation }) => {
      const digits = /\d{1,15}$/.exec(key)?.[0];
      return digits === undefined
        ? []
        : [{ number: Number(digits), createdAt, operation, length: digits.length }];
    });
    if (numbers.length < SERIES_MIN) continue;
    const isTime = numbers.filter(({ number, createdAt }) => Math.abs(number - createdAt) < CLOCK_FAR_MS);
    const sorted = [...new Set(numbers.map(({ number }) => number))].toSorted((a, b) => a - b);
    const span = (sorted.at(-1) ?? 0) - (sorted[0] ?? 0);
    if (isTime.length > numbers.length / 2) timed += numbers.length;
    else if (sorted.length >= SERIES_MIN && span <= GAP_MAX * sorted.length) counted += numbers.length;
    else continue;
    for (const { operation } of group.slice(0, 1)) operations.add(operation);
  }
  return [
    ...finding('counted', counted, samples.length, operations, 'are counted up'),
    ...finding('time', timed, samples.length, operations, 'are the time of their request'),
  ];
}

function finding(
  kind: string,
  count: number,
  records: number,
  operations: ReadonlySet<string>,
  what: string,
): readonly Finding[] {
  if (count === 0) return [];
  return [
    {
      check: 'keys',
      level: 'warning',
      what: `${count} of the newest ${records} keys ${what} (${[...operations].slice(0, 5).join(', ')}): two clients of one scope meet, and others can guess them.`,
      measured: { kind, keys: count, records },
      remedy:
        'Have clients make one random key per intended operation (UUID version 4 or 7), or set the key option uuidOnly.',
    },
  ];
}

function weak(samples: readonly Sample[]): readonly Finding[] {
  const short = samples.filter(({ key }) => bitsOf(key) < BITS_MIN);
  if (short.length <= samples.length * SHARE_MAX) return [];
  return [
    {
      check: 'keys',
      level: 'warning',
      what: `${short.length} of the newest ${samples.length} keys hold less than ${BITS_MIN} bits: different operations may get one key, and keys can be guessed.`,
      measured: { kind: 'short', keys: short.length, records: samples.length },
      remedy:
        'Have clients send random keys of 22 characters or more, and refuse others with the key option lengthMin or uuidOnly.',
    },
  ];
}

/** What a text of these characters and this length can hold at the most, in bits. */
export function bitsOf(key: string): number {
  const bare = key.replaceAll(/[^A-Za-z0-9]/g, '');
  const alphabet = /^[0-9]*$/.test(bare)
    ? 10
    : /^[0-9a-f]*$/i.test(bare)
      ? 16
      : /^[0-9a-z]*$/.test(bare) || /^[0-9A-Z]*$/.test(bare)
        ? 36
        : 62;
  // A text that repeats itself holds less than it is long.
  const distinct = new Set(bare).size;
  return bare.length * Math.log2(Math.min(alphabet, Math.max(2, distinct ** 2)));
}
