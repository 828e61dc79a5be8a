/**
 * The Fetch handler called directly, without sockets: what Samekey costs beside the least a handler can do. Prints µs of CPU
 * per request as JSON, one number a round for each of the two.
 */
import { randomUUID } from 'node:crypto';
import { createSamekey } from 'samekey';
import { idempotent } from 'samekey/fetch';
import { memoryStore } from 'samekey/stores/memory';
import { BODY } from './body.mjs';

const [rounds = 10, requests = 2000] = process.argv.slice(2).map(Number);
const AT_ONCE = 16;

/** @param {Request} request */
async function order(request) {
  const body = /** @type {{ amountCents: number, items: unknown[] }} */ (await request.json());
  const answer = { id: 'ord_1', amountCents: body.amountCents, items: body.items.length };
  return Response.json(answer, { status: 201 });
}

function protectedOrder() {
  const samekey = createSamekey({ store: memoryStore({ recordsMax: 1_000_000 }) });
  return idempotent(samekey, { policy: 'payments', scope: () => ['bench', 'customer-1'] }, order);
}

/** @param {(request: Request) => Promise<Response>} handler */
async function measure(handler) {
  globalThis.gc?.();
  let left = requests;
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) {
        const headers = { 'content-type': 'application/json', 'idempotency-key': `"${randomUUID()}"` };
        const request = new Request('http://127.0.0.1/orders', { method: 'POST', headers, body: BODY });
        const answer = await handler(request);
        await answer.arrayBuffer();
        if (answer.status !== 201) throw new Error(`answered ${answer.status}`);
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requests;
}

/** @type {{ bare: number[], protected: number[] }} */
const result = { bare: [], protected: [] };
for (let round = -2; round < rounds; round++) {
  const bare = await measure(order);
  const guarded = await measure(protectedOrder());
  if (round < 0) continue;
  result.bare.push(bare);
  result.protected.push(guarded);
}
process.stdout.write(JSON.stringify(result));
