/** Owners that die, freeze, lose their claims and come back. */

import assert from 'node:assert/strict';
import { response } from 'samekey/internals/core/response';
import {
  type AddEngineTest,
  CLAIM_TTL_MS,
  type EngineBench,
  type EngineNode,
  heldHandler,
  JSON_TYPE,
} from './bench.ts';
import { eventsOf, executed, met, replayed } from './expect.ts';

const RESUME = { whenClaimEnds: 'resume' } as const;

export function ownerTests(test: AddEngineTest): void {
  // F1, F57
  test('when its process dies in the handler, a plain request ends as unknown and never runs again', async (bench) => {
    const [a, b] = [await bench.node({ policy: 'payments' }), await bench.node({ policy: 'payments' })];
    await begin(bench, a);
    a.world.kill();
    const { retryAfterMs } = met(await bench.until(b.ask()), 'in-progress');
    assert.ok(retryAfterMs <= CLAIM_TTL_MS);
    await bench.pass(CLAIM_TTL_MS);
    met(await bench.until(b.ask()), 'unknown');
    await bench.pass(5 * CLAIM_TTL_MS);
    for (const node of [b, await bench.node({ policy: 'payments' })])
      met(await bench.until(node.ask()), 'unknown');
    assert.equal(bench.runs, 1);
  });

  // F1, F4
  test('where resuming was chosen, the next request after the claim runs the second attempt', async (bench) => {
    const [a, b] = [await bench.node(RESUME), await bench.node(RESUME)];
    await begin(bench, a);
    a.world.kill();
    met(await bench.until(b.ask()), 'in-progress');
    await bench.pass(CLAIM_TTL_MS);
    const { response: answer } = executed(await bench.until(b.ask()), { attempt: 2, state: 'completed' });
    assert.equal(eventsOf(b, 'claimed')[0]?.resumed?.reason, 'claim-ended');
    replayed(await bench.until((await bench.node(RESUME)).ask()), answer);
    assert.equal(bench.runs, 2);
  });

  // F4
  test('an owner that was frozen past its claim cannot write over its successor, and says that both ran', async (bench) => {
    const [a, b] = [await bench.node(RESUME), await bench.node(RESUME)];
    const frozen = await begin(bench, a);
    a.world.freeze();
    met(await bench.until(b.ask()), 'in-progress');
    await bench.pass(CLAIM_TTL_MS);
    const { response: answer } = executed(await bench.until(b.ask()), { attempt: 2 });
    a.world.thaw();
    frozen.end();
    replayed(await bench.until(frozen.outcome), answer);
    const [contradiction, ...more] = eventsOf(a, 'contradiction');
    assert.deepEqual(
      [contradiction?.attempt, contradiction?.wanted, contradiction?.found, more.length],
      [1, 'completed', 'completed', 0],
    );
    const rows = await bench.t.store.audit({ acts: ['contradiction'] });
    assert.deepEqual(
      rows.map(({ scope, key, attempt, from, to }) => [scope, key, attempt, from, to]),
      [[contradiction?.id.scope, contradiction?.id.key, 1, 'completed', 'completed']],
    );
    replayed(await bench.until((await bench.node()).ask()), answer);
  });

  // F4: nobody has replaced it, and nobody has settled what it left.
  test('an owner that was only slow takes its key back from unknown and finishes', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const slow = await begin(bench, a);
    a.world.freeze();
    met(await bench.until(b.ask()), 'in-progress');
    await bench.pass(CLAIM_TTL_MS);
    met(await bench.until(b.ask()), 'unknown');
    a.world.thaw();
    await bench.pass(CLAIM_TTL_MS / 2);
    met(await bench.until(b.ask()), 'in-progress');
    slow.end();
    const { response: answer } = executed(await bench.until(slow.outcome), {
      attempt: 1,
      state: 'completed',
    });
    replayed(await bench.until(b.ask()), answer);
    assert.deepEqual([bench.runs, eventsOf(a, 'contradiction').length], [1, 0]);
  });

  test('an owner that finishes while its key is unknown gives the answer that counts', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const slow = await begin(bench, a);
    a.fail(['renew'], 'refuse');
    met(await bench.until(b.ask()), 'in-progress');
    await bench.pass(CLAIM_TTL_MS);
    met(await bench.until(b.ask()), 'unknown');
    slow.end();
    const { response: answer } = executed(await bench.until(slow.outcome), {
      state: 'completed',
      stored: true,
    });
    replayed(await bench.until(b.ask()), answer);
  });

  // F5: the process is the same, the claimId is not.
  test('a process that lost its claim and claimed again refuses the end of its own older run', async (bench) => {
    const a = await bench.node(RESUME);
    const older = await begin(bench, a);
    a.fail(['renew'], 'refuse');
    await bench.t.store.sweep(10);
    await bench.pass(CLAIM_TTL_MS);
    assert.equal((await bench.t.store.sweep(10)).length, 1);
    a.heal();
    // Its renewal finds the claim gone, so that the process no longer speaks for the key.
    await bench.pass(CLAIM_TTL_MS / 2);
    const younger = await begin(bench, a);
    older.end();
    met(await bench.until(older.outcome), 'in-progress');
    assert.deepEqual(
      eventsOf(a, 'contradiction').map(({ attempt, found }) => [attempt, found]),
      [[1, 'in_progress']],
    );
    const [row] = await bench.t.store.audit({ acts: ['contradiction'] });
    assert.deepEqual([row?.attempt, row?.from, row?.to], [1, 'in_progress', 'completed']);
    younger.end();
    const { response: answer } = executed(await bench.until(younger.outcome), {
      attempt: 2,
      state: 'completed',
    });
    replayed(await bench.until((await bench.node()).ask()), answer);
  });

  // F6
  test('an error of an owner that was replaced opens nothing: its successor goes on undisturbed', async (bench) => {
    const [a, b] = [await bench.node(RESUME), await bench.node(RESUME)];
    const old = await begin(bench, a, 503);
    a.fail(['renew'], 'refuse');
    met(await bench.until(b.ask()), 'in-progress');
    await bench.pass(CLAIM_TTL_MS);
    const successor = await begin(bench, b);
    const record = await bench.record();
    old.end();
    met(await bench.until(old.outcome), 'in-progress');
    assert.deepEqual(await bench.record(), record);
    successor.end();
    const { response: answer } = executed(await bench.until(successor.outcome), {
      attempt: 2,
      state: 'completed',
    });
    replayed(await bench.until(a.ask()), answer);
  });

  // F61, F62: an operator's word stands, and the late owner learns of it.
  test('an outcome that a person settled is not changed by its owner, who is told of it', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const late = await begin(bench, a);
    a.world.freeze();
    met(await bench.until(b.ask()), 'in-progress');
    await bench.pass(CLAIM_TTL_MS);
    met(await bench.until(b.ask()), 'unknown');
    const record = await bench.record();
    assert.ok(record !== null);
    const { scope, key, claimId, attempt } = record;
    const decided = response(200, JSON_TYPE, '{"settled":true}');
    const [settled] = await bench.t.store.settle([
      {
        scope,
        key,
        claimId,
        attempt,
        to: 'completed',
        reason: 'asked the bank',
        actor: null,
        response: decided,
      },
    ]);
    assert.equal(settled?.kind, 'applied');
    a.world.thaw();
    late.end();
    replayed(await bench.until(late.outcome), decided);
    assert.equal(eventsOf(a, 'contradiction').length, 1);
    replayed(await bench.until(b.ask()), decided);
  });

  // F45
  test('a process whose wall clock is hours behind takes no claim away, and makes no record that is born expired', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node({ wallOffsetMs: -2 * 3_600_000 })];
    const held = await begin(bench, a);
    await bench.pass(CLAIM_TTL_MS / 2);
    met(await bench.until(b.ask()), 'in-progress');
    const { response: other } = executed(await bench.until(b.ask({ key: 'of-b' })), { state: 'completed' });
    replayed(await bench.until(a.ask({ key: 'of-b' })), other);
    held.end();
    const { response: answer } = executed(await bench.until(held.outcome), { attempt: 1 });
    replayed(await bench.until(b.ask()), answer);
  });

  test('a handler that never ends holds its key no longer than its time', async (bench) => {
    const [a, b] = [await bench.node({ attemptTimeMaxMs: 60_000 }), await bench.node()];
    const hung = await begin(bench, a);
    met(await bench.until(hung.outcome), 'unknown');
    assert.ok(bench.now >= 60_000 && bench.now < 60_000 + CLAIM_TTL_MS);
    met(await bench.until(b.ask()), 'unknown');
    assert.equal(bench.runs, 1);
  });
}

/** A request whose handler has begun. */
async function begin(
  bench: EngineBench,
  node: EngineNode,
  status = 201,
): Promise<{ readonly outcome: ReturnType<EngineNode['ask']>; end(): void }> {
  const held = heldHandler(bench, (run) => response(status, JSON_TYPE, `{"run":${run}}`));
  const outcome = node.ask({}, held.handler);
  await bench.until(held.begun);
  return { outcome, end: () => held.end() };
}
