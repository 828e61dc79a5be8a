/** A body that nobody reads, under a key that a transaction has reserved and that has no record yet (F118). */

import { expect, it } from 'vitest';
import { serve } from '../../src/adapters/fetch/index.ts';
import { createSamekey } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { fromMemory } from '../../src/tx/memory/index.ts';

it('a retry that is too large by now is not told that its key is fresh while its first request runs', async () => {
  const store = memoryStore();
  const samekey = createSamekey({ store, transactions: fromMemory(store) });
  const [inside, go] = [signal(), signal()];
  const order = samekey.transactional({
    name: 'order',
    reserve: 'in-transaction',
    async run(input: { readonly amount: number }) {
      inside.give();
      await go.given;
      return input;
    },
  });
  const wide = serve(order, { scope: () => ['t'] });
  const narrow = serve(order, { scope: () => ['t'], requestSizeMaxBytes: 4 });
  const first = wide(request('k-1'));
  await inside.given;
  expect((await narrow(request('k-1'))).status).toBe(503);
  expect((await narrow(request('k-2'))).status).toBe(413);
  go.give();
  expect((await first).status).toBe(200);
  expect((await narrow(request('k-1'))).status).toBe(503);
  expect(await (await wide(request('k-1'))).json()).toEqual({ amount: 5 });
});

function request(key: string): Request {
  return new Request('http://localhost/orders', {
    method: 'POST',
    headers: { 'Idempotency-Key': `"${key}-0000000000000000"`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ amount: 5 }),
  });
}

function signal(): { readonly given: Promise<void>; give(): void } {
  let settle: (() => void) | undefined;
  const given = new Promise<void>((resolve) => {
    settle = resolve;
  });
  return { given, give: () => settle?.() };
}
