/** The request body of the benchmarks: 1 KB of JSON as an order API gets it, with nesting, numbers and an escape. */

/** @type {{ customerId: string, currency: string, amountCents: number, items: object[], note: string }} */
const order = {
  customerId: 'cus_9f3b2c',
  currency: 'usd',
  amountCents: 45_900,
  items: Array.from({ length: 8 }, (_, i) => ({
    sku: `SKU-${1000 + i}`,
    title: `Item number ${i} "boxed"`,
    quantity: i + 1,
    unitPrice: 12.5 * (i + 1),
    gift: i % 2 === 0,
  })),
  note: '',
};
const SIZE = 1024;
order.note = 'n'.repeat(SIZE - JSON.stringify(order).length);

/** Exactly 1,024 bytes. */
export const BODY = JSON.stringify(order);
