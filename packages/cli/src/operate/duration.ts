/** Lengths of time as people write and read them. */

import { InvalidArgumentError } from 'commander';

const UNITS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** `90s`, `15m`, `24h`, `30d`, `500ms` as milliseconds, for an option. Throws `InvalidArgumentError`. */
export function duration(text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text.trim()) ?? [];
  const ms = UNITS.get(unit);
  if (ms === undefined)
    throw new InvalidArgumentError('It must be a number and a unit: 500ms, 90s, 15m, 24h, 30d.');
  return Number(digits) * ms;
}

/** `850 ms`, `12 s`, `3 min`, `5.2 h`, `3 d`. */
export function shortDuration(ms: number): string {
  const size = Math.abs(ms);
  if (size < 1_000) return `${Math.round(ms)} ms`;
  if (size < 90_000) return `${Math.round(ms / 1_000)} s`;
  if (size < 90 * 60_000) return `${Math.round(ms / 60_000)} min`;
  if (size < 48 * 3_600_000) return `${oneDigit(ms / 3_600_000)} h`;
  return `${oneDigit(ms / 86_400_000)} d`;
}

/** A time, and how far it is from now. */
export function timeAndAge(at: number, now: number): string {
  const far = at <= now ? `${shortDuration(now - at)} ago` : `in ${shortDuration(at - now)}`;
  return `${iso(at)} (${far})`;
}

/** A time for people and programs; what lies beyond the calendar is never. */
export function iso(at: number): string {
  return at >= NEVER ? 'never' : new Date(at).toISOString();
}

/** The end of the year 9999, which the store writes for "never". */
export const NEVER: number = 253_402_300_799_000;

function oneDigit(value: number): string {
  return String(Math.round(value * 10) / 10);
}
