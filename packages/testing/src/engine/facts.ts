/**
 * Facts beat code: an operation has charged, or may have, and then its name is run by code of another way, other steps or other rules. What
 * the record holds decides: who does not know it neither runs nor guesses, and who knows it goes on, so that neither a rolling deploy nor a
 * rollback runs anything twice or leaves anything behind (F109, F110, F114).
 */

import assert from 'node:assert/strict';
import type { EffectRule } from 'samekey/internals/ways/effect';
import type { SamekeyRecord } from 'samekey/internals/core/record';
import { internalsOf } from 'samekey/internals/samekey';
import { pushDue } from 'samekey/internals/ways/completer';
import type { RunOutcome } from 'samekey/internals/ways/direct';
import type { PhasedAttempt } from 'samekey/internals/ways/phased';
import { type AddEngineTest, CLAIM_TTL_MS, type EngineBench, type EngineNode } from './bench.ts';
import { ruleChangeTests } from './effect-rule-changes.ts';
import { met } from './expect.ts';
import { createSignal } from './signals.ts';

const NAME = 'pay';
const REQUEST = { scope: ['tenant-1'], key: 'pay-1', input: null } as const;
/** So often other code is asked: more often than a key has attempts. */
const ASKED = 12;
const RULE: EffectRule<string> = { rule: 'downstreamKey', retentionMs: 1_000_000, callTimeMaxMs: 2_000 };

/** What was done outside, by whomever. */
interface World {
  charges: number;
  /** Runs of code that knows no steps. */
  runs: number;
}

type Ask = (key?: string) => Promise<RunOutcome<unknown>>;
type Steps = Pick<PhasedAttempt<unknown>, 'effect'>;

function phasedOn({ samekey }: EngineNode, run: (attempt: Steps) => Promise<unknown>): Ask {
  const operation = samekey.phased({ name: NAME, run: async (_input: null, attempt) => run(attempt) });
  return (key = REQUEST.key) => operation.run({ ...REQUEST, key });
}

/** The code that knows the steps. */
function paying(world: World): (attempt: Steps) => Promise<unknown> {
  return (attempt) =>
    attempt.effect(
      'charge',
      async ({ downstreamKey }) => {
        // The provider makes one charge of all calls with one key.
        world.charges = Math.max(world.charges, 1);
        return `charged by ${downstreamKey.length}`;
      },
      RULE,
    );
}

/** What a record may hold when the other code meets it. */
const FACTS: Readonly<Record<string, (bench: EngineBench, world: World, key?: string) => Promise<void>>> = {
  async 'has charged, and was to go on'(bench, world, key) {
    const ask = phasedOn(await bench.node(), async (attempt) => {
      await paying(world)(attempt);
      throw new Error('after the charge');
    });
    await assert.rejects(bench.until(ask(key)), /after the charge/);
  },
  async 'has charged, and its process is gone'(bench, world, key) {
    const node = await bench.node();
    const charged = createSignal();
    const ask = phasedOn(node, async (attempt) => {
      await paying(world)(attempt);
      charged.send();
      await node.sleep(1_000);
      return 'never';
    });
    await gone(bench, node, () => ask(key), charged.sent, key);
  },
  async 'may have charged, and was to find out'(bench, world, key) {
    const ask = phasedOn(await bench.node(), (attempt) =>
      attempt.effect(
        'charge',
        async () => {
          world.charges += 1;
          throw new Error('socket hang up');
        },
        RULE,
      ),
    );
    met(await bench.until(ask(key)), 'in-progress');
  },
  async 'may have charged, and its process is gone'(bench, world, key) {
    const node = await bench.node();
    const called = createSignal();
    const ask = phasedOn(node, (attempt) =>
      attempt.effect(
        'charge',
        async () => {
          world.charges += 1;
          called.send();
          await node.sleep(1_000);
          return 'never';
        },
        RULE,
      ),
    );
    await gone(bench, node, () => ask(key), called.sent, key);
  },
};

async function gone(
  bench: EngineBench,
  node: EngineNode,
  ask: Ask,
  at: Promise<void>,
  key?: string,
): Promise<void> {
  void ask().catch(() => undefined);
  await bench.until(at);
  const before = await bench.node();
  // Where claims are watched and not compared, the watch begins with the first look.
  met(await bench.until(phasedOn(before, async () => 'never')(key)), 'in-progress');
  node.world.freeze();
  const isWatched = !bench.t.store.capabilities.serverClock;
  if (isWatched) await bench.t.store.sweep(10);
  await bench.pass(CLAIM_TTL_MS);
  if (isWatched) await bench.t.store.sweep(10);
}

/** Code of other ways under the same name. */
const WAYS: Readonly<Record<string, (node: EngineNode, world: World) => Ask>> = {
  plain({ samekey }, world) {
    const run = (): number => (world.runs += 1);
    const operation = samekey.plain({ name: NAME, policy: 'standard', run });
    return (key = REQUEST.key) => operation.run({ ...REQUEST, key });
  },
  // What middleware and `run` ask of the engine is the same.
  'a handler of its own'({ samekey }, world) {
    const { scope } = REQUEST;
    const request = { operation: NAME, scope, fingerprint: null, policy: 'standard' } as const;
    return (key = REQUEST.key) => samekey.run({ ...request, key }, () => (world.runs += 1));
  },
  // As a transactional one: its claim may be taken over.
  'a handler that may run again'({ samekey }, world) {
    const run = (): number => (world.runs += 1);
    const operation = samekey.plain({ name: NAME, policy: 'standard', whenClaimEnds: 'resume', run });
    return (key = REQUEST.key) => operation.run({ ...REQUEST, key });
  },
  deferred({ samekey }, world) {
    const run = (): number => (world.runs += 1);
    const operation = samekey.deferred(samekey.plain({ name: NAME, policy: 'standard', run }));
    return (key = REQUEST.key) => operation.run({ ...REQUEST, key });
  },
  'phased, with the step under another name'(node, world) {
    return phasedOn(node, (attempt) => attempt.effect('pay', async () => (world.runs += 1), RULE));
  },
  'phased, with another step before it'(node, world) {
    return phasedOn(node, async (attempt) => {
      await attempt.effect('reserve', async () => (world.runs += 1), RULE);
      return paying(world)(attempt);
    });
  },
  'phased, without the step'(node) {
    return phasedOn(node, async () => 'nothing to pay');
  },
  'phased, with a phase of the name'({ samekey }, world) {
    const operation = samekey.phased({
      name: NAME,
      run: async (_input: null, attempt) => attempt.phase('charge', () => (world.runs += 1)),
    });
    return (key = REQUEST.key) => operation.run({ ...REQUEST, key });
  },
};

async function recordOf(bench: EngineBench, key: string): Promise<SamekeyRecord> {
  const [record] = await bench.t.store.list({ key });
  assert.ok(record !== undefined, 'the record must be there');
  return record;
}

export function factTests(test: AddEngineTest): void {
  for (const [fact, arrange] of Object.entries(FACTS)) {
    // F109
    test(`an operation that ${fact} is run by no code that does not know it, and goes on with code that does`, async (bench) => {
      for (const [way, open] of Object.entries(WAYS)) {
        const world: World = { charges: 0, runs: 0 };
        await arrange(bench, world, way);
        const ask = open(await bench.node(), world);
        for (let times = 0; times < ASKED; times += 1) met(await bench.until(ask(way)), 'unknown');
        const left = await recordOf(bench, way);
        assert.deepEqual([left.state, left.reason], ['unknown', 'phases-changed'], way);
        assert.ok(left.attempt <= 2, `${way}: one look at most, not ${left.attempt} attempts`);
        assert.ok(left.steps !== null && left.input !== null, way);
        assert.deepEqual(world, { charges: 1, runs: 0 }, way);
        // A rollback, or the processes that are still old.
        met(await bench.until(phasedOn(await bench.node(), paying(world))(way)), 'executed');
        assert.deepEqual(world, { charges: 1, runs: 0 }, way);
        met(await bench.until(ask(way)), 'replay');
      }
    });

    // F109: without any retry of the client.
    test(`an operation that ${fact} is left alone by workers that do not know it, and finished by one that does`, async (bench) => {
      for (const way of [
        'deferred',
        'phased, with the step under another name',
        'phased, without the step',
      ]) {
        const world: World = { charges: 0, runs: 0 };
        await arrange(bench, world, way);
        await bench.t.store.sweep(10);
        const node = await bench.node();
        WAYS[way]?.(node, world);
        for (let times = 0; times < ASKED; times += 1) {
          await bench.until(pushDue(internalsOf(node.samekey), 10));
          await bench.pass(1_000);
        }
        const left = await recordOf(bench, way);
        assert.ok(left.state === 'retryable' || left.state === 'unknown', `${way}: ${left.state}`);
        assert.ok(left.attempt <= 2, `${way}: ${left.attempt} attempts`);
        assert.deepEqual(world, { charges: 1, runs: 0 }, way);
        const old = await bench.node();
        phasedOn(old, paying(world));
        const pushed = await bench.until(pushDue(internalsOf(old.samekey), 10));
        assert.deepEqual(
          pushed.map(({ outcome }) => outcome.kind),
          ['executed'],
          way,
        );
        assert.equal((await recordOf(bench, way)).state, 'completed', way);
        assert.deepEqual(world, { charges: 1, runs: 0 }, way);
      }
    });
  }

  // F109: a deploy that goes back and forth must not use up what the record has.
  test('code that does not fit tries once per process, and again when somebody has settled what was open', async (bench) => {
    const world: World = { charges: 0, runs: 0 };
    await FACTS['may have charged, and was to find out']?.(bench, world);
    const other = phasedOn(await bench.node(), (attempt) =>
      attempt.effect('charge', async () => `other ${(world.runs += 1)}`, { ...RULE, provider: 'other' }),
    );
    for (let times = 0; times < 3; times += 1) met(await bench.until(other()), 'unknown');
    const { scope, key, claimId, attempt, reason } = await recordOf(bench, REQUEST.key);
    assert.deepEqual([attempt, reason], [2, 'effect-rule-changed']);
    const word = { reason: 'not found', actor: 'operator-1', response: null } as const;
    await bench.t.store.settle([{ scope, key, claimId, attempt, to: 'retryable', ...word }]);
    // That nothing happened is a fact, too: now the call is made as if for the first time.
    met(await bench.until(other()), 'executed');
    assert.equal(world.runs, 1);
  });

  // F114
  for (const [what, whenClaimEnds] of [
    ['plain', 'unknown'],
    ['such as may run again', 'resume'],
  ] as const) {
    test(`a key that was ${what} and may run again is run by a worker once the operation is deferred`, async (bench) => {
      const old = await bench.node();
      let runs = 0;
      const plain = old.samekey.plain({
        name: NAME,
        policy: 'standard',
        whenClaimEnds,
        run: async () => {
          runs += 1;
          throw new Error('not now');
        },
      });
      await assert.rejects(bench.until(plain.run(REQUEST)), /not now/);
      const node = await bench.node();
      const later = node.samekey.deferred(
        node.samekey.plain({ name: NAME, policy: 'standard', whenClaimEnds, run: () => (runs += 1) }),
      );
      met(await bench.until(later.run(REQUEST)), 'pending');
      await bench.until(pushDue(internalsOf(node.samekey), 10));
      const outcome = await bench.until(later.run(REQUEST));
      assert.ok(outcome.kind === 'replay' && outcome.value === 2, outcome.kind);
    });
  }

  // F114: a 202 is a promise that somebody runs it.
  test('a key that code without an input is running now is told in progress and not pending by a deferred operation', async (bench) => {
    const old = await bench.node();
    const began = createSignal();
    const go = createSignal();
    const plain = old.samekey.plain({
      name: NAME,
      policy: 'standard',
      run: async () => {
        began.send();
        await go.sent;
        return 'done';
      },
    });
    const running = plain.run(REQUEST);
    await bench.until(began.sent);
    const node = await bench.node();
    const later = node.samekey.deferred(
      node.samekey.plain({ name: NAME, policy: 'standard', run: () => 'twice' }),
    );
    met(await bench.until(later.run(REQUEST)), 'in-progress');
    go.send();
    met(await bench.until(running), 'executed');
    met(await bench.until(later.run(REQUEST)), 'replay');
  });

  // F114
  test('a key that was noted for a worker is run by the next request once the operation runs at once, and by one only', async (bench) => {
    const old = await bench.node();
    let runs = 0;
    const run = (): number => (runs += 1);
    const later = old.samekey.deferred(old.samekey.plain({ name: NAME, policy: 'standard', run }));
    met(await bench.until(later.run(REQUEST)), 'pending');
    const node = await bench.node();
    const plain = node.samekey.plain({ name: NAME, policy: 'standard', run });
    const [first, second] = await bench.until(
      Promise.all([plain.run(REQUEST), pushDue(internalsOf(old.samekey), 10)]),
    );
    assert.ok(['executed', 'in-progress', 'replay'].includes(first.kind), first.kind);
    assert.ok(second.length <= 1);
    met(await bench.until(plain.run(REQUEST)), 'replay');
    assert.equal(runs, 1);
  });

  ruleChangeTests(test);
}
