/** Effects of phased operations: calls that were made, may have been made, and must not be made a second time. */

import assert from 'node:assert/strict';
import type { EffectCall, EffectRule } from 'samekey/internals/ways/effect';
import type { Operation } from 'samekey/internals/ways/define-operation';
import type { PhasedAttempt } from 'samekey/internals/ways/phased';
import { type AddEngineTest, CLAIM_TTL_MS, type EngineBench, type EngineNode } from './bench.ts';
import { met } from './expect.ts';
import { createSignal } from './signals.ts';

const CALL_TIME_MAX_MS = 4_000;
const REQUEST = { scope: ['tenant-1'], key: 'pay-1', input: null } as const;
const DOWNSTREAM: EffectRule<string> = {
  rule: 'downstreamKey',
  retentionMs: 1_000_000,
  callTimeMaxMs: CALL_TIME_MAX_MS,
};

/** An operation with one call to a provider. */
function payOn(
  { samekey }: EngineNode,
  rule: EffectRule<string>,
  call: (effect: EffectCall) => Promise<string>,
): Operation<null, string> {
  return samekey.phased({
    name: 'pay',
    run: async (_input: null, attempt) => attempt.effect('charge', call, rule),
  });
}

/** An operation that has made its call, whose reply was lost, and the record that is left to the next attempt. */
async function callLost(bench: EngineBench, rule: EffectRule<string>): Promise<EngineNode> {
  const a = await bench.node();
  const lost = payOn(a, rule, () => Promise.reject(new Error('socket hang up')));
  met(await bench.until(lost.run(REQUEST)), 'in-progress');
  return a;
}

export function effectRuleTests(test: AddEngineTest): void {
  test('an effect is called once, and what it gave is given again', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    let calls = 0;
    for (const node of [a, b]) {
      const pay = payOn(node, DOWNSTREAM, async () => {
        calls += 1;
        return `charge-${calls}`;
      });
      const outcome = await bench.until(pay.run(REQUEST));
      assert.ok('value' in outcome && outcome.value === 'charge-1', outcome.kind);
    }
    assert.equal(calls, 1);
  });

  // F61, F69: the provider has not seen it yet when it is asked, and makes the payment a moment later.
  test('a provider that does not know of a call while it may be under way is asked again, and the call is not repeated', async (bench) => {
    let landed = false;
    let inquiries = 0;
    const rule: EffectRule<string> = {
      rule: 'inquire',
      callTimeMaxMs: CALL_TIME_MAX_MS,
      inquire: async () => {
        inquiries += 1;
        return landed ? { result: 'charged' } : null;
      },
    };
    await callLost(bench, rule);
    const b = await bench.node();
    b.world.setTimer(CALL_TIME_MAX_MS - 1, () => {
      landed = true;
    });
    let calls = 0;
    const pay = payOn(b, rule, async () => {
      calls += 1;
      return 'charged twice';
    });
    const outcome = await bench.until(pay.run(REQUEST));
    assert.deepEqual([calls, landed], [0, true]);
    assert.ok(inquiries >= 2, 'it was asked when nothing could be under way any more');
    assert.ok('value' in outcome && outcome.value === 'charged', outcome.kind);
  });

  // F19: what left this machine may have arrived.
  for (const code of [
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'ECONNABORTED',
    'UND_ERR_SOCKET',
    'UND_ERR_HEADERS_TIMEOUT',
  ]) {
    test(`a call that ends with ${code} may have taken effect: it is unknown, and is not made again`, async (bench) => {
      const [a, b] = [await bench.node(), await bench.node()];
      let calls = 0;
      for (const node of [a, b]) {
        const pay = payOn(node, { rule: 'reconcile', callTimeMaxMs: CALL_TIME_MAX_MS }, () => {
          calls += 1;
          const cause = Object.assign(new Error('the connection was cut'), { code });
          return Promise.reject(new TypeError('fetch failed', { cause }));
        });
        met(await bench.until(pay.run(REQUEST)), 'unknown');
      }
      assert.equal(calls, 1);
    });
  }

  test('a call that cannot have left is no effect: the handler decides, and the key is free', async (bench) => {
    for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']) {
      const node = await bench.node();
      const request = { ...REQUEST, key: code };
      let calls = 0;
      const pay = payOn(node, { rule: 'reconcile', callTimeMaxMs: CALL_TIME_MAX_MS }, async () => {
        calls += 1;
        if (calls === 1) throw Object.assign(new Error('nobody listens'), { code });
        return 'charged';
      });
      await assert.rejects(bench.until(pay.run(request)), /nobody listens/);
      const outcome = await bench.until(pay.run(request));
      assert.ok('value' in outcome && outcome.value === 'charged', outcome.kind);
      assert.equal(calls, 2);
    }
  });

  // F45: which clock goes on while a machine sleeps is the machine's to decide, so whichever says less is believed.
  for (const [what, pass] of [
    ['its monotonic clock stood still', (node: EngineNode) => node.world.stepWall(CLAIM_TTL_MS)],
    ['both clocks went on', () => undefined],
  ] as const) {
    test(`an owner that slept before its call until its claim was over, while ${what}, does not call beside its successor`, async (bench) => {
      const [a, b] = [await bench.node(), await bench.node()];
      const callers: string[] = [];
      const [payA, payB] = [a, b].map((node) =>
        payOn(node, DOWNSTREAM, async () => {
          callers.push(node.world.name);
          return node.world.name;
        }),
      ) as [Operation<null, string>, Operation<null, string>];
      const hold = a.holdAt('effect.before');
      const slept = payA.run(REQUEST);
      await bench.until(hold.reached);
      // Where claims are watched and not compared, the watch begins with the first look.
      met(await bench.until(payB.run(REQUEST)), 'in-progress');
      // Only the store's clock goes on, and no timer of this process runs.
      a.world.freeze();
      if (what === 'both clocks went on') await bench.pass(CLAIM_TTL_MS);
      else await bench.t.advance(CLAIM_TTL_MS);
      const successor = await bench.until(payB.run(REQUEST));
      assert.ok('value' in successor && successor.value === b.world.name, successor.kind);
      pass(a);
      a.world.thaw();
      hold.release();
      await bench.until(slept);
      assert.deepEqual(callers, [b.world.name]);
    });
  }

  // F21: what the provider has forgotten, it would do again.
  test('a call is not repeated when its provider may have forgotten the key by the end of the repetition', async (bench) => {
    for (const [ageMs, isRepeated] of [
      [6_000, true],
      [6_001, false],
    ] as const) {
      const request = { ...REQUEST, key: `aged-${ageMs}` };
      const rule = { rule: 'downstreamKey', retentionMs: 10_000, callTimeMaxMs: CALL_TIME_MAX_MS } as const;
      const [a, b] = [await bench.node(), await bench.node()];
      const lost = payOn(a, rule, () => Promise.reject(new Error('socket hang up')));
      met(await bench.until(lost.run(request)), 'in-progress');
      const { intentAt, lockedUntil } = (await bench.t.store.list({ key: request.key }))[0] ?? {};
      assert.equal(intentAt, lockedUntil, 'no time has passed since the intent');
      await bench.pass(ageMs);
      let calls = 0;
      const pay = payOn(b, rule, async ({ mayHaveRunBefore }) => {
        assert.ok(mayHaveRunBefore);
        calls += 1;
        return 'charged';
      });
      met(await bench.until(pay.run(request)), isRepeated ? 'executed' : 'unknown');
      assert.equal(calls, isRepeated ? 1 : 0);
    }
  });

  test('a call that would be repeated with another input, under another name or not at all leaves its key unknown', async (bench) => {
    const runs: Readonly<
      Record<
        string,
        (attempt: Pick<PhasedAttempt<unknown>, 'effect'>, call: () => Promise<string>) => Promise<string>
      >
    > = {
      'effect-input-changed': (attempt, call) => attempt.effect('charge', call, { ...DOWNSTREAM, input: 2 }),
      'phases-changed': (attempt, call) => attempt.effect('pay', call, { ...DOWNSTREAM, input: 1 }),
      'phases-changed at the end': async () => 'nothing to pay',
    };
    for (const [reason, run] of Object.entries(runs)) {
      const request = { ...REQUEST, key: reason };
      const [a, b] = [await bench.node(), await bench.node()];
      const lost = payOn(a, { ...DOWNSTREAM, input: 1 }, () => Promise.reject(new Error('socket hang up')));
      met(await bench.until(lost.run(request)), 'in-progress');
      let calls = 0;
      const call = async (): Promise<string> => {
        calls += 1;
        return 'charged';
      };
      const pay = b.samekey.phased({ name: 'pay', run: (_input: null, attempt) => run(attempt, call) });
      met(await bench.until(pay.run(request)), 'unknown');
      assert.equal(calls, 0);
      const record = (await bench.t.store.list({ key: request.key }))[0];
      assert.equal(record?.reason, reason.split(' ')[0]);
    }
  });

  test('the intent is stored before the call, and the result before anybody is told of it', async (bench) => {
    const a = await bench.node();
    const called = createSignal();
    const go = createSignal();
    const pay = payOn(a, DOWNSTREAM, async () => {
      called.send();
      await go.sent;
      return 'charged';
    });
    const running = pay.run(REQUEST);
    await bench.until(called.sent);
    const open = (await bench.t.store.list({ key: REQUEST.key }))[0];
    assert.ok(open?.intentAt !== null && open?.steps?.includes('charge') === true, 'the intent stands there');
    const hold = a.holdAt('effect.applied');
    go.send();
    await bench.until(hold.reached);
    const done = (await bench.t.store.list({ key: REQUEST.key }))[0];
    assert.ok(done?.intentAt === null && done.steps?.includes('charged') === true, 'the result stands there');
    hold.release();
    await bench.until(running);
  });
}
