/** A retry gets the header lines too: all but those of one connection, moment or request. */

import { MARKERS } from '../expectations.ts';
import { isSameAnswer } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import { type Answer, type Line, valuesOf } from '../wire.ts';
import { answered, retried } from './retried.ts';
import { fault, held, notJudged } from '../judgement.ts';

/** Of one connection, one moment, one request or one caller (RFC 9110 §7.6.1, §6.6.1; Fetch §3.2). */
const OWN: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'date',
  'age',
  'via',
  'trailer',
  'set-cookie',
  'server-timing',
  'x-request-id',
  'request-id',
  'x-correlation-id',
  'x-trace-id',
  'x-response-time',
  'x-runtime',
  'traceparent',
  'tracestate',
  'traceresponse',
  'cf-ray',
  'idempotency-stored',
  'idempotency-key-expires',
]);

export const sameHeaders: Scenario = {
  name: 'same-headers',
  title: 'a retry gets the header lines of the first answer',
  level: 'SHOULD',
  source: 'draft-07 §2.6; F40',
  async run(probe) {
    const { first, retries } = await probe.shared(retried);
    const retry = answered(retries[0]);
    if (!isSameAnswer(first, retry))
      return notJudged('not judged: the retry is not the first answer (see same-answer)');
    const ignored = new Set((probe.settings.ignoreHeaders ?? []).map((name) => name.toLowerCase()));
    const marker = probe.settings.markerHeader?.toLowerCase();
    const isKept = ([name]: Line): boolean => {
      const lower = name.toLowerCase();
      if (OWN.has(lower) || ignored.has(lower) || lower === marker || MARKERS.includes(lower)) return false;
      return !/^(?:access-control-|x-ratelimit-|ratelimit)/.test(lower);
    };
    const wrong = differing(first, retry, isKept);
    if (wrong.length === 0)
      return held(`${first.lines.filter(isKept).length} header lines, the same on the retry`);
    return fault(
      `other on the retry: ${wrong.join(', ')}`,
      'A client that retries misses what it was to follow or to read, such as Location or Content-Type.',
    );
  },
};

function differing(first: Answer, retry: Answer, isKept: (line: Line) => boolean): string[] {
  const names = new Set([...first.lines, ...retry.lines].filter(isKept).map(([name]) => name.toLowerCase()));
  return [...names].filter(
    (name) => JSON.stringify(valuesOf(first.lines, name)) !== JSON.stringify(valuesOf(retry.lines, name)),
  );
}
