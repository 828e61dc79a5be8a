/**
 * Effects of phased operations: what a short fault of the store, an owner that stands still and a provider that answers too early make of
 * them. The provider is outside of everything and keeps its own ledger.
 */

import assert from 'node:assert/strict';
import { NotExecutedError } from 'samekey/internals/core/errors';
import { pause } from 'samekey/internals/core/pause';
import { readSteps } from 'samekey/internals/ways/steps';
import type { FaultKind } from '../faulty-store.ts';
import { type AddEngineTest, CLAIM_TTL_MS } from './bench.ts';
import { eventsOf } from './expect.ts';
import {
  CALL_TIME_MAX_MS,
  claimEnds,
  lost,
  overtaken,
  pay,
  provider,
  standing,
  stillness,
} from './paying.ts';
import { createSignal } from './signals.ts';

export function effectTests(test: AddEngineTest): void {
  // F76
  test('an effect that only ever met a refused connection fails when its attempts are used up, and is not unknown', async (bench) => {
    const [a, bank] = [await bench.node(), provider()];
    const refused = { code: 'ECONNREFUSED' };
    for (const rule of ['downstreamKey', 'inquire', 'reconcile'] as const) {
      const call = (): never => {
        throw Object.assign(new Error('connect ECONNREFUSED'), refused);
      };
      for (let tries = 1; tries <= 3; tries += 1)
        await assert.rejects(bench.until(pay(a, { bank, call, rule })), refused);
      const { kind } = await bench.until(pay(a, { bank, call, rule }));
      assert.equal(kind, 'attempts-exhausted');
      const record = await standing(bench);
      assert.deepEqual([record.state, record.steps, record.intentAt], ['failed', null, null]);
      const { scope, key, claimId, attempt, state } = record;
      await bench.t.store.forget([{ scope, key, claimId, attempt, state, reason: 'operator', actor: null }]);
      await bench.pass(CLAIM_TTL_MS);
    }
  });

  // F70
  for (const [what, fault, silent] of [
    ['refuses', 'refuse', false],
    ['loses the request', 'loseRequest', false],
    ['loses the reply', 'loseReply', false],
    ['applies it late and says nothing', 'late', true],
    ['says nothing', 'loseReply', true],
  ] as const satisfies readonly (readonly [string, FaultKind, boolean])[]) {
    for (const at of ['intent', 'result', 'note', 'removal'] as const) {
      test(`when the store ${what} at the checkpoint of the ${at} twice, it is repeated: one call, and its end`, async (bench) => {
        const [a, bank] = [await bench.node(), provider()];
        const strike = (): void => a.store.inject(fault, { verb: 'checkpoint', times: 2, silent });
        if (at === 'intent') strike();
        const paid = pay(a, {
          bank,
          rule: 'reconcile',
          async call({ noteProviderId }) {
            if (at !== 'intent') strike();
            if (at === 'note') await noteProviderId('pi_1');
            if (at === 'removal' && bank.charges.length === 0) {
              bank.charge();
              throw new NotExecutedError('closed');
            }
            return bank.charge();
          },
        });
        if (at === 'removal') {
          await assert.rejects(bench.until(paid), NotExecutedError);
          const record = await standing(bench);
          assert.deepEqual([record.state, record.steps], ['retryable', null]);
        } else {
          const ended = await bench.until(paid);
          assert.ok(ended.kind === 'executed' && ended.state === 'completed', ended.kind);
        }
        assert.deepEqual([bank.charges.length, eventsOf(a, 'contradiction').length], [1, 0]);
        assert.ok(bench.now < CLAIM_TTL_MS, `it took ${bench.now} ms`);
      });
    }
  }

  test('a checkpoint that arrives once more, after others, does not put older steps over newer ones', async (bench) => {
    const [a, bank] = [await bench.node(), provider()];
    a.store.inject('twice', { verb: 'checkpoint', byMs: 500 });
    const paid = pay(a, {
      bank,
      call: async () => bank.charge(),
      afterwards: async () => {
        await a.sleep(1_000);
        return readSteps((await standing(bench)).steps);
      },
    });
    const ended = await bench.until(paid);
    const { effect, ...step } = { effect: 'charge', done: { result: { id: 1 } } };
    const [seen] = (ended.kind === 'executed' ? ended.value : []) as readonly object[];
    assert.deepEqual({ ...seen, ...step, name: effect }, seen);
  });

  // F69
  for (const how of ['asks its signal', 'throws by its signal'] as const) {
    test(`an owner that stands still within its call and then ${how} makes no call: one charge`, async (bench) => {
      const [a, b, bank] = [await bench.node(), await bench.node(), provider()];
      const still = stillness(a);
      const frozen = pay(a, {
        bank,
        async call({ signal }) {
          await still.stand();
          if (how === 'throws by its signal') signal.throwIfAborted();
          else if (signal.aborted) throw new Error('kept back');
          return bank.charge();
        },
      });
      await bench.until(still.stands);
      await overtaken(bench, b, bank);
      a.world.thaw();
      await bench.until(frozen);
      assert.deepEqual(bank.charges, [{ id: 1 }]);
    });
  }

  // F69
  test('an owner that stands still between its intent and its call makes none, and nothing is told', async (bench) => {
    const [a, b, bank] = [await bench.node(), await bench.node(), provider()];
    const hold = a.holdAt('effect.before');
    const frozen = pay(a, { bank, call: async () => bank.charge() });
    await bench.until(hold.reached);
    a.world.freeze();
    await overtaken(bench, b, bank);
    hold.release();
    a.world.thaw();
    await bench.until(frozen);
    await bench.pass(5 * CLAIM_TTL_MS);
    assert.deepEqual([bank.charges, eventsOf(a, 'contradiction').length], [[{ id: 1 }], 0]);
  });

  // F69
  test('a late call that nobody could keep back is told as a contradiction, with a row of the audit', async (bench) => {
    const [a, b, bank] = [await bench.node(), await bench.node(), provider()];
    const still = stillness(a);
    const frozen = pay(a, {
      bank,
      async call() {
        await still.stand();
        return bank.charge();
      },
    });
    await bench.until(still.stands);
    await overtaken(bench, b, bank);
    a.world.thaw();
    await bench.until(frozen);
    await bench.pass(5 * CLAIM_TTL_MS);
    assert.equal(bank.charges.length, 2);
    const told = eventsOf(a, 'contradiction').map(({ effect, attempt, wanted, found }) => [
      effect,
      attempt,
      wanted,
      found,
    ]);
    assert.deepEqual(told, [['charge', 1, 'in_progress', 'completed']]);
    const rows = await bench.t.store.audit({ acts: ['contradiction'] });
    assert.deepEqual(
      rows.map(({ key, attempt, reason, from }) => [key, attempt, reason, from]),
      [['key-1', 1, 'effect-late', 'completed']],
    );
  });

  // F69. Found by the simulator of phased operations (seed 595893): who waits for the end of a call may wait for ever.
  test('a late call whose end never comes is told as a contradiction, once its time has passed again', async (bench) => {
    const [a, b, bank] = [await bench.node(), await bench.node(), provider()];
    const still = stillness(a);
    const frozen = pay(a, {
      bank,
      async call() {
        await still.stand();
        bank.charge();
        return new Promise<never>(() => undefined);
      },
    });
    await bench.until(still.stands);
    await overtaken(bench, b, bank);
    a.world.thaw();
    await bench.until(frozen);
    await bench.pass(5 * CLAIM_TTL_MS);
    assert.equal(bank.charges.length, 2);
    const told = eventsOf(a, 'contradiction').map(({ effect, attempt, found }) => [effect, attempt, found]);
    assert.deepEqual(told, [['charge', 1, 'completed']]);
  });

  // F69. Found by the simulator of phased operations (seed 14070913): what a closed process knows it tells nobody.
  for (const comes of [true, false]) {
    test(`closing waits for a call that was given up, and tells how it ended: ${comes ? 'late' : 'never'}`, async (bench) => {
      const [a, b, bank] = [await bench.node(), await bench.node(), provider()];
      const still = stillness(a);
      const frozen = pay(a, {
        bank,
        async call() {
          await still.stand();
          const charge = bank.charge();
          await pause(a.world, 20);
          return comes ? charge : new Promise<never>(() => undefined);
        },
      });
      await bench.until(still.stands);
      await overtaken(bench, b, bank);
      a.world.thaw();
      const closed = a.samekey.close({ drainMs: 60 * CLAIM_TTL_MS });
      await bench.until(frozen);
      assert.equal(await bench.until(closed), 0);
      a.world.kill();
      assert.equal(bank.charges.length, 2);
      assert.equal(eventsOf(a, 'contradiction').length, 1);
      assert.equal((await bench.t.store.audit({ acts: ['contradiction'] })).length, 1);
    });
  }

  test('a signal that is asked long after its call has ended tells nothing', async (bench) => {
    const [a, bank] = [await bench.node(), provider()];
    const kept: { signal?: AbortSignal } = {};
    const paid = pay(a, {
      bank,
      async call({ signal }) {
        kept.signal = signal;
        return bank.charge();
      },
    });
    await bench.until(paid);
    const record = await standing(bench);
    await bench.t.store.forget([
      {
        scope: record.scope,
        key: record.key,
        claimId: record.claimId,
        attempt: record.attempt,
        state: record.state,
        reason: 'x',
        actor: null,
      },
    ]);
    await bench.pass(5 * CLAIM_TTL_MS);
    assert.equal(kept.signal?.aborted, true);
    await bench.pass(5 * CLAIM_TTL_MS);
    assert.equal(eventsOf(a, 'contradiction').length, 0);
  });

  test('a call that ends late with what the provider told the next attempt contradicts nothing', async (bench) => {
    const [a, b, bank] = [await bench.node(), await bench.node(), provider()];
    const still = stillness(a);
    const slow = pay(a, {
      bank,
      async call() {
        const charge = bank.charge();
        await still.stand();
        return charge;
      },
    });
    await bench.until(still.stands);
    await overtaken(bench, b, bank);
    a.world.thaw();
    await bench.until(slow);
    await bench.pass(5 * CLAIM_TTL_MS);
    assert.deepEqual([bank.charges, eventsOf(a, 'contradiction').length], [[{ id: 1 }], 0]);
  });

  // F69, F61
  for (const attempts of [1, 2] as const) {
    test(`"not found" counts when no call of attempt ${attempts} can be under way any more`, async (bench) => {
      const [b, bank] = [await bench.node(), provider()];
      let node = await bench.node();
      for (let attempt = 1; attempt <= attempts; attempt += 1) {
        const dying = node;
        const called = createSignal();
        void pay(dying, {
          bank,
          async call() {
            called.send();
            dying.world.kill();
            return new Promise(() => undefined);
          },
        }).catch(() => undefined);
        await bench.until(called.sent);
        const next = attempt === attempts ? b : await bench.node();
        await claimEnds(bench, next, bank);
        node = next;
      }
      // The last call lands as late as it may.
      const [landsAfterMs, asked] = [CALL_TIME_MAX_MS - 500, bank.asked];
      const paid = pay(b, { bank, call: async () => bank.charge() });
      await bench.pass(landsAfterMs);
      assert.deepEqual([bank.asked > asked, bank.charges.length], [true, 0]);
      bank.charge();
      const ended = await bench.until(paid);
      assert.deepEqual(ended.kind === 'executed' && ended.value, { id: 1 });
      assert.equal(bank.charges.length, 1);
    });
  }

  test('an intent that its owner gave up is asked about until it is older than its claim and its call may be', async (bench) => {
    const [a, bank] = [await bench.node(), provider()];
    assert.equal((await bench.until(pay(a, { bank, call: lost }))).kind, 'in-progress');
    const calledAt: number[] = [];
    const paid = pay(a, {
      bank,
      async call() {
        calledAt.push(bench.now);
        return bank.charge();
      },
    });
    await bench.until(paid);
    assert.ok((calledAt[0] ?? 0) >= CLAIM_TTL_MS + CALL_TIME_MAX_MS, String(calledAt));
  });
}
