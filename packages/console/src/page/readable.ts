/** Times, ages and strangers' texts as people read them. */

import type { BulkRow } from '../api.ts';

/** Control characters but tab and line feed, those that turn the direction of text, and those that nobody sees. */
// biome-ignore format: what is silenced must stand in the next line
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

const SHOWN_LENGTH_MAX = 2_000;

/** A stranger's text: what would turn or hide its neighbours is shown as what it is, and what is endless is cut. */
export function harmless(text: string, lengthMax: number = SHOWN_LENGTH_MAX): string {
  const cut = text.length > lengthMax ? `${text.slice(0, lengthMax)}… (${text.length} characters)` : text;
  return cut.replaceAll(UNSEEN, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const UNITS: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

/** A length of time, short: `3 min`. */
export function span(ms: number): string {
  const long = Math.abs(ms);
  for (const [unit, name] of UNITS) if (long >= unit) return `${Math.floor(long / unit)} ${name}`;
  return 'a moment';
}

/** How long ago, or how soon. */
export function ago(at: number, now: number): string {
  return at > now ? `in ${span(at - now)}` : `${span(now - at)} ago`;
}

/** Counts that are older say when they were made. */
const COUNTED_MS = 10_000;

/** Of what was counted a while ago: when; else nothing. */
export function countedAgo(at: number | null, now: number): string {
  return at !== null && now - at > COUNTED_MS ? `counted ${ago(at, now)}` : '';
}

/** A time of day with its date, by the clock of whoever looks. */
export function clock(at: number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** A number with its thousands. */
export function count(number: number): string {
  return number.toLocaleString();
}

/** States as people call them. */
export const STATES: Readonly<Record<string, string>> = {
  pending: 'pending',
  in_progress: 'in progress',
  completed: 'completed',
  failed: 'failed',
  retryable: 'may run again',
  unknown: 'unknown',
};

/** What somebody typed into a field. */
export function textIn(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}

/** What became of one of many. */
export const ENDS: Readonly<Record<BulkRow['end'], string>> = {
  would: 'would be done',
  done: 'done',
  already: 'done before, just so',
  refused: 'refused',
  failed: 'failed, nothing was done',
  uncertain: 'uncertain: look again before you repeat it',
};
