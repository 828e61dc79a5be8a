/** Judges a run by what was meant, what was taken and what people were told: the three must agree. */

import type { Charge } from './books.ts';
import type { Harm } from './trace.ts';
import { euros } from './http-lines.ts';

/** What a customer wants, once. */
export interface Intent {
  readonly order: string;
  readonly amountCents: number;
  /** What the app was told at last: paid, not paid, or nothing that counts as an end. */
  told: 'paid' | 'not-paid' | null;
}

/** What is wrong. */
export function harmsOf(intents: readonly Intent[], charges: readonly Charge[]): readonly Harm[] {
  const harms = new Set<Harm>();
  for (const { order, amountCents, told } of intents) {
    const own = charges.filter((charge) => charge.order === order);
    if (own.length > 1) harms.add('paid-twice');
    const isCharged = own.some((charge) => charge.amountCents === amountCents);
    if (told === 'paid' && !isCharged) harms.add('told-paid-and-not-charged');
    if (told === 'not-paid' && own.length > 0) harms.add('told-not-paid-and-charged');
    if (told === null && own.length > 0) harms.add('left-unpaid');
  }
  return [...harms];
}

const SAID: Readonly<Record<Harm, string>> = {
  'paid-twice': 'The customer has paid more than once for one order.',
  'told-paid-and-not-charged': 'The app shows an order as paid, and nobody has paid for it.',
  'told-not-paid-and-charged': 'The app says that the payment failed, and the money was taken.',
  'left-unpaid': 'The money was taken, and the app was never told.',
};

/** The judgement in words. */
export function verdictOf(
  harms: readonly Harm[],
  intents: readonly Intent[],
  charges: readonly Charge[],
): string {
  const meant = intents.reduce((sum, { amountCents }) => sum + amountCents, 0);
  const taken = charges.reduce((sum, { amountCents }) => sum + amountCents, 0);
  const sums = `Meant: ${euros(meant)}. Taken: ${euros(taken)}.`;
  if (harms.length > 0) {
    const times = Math.max(
      ...intents.map((intent) => charges.filter(({ order }) => order === intent.order).length),
    );
    return `${sums} ${harms.map((harm) => SAID[harm].replace('more than once', timesWord(times))).join(' ')}`;
  }
  if (intents.some(({ told }) => told !== 'paid'))
    return `${sums} Nobody has paid twice. But the app still does not know how it ends.`;
  return `${sums} Each order was paid once, and the app knows it.`;
}

/** How often something happened, as one says it. */
export function timesWord(times: number): string {
  return times === 2 ? 'twice' : `${times} times`;
}
