/** Compares so many generated lines, and prints the largest heap that was seen after a collection. */
import { compareLedgers } from '../../dist/reconcile/index.js';

const count = Number(process.argv[2]);

/** @param {boolean} ours */
async function* lines(ours) {
  for (let at = 0; at < count; at += 1) {
    if (ours && at % 1_000 === 7) continue;
    yield {
      reference: `pay_${String(at).padStart(12, '0')}`,
      amount: `${at}.50`,
      currency: 'eur',
      state: 'paid',
    };
  }
}

let heapMaxBytes = 0;
let seen = 0;
const differences = compareLedgers(lines(true), lines(false), { map: (row) => row });
for (;;) {
  const next = await differences.next();
  if (seen % Math.max(1, Math.floor(count / 20_000)) === 0) {
    globalThis.gc?.();
    heapMaxBytes = Math.max(heapMaxBytes, process.memoryUsage().heapUsed);
  }
  seen += 1;
  if (next.done === true) {
    process.stdout.write(JSON.stringify({ heapMaxBytes, totals: next.value }));
    break;
  }
}
