/**
 * What a request that met a running attempt is told of when to ask again (F86): soon at first, later as the attempt grows older, near the
 * end of an operation whose length is known, and never beyond what the claim has left.
 */

import assert from 'node:assert/strict';
import type { Outcome } from 'samekey/internals/core/outcome';
import { response } from 'samekey/internals/core/response';
import {
  type AddEngineTest,
  CLAIM_TTL_MS,
  type EngineBench,
  type EngineNode,
  type EngineRequest,
  heldHandler,
  JSON_TYPE,
} from './bench.ts';
import { executed, met, replayed } from './expect.ts';

export function askingAgainTests(test: AddEngineTest): void {
  // F86
  test('a running attempt is asked about after a second at first, and later the older it is', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const end = await begin(bench, a);
    for (const [atMs, seconds] of [
      [100, 1],
      [1_000, 1],
      [2_500, 3],
    ] as const) {
      await bench.pass(atMs - bench.now);
      for (const node of [a, b]) assert.equal(await told(bench, node), seconds, `${atMs} ms`);
    }
    // Renewed, its claim lasts longer and it is not younger.
    await bench.pass(8_500 - bench.now);
    const renewals = (await bench.record())?.renewals ?? 0;
    assert.ok(renewals > 0);
    assert.ok((await told(bench, b)) >= 5, 'at least two thirds of its age');
    await end();
  });

  // F86: from its own claim, not from the first use of the key.
  test('a later attempt is as young as its own claim', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    executed(await bench.until(a.ask({}, () => response(503))), { state: 'retryable' });
    await bench.pass(50_000);
    const end = await begin(bench, a);
    await bench.pass(100);
    for (const node of [a, b]) assert.equal(await told(bench, node), 1);
    await end();
  });

  // F86
  test('nobody is told to wait longer than the claim of a silent owner lasts', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    await begin(bench, a);
    a.world.kill();
    await bench.until(b.ask());
    for (const leftMs of [4_000, 2_500, 1_200]) {
      await bench.pass(CLAIM_TTL_MS - leftMs - bench.now);
      assert.equal(await told(bench, b), Math.floor(leftMs / 1_000));
    }
  });

  // F86
  test('an operation whose length this process knows is asked about near its end', async (bench) => {
    const node = await bench.node({ claimTtlMs: 60_000 });
    for (let i = 0; i < 8; i += 1) await bench.until(slow(node, 6_000, { key: `earlier-${i}` }));
    const startedAt = bench.now;
    const running = slow(node, 6_000, {});
    for (const [ageMs, seconds] of [
      [100, 1],
      [1_500, 3],
      [4_000, 2],
      [5_900, 1],
    ] as const) {
      await bench.pass(startedAt + ageMs - bench.now);
      assert.equal(await told(bench, node), seconds, `${ageMs} ms`);
    }
    executed(await bench.until(running));
  });

  // F86
  test('who has waited in vain is told by what is known then', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const end = await begin(bench, a);
    for (const node of [a, b]) {
      const startedAt = bench.now;
      const waited = { waitMaxMs: 1_200 };
      assert.ok((await told(bench, node, waited)) >= 2, `${bench.now - startedAt} ms`);
    }
    await end();
  });

  // F86: 202.
  test('a request that is left to a worker is asked about after a second at first, noted, waiting and at work', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const noted = { entry: 'accept', input: '1' } as const;
    assert.equal(met(await bench.until(b.ask(noted)), 'pending').retryAfterMs, 1_000);
    await bench.pass(3_500);
    assert.equal(met(await bench.until(b.ask(noted)), 'pending').retryAfterMs, 4_000);
    const end = await begin(bench, a, { ...noted, entry: 'take' });
    await bench.pass(300);
    for (const node of [a, b])
      assert.equal(met(await bench.until(node.ask(noted)), 'pending').retryAfterMs, 1_000);
    await bench.pass(2_200);
    for (const node of [a, b])
      assert.equal(met(await bench.until(node.ask(noted)), 'pending').retryAfterMs, 3_000);
    await end();
  });

  // F86: a client that asks when it is told, and half of that later at worst.
  for (const knows of [false, true]) {
    test(`a client whose first answer was lost has it within two seconds of its first request, for a handler of 300 ms${knows ? ' that ran before' : ''}`, async (bench) => {
      const [a, b] = [await bench.node(), await bench.node()];
      if (knows) {
        for (let i = 0; i < 8; i += 1) {
          await bench.until(slow(a, 300, { key: `a-${i}` }));
          await bench.until(slow(b, 300, { key: `b-${i}` }));
        }
      }
      for (const [i, askedMs] of [0, 10, 150, 290].entries()) {
        for (const [j, node] of [a, b].entries()) {
          const key = `asked-${i}-${j}`;
          const startedAt = bench.now;
          const first = slow(a, 300, { key });
          await bench.pass(askedMs);
          let outcome: Outcome = await bench.until(node.ask({ key }));
          while (outcome.kind === 'in-progress') {
            await bench.pass(1.5 * outcome.retryAfterMs);
            assert.ok(bench.now - startedAt <= 2_000, `${bench.now - startedAt} ms`);
            outcome = await bench.until(node.ask({ key }));
          }
          const { response: answer } = executed(await bench.until(first));
          replayed(outcome, answer);
          assert.ok(bench.now - startedAt <= 2_000, `${bench.now - startedAt} ms`);
        }
      }
    });
  }
}

/** What a duplicate is told, in seconds. */
async function told(bench: EngineBench, node: EngineNode, request: EngineRequest = {}): Promise<number> {
  return met(await bench.until(node.ask(request)), 'in-progress').retryAfterMs / 1_000;
}

function slow(node: EngineNode, ms: number, request: EngineRequest): Promise<Outcome> {
  return node.ask(request, async () => {
    await node.sleep(ms);
    return response(201, JSON_TYPE, '{"slow":true}');
  });
}

/** A request whose handler has begun; what it returns ends it. */
async function begin(
  bench: EngineBench,
  node: EngineNode,
  request: EngineRequest = {},
): Promise<() => Promise<void>> {
  const held = heldHandler(bench);
  const outcome = node.ask(request, held.handler);
  await bench.until(held.begun);
  return async () => {
    held.end();
    executed(await bench.until(outcome));
  };
}
