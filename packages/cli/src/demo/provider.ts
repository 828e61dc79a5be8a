/** The shop's side of the payment provider: its process, and how it is called. */

import { join } from 'node:path';
import { type Child, startChild } from './children.ts';
import type { Fault } from './faults.ts';
import type { Charge, ReferenceCharges } from './provider-books.ts';
import type { ProviderSettings } from './provider-process.ts';

/** A call of the provider, as it ended. */
export interface ProviderCall {
  readonly what: 'charge' | 'inquire';
  readonly reference: string;
  /** Null when there was no answer. */
  readonly status: number | null;
  readonly durationMs: number;
}

/** The provider, as the shop sees it. Calls reject when nobody can know what became of them. */
export interface Provider {
  charge(
    asked: Omit<Charge, 'id'>,
    call: { key: string; signal: AbortSignal; fault: Fault | null },
  ): Promise<Charge>;
  /** The charge with this reference, or null. */
  find(reference: string, signal: AbortSignal): Promise<Charge | null>;
  ledger(): Promise<ProviderLedger>;
}

/** What the provider says it has done. */
export interface ProviderLedger {
  readonly charges: readonly ReferenceCharges[];
  /** Calls for a charge (`call`), and how often each fault happened. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Connects to a provider. */
export function connectProvider(origin: string, onCall: (call: ProviderCall) => void): Provider {
  async function call(
    what: ProviderCall['what'],
    reference: string,
    send: () => Promise<Response>,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const startedAt = performance.now();
    const ended = (status: number | null): void =>
      onCall({ what, reference, status, durationMs: performance.now() - startedAt });
    try {
      const response = await send();
      const body: unknown = await response.json();
      ended(response.status);
      return { status: response.status, body };
    } catch (error) {
      ended(null);
      throw error;
    }
  }
  return {
    async charge(asked, { key, signal, fault }) {
      const { status, body } = await call('charge', asked.reference, () =>
        fetch(`${origin}/charges`, {
          method: 'POST',
          headers: {
            'Content-Type': 'application/json',
            'Idempotency-Key': key,
            ...(fault === null ? {} : { 'X-Fault': fault }),
          },
          body: JSON.stringify(asked),
          signal,
        }),
      );
      if (status !== 201) throw new Error(`the provider answered ${status}`);
      return body as Charge;
    },
    async find(reference, signal) {
      const { status, body } = await call('inquire', reference, () =>
        fetch(`${origin}/charges?reference=${encodeURIComponent(reference)}`, { signal }),
      );
      if (status === 404) return null;
      if (status !== 200) throw new Error(`the provider answered ${status}`);
      return body as Charge;
    },
    ledger: async () => (await (await fetch(`${origin}/ledger`)).json()) as ProviderLedger,
  };
}

/** As real ones: some hundred milliseconds, so that a second click and a hang-up meet a payment under way. */
const CALM = { port: 0, seed: null, faultRate: 0, fastestMs: 300, slowestMs: 800, lateMs: 10_000 };

/** Starts the provider's process, with its file in the folder. */
export function startProvider(
  folder: string,
  settings: Partial<Omit<ProviderSettings, 'file'>> = {},
): Promise<Child> {
  const all: ProviderSettings = { ...CALM, ...settings, file: join(folder, 'provider.db') };
  return startChild('./provider-process.js', 'SAMEKEY_PROVIDER', all);
}
