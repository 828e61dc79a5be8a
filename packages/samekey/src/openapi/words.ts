/** Words and forms that documents, pages and headers share. */

import type { EndingClass, Policy, Verdict } from '../core/policy.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A length of time as ISO 8601 has it, in the largest unit that fits, days being no unit of clocks: `PT24H`. */
export function isoDuration(ms: number): string {
  if (ms > 0 && ms % HOUR_MS === 0) return `PT${ms / HOUR_MS}H`;
  if (ms > 0 && ms % MINUTE_MS === 0) return `PT${ms / MINUTE_MS}M`;
  return `PT${ms / SECOND_MS}S`;
}

/** The same for people. */
export function spoken(ms: number): string {
  const units: readonly (readonly [number, string])[] = [
    [DAY_MS, 'day'],
    [HOUR_MS, 'hour'],
    [MINUTE_MS, 'minute'],
    [SECOND_MS, 'second'],
  ];
  // A day is told as 24 hours, as providers do.
  const [unit, name] = units.find(
    ([length]) => ms > 0 && ms % length === 0 && (length < DAY_MS || ms > DAY_MS),
  ) ?? [1, 'millisecond'];
  const count = ms / unit;
  return `${count.toLocaleString('en-US')} ${name}${count === 1 ? '' : 's'}`;
}

/** A header that is known in lower case only, as people write it. */
export function headerSpelt(name: string): string {
  return name.replaceAll(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase());
}

const ENDINGS: Readonly<Record<EndingClass, string>> = {
  success: '2xx and 3xx',
  finalRefusal: '400, 403, 404, 409, 422 and other 4xx',
  passingRefusal: '401, 407, 425 and 429',
  requestTimeout: '408',
  serverError: '500, 503 and other 5xx',
  gatewayError: '502 and 504',
  threw: 'an error without an answer',
  rolledBack: 'a 5xx whose work was rolled back',
};

const VERDICTS: readonly (readonly [readonly Verdict[], string])[] = [
  [['completed', 'failed'], 'Kept, and every retry gets the same answer'],
  [['retryable'], 'Not kept, and the same request runs again under the same key'],
  [['unknown'], 'In doubt, so that nothing runs again until it is known what became of it'],
];

/** What becomes of each ending, in sentences. */
export function policyInWords({ verdicts }: Policy): readonly string[] {
  return VERDICTS.flatMap(([of, words]) => {
    const endings = (Object.keys(ENDINGS) as EndingClass[]).filter((ending) => of.includes(verdicts[ending]));
    return endings.length === 0 ? [] : [`${words}: ${endings.map((ending) => ENDINGS[ending]).join('; ')}.`];
  });
}
