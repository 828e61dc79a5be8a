/** SQLite: one writer, one connection. Who waits, who is refused, and that the neighbours never pay for it. */

import assert from 'node:assert/strict';
import { isStoreError } from 'samekey/internals/core/errors';
import { type AddTest, ORDER, REQUEST, signal } from './kit.ts';
import { valueOf } from './reruns.ts';

export function oneWriterTests(test: AddTest): void {
  test('samekey.run inside a transaction on the same file is refused in words, and its neighbours go through', async (t) => {
    const { samekey } = t.instance({ policy: 'standard' });
    const [inside, go] = [signal(), signal()];
    let refusal: unknown;
    const order = samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        await t.insert(attempt.tx, input.id, input.amount);
        const nested = samekey.run(request('nested'), () => 'ran').catch((error: unknown) => error);
        inside.give();
        refusal = await nested;
        await go.given;
        return 'done';
      },
    });
    const running = order.run(REQUEST);
    await inside.given;
    // In the same turn as the nested one, so that they would share a flush.
    const neighbours = ['a', 'b', 'c'].map((key) => samekey.run(request(key), () => key));
    go.give();
    assert.equal(valueOf(await running), 'done');
    assert.deepEqual((await Promise.all(neighbours)).map(valueOf), ['a', 'b', 'c']);
    assert.ok(isStoreError(refusal), String(refusal));
    assert.match(refusal.message, /inside transaction\(\).*before or after the transaction/);
    assert.equal(await t.count(), 1);
  });

  // F64: what was acknowledged to one request is not taken back by the rollback of another.
  test('a claim acknowledged beside a transaction that rolls back survives', async (t) => {
    const { samekey } = t.instance({ policy: 'standard' });
    const [inside, go] = [signal(), signal()];
    const order = samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        await t.insert(attempt.tx, input.id, input.amount);
        inside.give();
        await go.given;
        throw new Error('rolled back');
      },
    });
    const failing = order.run(REQUEST);
    await inside.given;
    const beside = samekey.run(request('beside'), () => 'ran');
    go.give();
    await assert.rejects(failing, /rolled back/);
    assert.equal(valueOf(await beside), 'ran');
    assert.equal(valueOf(await samekey.run(request('beside'), () => 'again')), 'ran');
    assert.equal(await t.count(), 0);
  });

  // F63: who waits for the one connection is renewed between the others' transactions, and nobody takes over.
  test('eight at once take turns for longer than a claim lasts, and all commit at the first try', async (t) => {
    const claimTtlMs = 600;
    const { samekey } = t.instance({ claimTtlMs });
    const startedAt = performance.now();
    const order = samekey.transactional({
      name: 'order',
      async run(n: number, attempt) {
        await t.insert(attempt.tx, `o-${n}`, n);
        await new Promise((resolve) => setTimeout(resolve, (2 * claimTtlMs) / 8));
        assert.equal(attempt.number, 1);
        return n;
      },
    });
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, n) => order.run({ scope: ['t'], key: `k-${n}`, input: n })),
    );
    assert.deepEqual(
      outcomes.map(valueOf),
      Array.from({ length: 8 }, (_, n) => n),
    );
    assert.equal(await t.count(), 8);
    assert.ok(performance.now() - startedAt > claimTtlMs);
  });

  // F60: its claim is the length of its transaction, and nothing is renewed inside.
  test('a transaction that outlasts two renewals completes at the first try', async (t) => {
    const claimTtlMs = 600;
    const { samekey } = t.instance({ claimTtlMs });
    let runs = 0;
    const order = samekey.transactional({
      name: 'order',
      async run(input: typeof ORDER, attempt) {
        runs += 1;
        await t.insert(attempt.tx, input.id, input.amount);
        // A renewal is due after a third of the claim.
        await new Promise((resolve) => setTimeout(resolve, (claimTtlMs * 3) / 4));
        return attempt.number;
      },
    });
    assert.equal(valueOf(await order.run(REQUEST)), 1);
    assert.equal(runs, 1);
    assert.equal(await t.count(), 1);
  });
}

function request(key: string): { operation: string; scope: string[]; key: string; fingerprint: null } {
  return { operation: 'other', scope: ['t'], key, fingerprint: null };
}
