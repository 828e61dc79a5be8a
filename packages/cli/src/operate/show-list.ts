/** Many records, a line each. Keys and callers as hashes, unless they were asked for. */

import { hashCaller, hashKey, redactRecord, type SamekeyRecord } from 'samekey';
import { callerOf } from 'samekey/operator';
import { shortDuration } from './duration.ts';
import { table } from './print.ts';

/** The lines. */
export function listLines(
  records: readonly SamekeyRecord[],
  now: number,
  showKeys: boolean,
): readonly string[] {
  return table(
    ['STATE', 'AGE', 'ATTEMPT', 'OPERATION', 'CALLER', 'KEY', 'REASON'],
    records.map((record) => [
      record.state,
      shortDuration(now - record.createdAt),
      String(record.attempt),
      record.operation,
      callerShown(record, showKeys),
      keyShown(record, showKeys),
      record.reason ?? '',
    ]),
  );
}

/** A record for programs. */
export function recordJson(record: SamekeyRecord, now: number, showKeys: boolean): object {
  const { scope, key } = record;
  return {
    ...(showKeys ? { key, caller: callerOf(scope), scope } : {}),
    ...redactRecord(record),
    ageMs: now - record.createdAt,
  };
}

/** The key, or its hash. */
export function keyShown(record: SamekeyRecord, showKeys: boolean): string {
  return showKeys ? record.key : `#${hashKey(record)}`;
}

/** The caller, or its hash. */
export function callerShown({ scope }: SamekeyRecord, showKeys: boolean): string {
  return showKeys ? callerOf(scope) : `#${hashCaller(scope)}`;
}
