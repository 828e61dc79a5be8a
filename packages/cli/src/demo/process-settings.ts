/**
 * What the demo's processes are told at their start, as JSON in their environment: what starts one and what runs in it
 * agree here.
 */

import type { PaymentSettings } from './pay.ts';

/** How it is to be. */
export interface WorkerSettings {
  readonly dir: string;
  readonly providerOrigin: string;
  readonly payment: PaymentSettings;
  /** Says nothing of its calls. */
  readonly quiet: boolean;
}

/** How it is to be. */
export interface ShopSettings {
  readonly dir: string;
  readonly port: number;
  readonly providerOrigin: string;
  readonly payment: PaymentSettings;
}
