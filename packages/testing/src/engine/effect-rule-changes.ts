/** The rule of an effect changes between attempts: what is stored of the open call decides how it may be repeated (F110). */

import assert from 'node:assert/strict';
import type { EffectRule } from 'samekey/internals/ways/effect';
import { readSteps } from 'samekey/internals/ways/steps';
import type { RunOutcome } from 'samekey/internals/ways/direct';
import { type AddEngineTest, type EngineBench, type EngineNode } from './bench.ts';
import { met } from './expect.ts';

const REQUEST = { scope: ['tenant-1'], input: null } as const;
const CALL_TIME_MAX_MS = 2_000;
const HOUR_MS = 3_600_000;

type Rule = EffectRule<string>;
type Call = () => Promise<string>;

const BY_KEY = { rule: 'downstreamKey', retentionMs: HOUR_MS, callTimeMaxMs: CALL_TIME_MAX_MS } as const;
const ASKING: Rule = { rule: 'inquire', callTimeMaxMs: CALL_TIME_MAX_MS, inquire: async () => null };
const LEAVING: Rule = { rule: 'reconcile', callTimeMaxMs: CALL_TIME_MAX_MS };

const RULES: Readonly<Record<string, Rule>> = {
  'a key': BY_KEY,
  'a key at a named provider': { ...BY_KEY, provider: 'stripe' },
  'a key at another provider': { ...BY_KEY, provider: 'adyen' },
  'a question': ASKING,
  'a question to a named provider': { ...ASKING, provider: 'stripe' },
  'a reconciler': LEAVING,
};

/** One process whose code has this rule. */
function payOn(
  { samekey }: EngineNode,
  rule: Rule,
  call: Call,
): (key: string) => Promise<RunOutcome<string>> {
  const operation = samekey.phased({
    name: 'pay',
    run: async (_input: null, attempt) => attempt.effect('charge', call, rule),
  });
  return (key) => operation.run({ ...REQUEST, key });
}

async function lostOn(bench: EngineBench, rule: Rule, key: string): Promise<EngineNode> {
  const node = await bench.node();
  const lost = payOn(node, rule, () => Promise.reject(new Error('socket hang up')));
  met(await bench.until(lost(key)), rule.rule === 'reconcile' ? 'unknown' : 'in-progress');
  return node;
}

export function ruleChangeTests(test: AddEngineTest): void {
  test('an open effect is repeated by the rule and at the provider it was begun with, and by nothing else', async (bench) => {
    let calls = 0;
    let isLost = false;
    const call: Call = async () => {
      if (isLost) throw new Error('socket hang up');
      return `charge ${(calls += 1)}`;
    };
    // One process for each rule: a server has so many connections.
    const asks = new Map<string, (key: string) => Promise<RunOutcome<string>>>();
    for (const [name, rule] of Object.entries(RULES)) asks.set(name, payOn(await bench.node(), rule, call));
    const ask = async (name: string, key: string): Promise<RunOutcome<string>> =>
      bench.until((asks.get(name) as NonNullable<ReturnType<typeof asks.get>>)(key));
    for (const [was, stored] of Object.entries(RULES)) {
      if (stored.rule === 'reconcile') continue;
      for (const [is, rule] of Object.entries(RULES)) {
        const key = `${was}, then ${is}`;
        isLost = true;
        met(await ask(was, key), 'in-progress');
        isLost = false;
        calls = 0;
        if (was === is) {
          met(await ask(is, key), 'executed');
          continue;
        }
        met(await ask(is, key), 'unknown');
        const [record] = await bench.t.store.list({ key });
        const expected = rule.rule === 'reconcile' ? 'effect-unknown' : 'effect-rule-changed';
        assert.deepEqual([record?.state, record?.reason, calls], ['unknown', expected, 0], key);
        // Where the code has only become stricter, somebody has to settle it; else the former code goes on.
        met(await ask(was, key), rule.rule === 'reconcile' ? 'unknown' : 'executed');
        assert.equal(calls, rule.rule === 'reconcile' ? 0 : 1, key);
      }
    }
  });

  test('of two retentions the shorter counts, whichever code has it', async (bench) => {
    for (const [stored, own, ageMs, isRepeated] of [
      [10_000, HOUR_MS, 8_000, true],
      [10_000, HOUR_MS, 8_001, false],
      [HOUR_MS, 10_000, 8_000, true],
      [HOUR_MS, 10_000, 8_001, false],
    ] as const) {
      const key = `${stored} then ${own} at ${ageMs}`;
      await lostOn(bench, { ...BY_KEY, retentionMs: stored }, key);
      await bench.pass(ageMs);
      let calls = 0;
      // Where no server has a clock, the key may look older than it is, and never younger.
      if (isRepeated && !bench.t.store.capabilities.serverClock) continue;
      const ask = payOn(await bench.node(), { ...BY_KEY, retentionMs: own }, async () => `${(calls += 1)}`);
      met(await bench.until(ask(key)), isRepeated ? 'executed' : 'unknown');
      assert.equal(calls, isRepeated ? 1 : 0, key);
    }
  });

  test('of two times of a call the longer counts, before a repetition by key and before a question', async (bench) => {
    const long = 4_000;
    for (const [stored, own] of [
      [long, CALL_TIME_MAX_MS],
      [CALL_TIME_MAX_MS, long],
    ] as const) {
      for (const [ageMs, isRepeated] of [
        [6_000, true],
        [6_001, false],
      ] as const) {
        const key = `${stored} then ${own} at ${ageMs}`;
        const rule = { ...BY_KEY, retentionMs: 10_000 };
        await lostOn(bench, { ...rule, callTimeMaxMs: stored }, key);
        await bench.pass(ageMs);
        let calls = 0;
        if (isRepeated && !bench.t.store.capabilities.serverClock) continue;
        const ask = payOn(await bench.node(), { ...rule, callTimeMaxMs: own }, async () => `${(calls += 1)}`);
        met(await bench.until(ask(key)), isRepeated ? 'executed' : 'unknown');
        assert.equal(calls, isRepeated ? 1 : 0, key);
      }
    }
  });

  // F21, F110: a repetition makes neither the key younger nor the bounds wider for whoever comes after it.
  test('a repetition leaves the age of the key as it is, and the strictest bounds of all code that has called', async (bench) => {
    const key = 'again and again';
    const longer: Rule = { rule: 'downstreamKey', retentionMs: 10_000, callTimeMaxMs: 4_000 };
    await lostOn(bench, BY_KEY, key);
    const [first] = await bench.t.store.list({ key });
    await bench.pass(1_000);
    const noted = (await bench.node()).samekey.phased({
      name: 'pay',
      run: async (_input: null, attempt) =>
        attempt.effect(
          'charge',
          async ({ noteProviderId }) => {
            await noteProviderId('ch_1');
            throw new Error('socket hang up');
          },
          longer,
        ),
    });
    met(await bench.until(noted.run({ ...REQUEST, key })), 'in-progress');
    const [second] = await bench.t.store.list({ key });
    assert.equal(second?.intentAt, first?.intentAt);
    const [step] = readSteps(second?.steps ?? null) ?? [];
    assert.ok(step?.kind === 'effect' && step.done === null);
    const { providerId, retentionMs, timeMaxMs, attempt } = step.call ?? {};
    assert.deepEqual([providerId, retentionMs, timeMaxMs, attempt], ['ch_1', 10_000, 4_000, 1]);
    await bench.pass(5_001);
    let calls = 0;
    const last = payOn(await bench.node(), BY_KEY, async () => `${(calls += 1)}`);
    met(await bench.until(last(key)), 'unknown');
    assert.equal(calls, 0);
  });
}
