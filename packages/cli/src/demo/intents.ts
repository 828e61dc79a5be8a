/** Puts the shop's books beside the provider's: how often each intent was charged, by whoever took the money. */

import type { IntentPayment } from './ledger.ts';
import type { ProviderLedger } from './provider.ts';

/** How often one intent (the key a client chose for it, at one operation) was charged. */
export interface IntentCharges {
  readonly operation: string;
  readonly intent: string;
  /** Rows in the shop's table; more than one would each be charged. */
  readonly payments: number;
  /** What the provider took. */
  readonly charges: number;
  readonly totalCents: number;
  /** Whether the shop knows of the charge. */
  readonly booked: boolean;
}

/** One entry per intent, the one paid last first. */
export function chargesOf(
  payments: readonly IntentPayment[],
  provider: Pick<ProviderLedger, 'charges'>,
): readonly IntentCharges[] {
  const taken = new Map(provider.charges.map((entry) => [entry.reference, entry]));
  const intents = new Map<string, IntentCharges>();
  for (const { operation, intent, paymentId, chargeId } of payments) {
    // The same key at another operation is another intent: each is charged once (F94).
    const which = `${operation} ${intent}`;
    const before = intents.get(which);
    const { charges = 0, totalCents = 0 } = taken.get(paymentId) ?? {};
    intents.set(which, {
      operation,
      intent,
      payments: (before?.payments ?? 0) + 1,
      charges: (before?.charges ?? 0) + charges,
      totalCents: (before?.totalCents ?? 0) + totalCents,
      booked: (before?.booked ?? true) && chargeId !== null,
    });
  }
  return [...intents.values()];
}

const LISTED_MAX = 50;

/** What `GET /ledger` answers: the sums, and the latest of them. */
export function ledgerOf(
  tenant: string,
  intents: readonly IntentCharges[],
): Readonly<Record<string, unknown>> {
  return {
    tenant,
    intents: intents.length,
    charges: intents.reduce((sum, { charges }) => sum + charges, 0),
    oneChargePerIntent: intents.every(({ charges }) => charges === 1),
    latest: intents.slice(0, LISTED_MAX),
  };
}
