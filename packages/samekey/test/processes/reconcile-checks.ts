/** What must hold after a round of reconciliation on PostgreSQL, by the records, the provider's books, the audit and the questions. */

import type { PostgresStore } from 'samekey/stores/postgres';
import type { ProviderLedger } from './payment-provider.ts';
import { type Fate, type LoggedInquiry, PAY_KINDS, type PayKind } from './reconcile-protocol.ts';

const GIVEN_UP_AT = 253_402_300_799_000;

/** A key, and what its client was told. */
export interface Payer {
  readonly key: string;
  readonly kind: PayKind;
  fate: Fate;
  /** Its owner stood still before its call, and may have had a word of its own later. */
  frozen: boolean;
  answered: unknown;
}

/** Whether every key has its answer or was given up. */
export async function isAtItsEnd(store: PostgresStore, payers: readonly Payer[]): Promise<boolean> {
  const records = new Map((await store.list({ limit: 1_000 })).map((record) => [record.key, record]));
  return payers.every(
    ({ key, answered }) => answered !== null || records.get(key)?.reconcileAfter === GIVEN_UP_AT,
  );
}

/** What is wrong in the end. */
export async function faultsOf(
  store: PostgresStore,
  payers: readonly Payer[],
  ledger: ProviderLedger,
  log: string,
  count: (what: string) => void,
): Promise<readonly string[]> {
  const faults: string[] = [];
  const records = new Map((await store.list({ limit: 1_000 })).map((record) => [record.key, record]));
  for (const { key, kind, answered } of payers) {
    const paid = ledger.payments.filter(({ reference }) => reference === key);
    const record = records.get(key);
    const where = `${key} (${kind}, ${record?.state} ${record?.reason}, ${paid.length} paid)`;
    if (paid.length > 1) faults.push(`${where} was paid twice`);
    if (record?.state === 'completed') {
      if (paid.length === 0) faults.push(`${where} says paid, and it is not`);
      if ((answered as { id?: unknown } | null)?.id !== paid[0]?.id)
        faults.push(`${where} was answered ${JSON.stringify(answered)}`);
    } else if (record?.state !== 'unknown' || record.reconcileAfter !== GIVEN_UP_AT) {
      faults.push(`${where} has not come to its end`);
    } else if (PAY_KINDS[kind].keyed) faults.push(`${where} was given up, and could be found out`);
    count(record?.state === 'unknown' ? 'given up' : String(record?.state));
  }
  const settled = new Set<string>();
  for (const { key, attempt, act } of await store.audit({ acts: ['settle'], limit: 1_000 })) {
    const one = `${act} ${key} attempt ${attempt}`;
    // A late owner that called after all takes the record back to "unknown", and then it is settled again.
    const isFrozen = payers.some((payer) => payer.key === key && payer.frozen);
    if (settled.has(one) && !isFrozen) faults.push(`${one} stands twice in the audit`);
    settled.add(one);
    count('settled');
  }
  const asked = new Set<string>();
  for (const line of log.split('\n').filter((text) => text !== '')) {
    const { key, unknown, inquiry } = JSON.parse(line) as LoggedInquiry;
    const one = `${key}, unknown as ${unknown}, inquiry ${inquiry}`;
    if (asked.has(one)) faults.push(`${one} was asked twice`);
    asked.add(one);
    count('asked');
  }
  return faults;
}
