/** All money that was taken in a run, whoever took it. */

import type { Recorder } from './run-recorder.ts';

/** Money that was taken. */
export interface Charge {
  readonly id: string;
  readonly amountCents: number;
  readonly order: string;
}

/** The books of a run. */
export interface Books {
  readonly charges: readonly Charge[];
  /** Money is taken; says whether some was taken for this order before. */
  take(order: string, amountCents: number): { readonly charge: Charge; readonly isSecond: boolean };
}

/** Opens them, empty. */
export function openBooks(recorder: Recorder, prefix: string): Books {
  const charges: Charge[] = [];
  return {
    charges,
    take(order, amountCents) {
      const isSecond = charges.some((one) => one.order === order);
      const charge = { id: `${prefix}_${charges.length + 1}`, amountCents, order };
      charges.push(charge);
      recorder.taken(amountCents);
      return { charge, isSecond };
    },
  };
}
