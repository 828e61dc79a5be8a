/** What must hold at the end of a history of reconciliation, by the records and the provider's books. */

import type { Store } from 'samekey';
import type { Processed } from './reconcile-provider.ts';

/** Questions about one outcome. */
export const INQUIRIES_MAX = 12;
const GIVEN_UP_AT = 253_402_300_799_000;

/** How an operation pays: in which way, by which rule, and whether the provider knows its keys. */
export const KINDS = {
  'plain-keyed': { phased: false, keyed: true, rule: null },
  'plain-bare': { phased: false, keyed: false, rule: null },
  'phased-keyed': { phased: true, keyed: true, rule: 'reconcile' },
  'phased-bare': { phased: true, keyed: false, rule: 'reconcile' },
  'phased-repeats': { phased: true, keyed: true, rule: 'downstreamKey' },
} as const;
/** One of them. */
export type Kind = keyof typeof KINDS;
export const NAMES = Object.keys(KINDS) as readonly Kind[];

/** A key, and what its client was told. */
export interface Key {
  readonly key: string;
  readonly kind: Kind;
  readonly answers: string[];
  done: boolean;
  noted: boolean;
  downstreamKey: string | null;
}

/** What is wrong. */
export async function faultsOfHistory(
  store: Store,
  keys: readonly Key[],
  books: ReadonlyMap<string, readonly Processed[]>,
  count: (what: string) => void,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const { key, kind, answers } of keys) {
    const paid = books.get(key) ?? [];
    const [record] = await store.find([{ scope: `t|${kind}`, key }]);
    const where = `${key} (${kind}, ${record?.state} ${record?.reason}, ${paid.length} paid)`;
    if (paid.length > 1) faults.push(`${where} was paid twice`);
    if (new Set(answers).size > 1) faults.push(`${where} was answered in two ways: ${answers.join(' and ')}`);
    if (record === null || record === undefined) {
      if (paid.length > 0) faults.push(`${where} was paid, and there is no record`);
      continue;
    }
    count(record.state === 'unknown' ? 'given up' : record.state);
    const { declined } = paid[0] ?? { declined: null };
    if (record.state === 'completed' && declined !== false) faults.push(`${where} says paid, and it is not`);
    if (record.state === 'failed' && declined === false) faults.push(`${where} says failed, and it is paid`);
    if (record.state === 'unknown') {
      if (record.reconcileAfter !== GIVEN_UP_AT) faults.push(`${where} is unknown, and was not given up`);
      // What was paid can be found out; what was not may never be, if nobody can prove that its owner is gone.
      if (KINDS[kind].keyed && record.inquiries < INQUIRIES_MAX)
        faults.push(`${where} was given up too early`);
    } else if (record.state !== 'completed' && record.state !== 'failed')
      faults.push(`${where} has not come to its end`);
  }
  return faults;
}
