/**
 * Bridges across deploys (F111): code of before, code with the bridge and code after it, one after the other, at one moment, and at every
 * place at which one can overtake the other. One key runs once.
 */

import assert from 'node:assert/strict';
import { isPointer } from 'samekey/internals/engine/bridge/pointer';
import { callerOf } from 'samekey/internals/core/scope';
import { FORMAT_VERSION, POINTER_CLAIM } from 'samekey/internals/core/record';
import { response } from 'samekey/internals/core/response';
import type { AddEngineTest, EngineBench, EngineNode, EngineRequest } from './bench.ts';
import { JSON_TYPE, RETENTION_MS } from './bench.ts';
import { executed, replayed } from './expect.ts';
import { eraseRequest } from '../contract/context.ts';

const OLD: EngineRequest = { operation: 'pay-1' };
const BRIDGED: EngineRequest = { operation: 'pay-2', formerly: ['pay-1'] };
const AFTER: EngineRequest = { operation: 'pay-2' };
const TWICE: EngineRequest = { operation: 'pay-3', formerly: ['pay-1', 'pay-2'] };
/** The oldest name is left out: code from before that is still under way has laid pointers that lead on. */
const SHORTENED: EngineRequest = { operation: 'pay-3', formerly: ['pay-2'] };

/** Which versions may run side by side, with the guide: never code of before and code after the bridge. */
const SIDE_BY_SIDE: readonly (readonly [string, EngineRequest, EngineRequest])[] = [
  ['before the bridge and with it', OLD, BRIDGED],
  ['with the bridge and after it', BRIDGED, AFTER],
  ['before a second bridge and with both', AFTER, TWICE],
  ['with one bridge and with both', BRIDGED, TWICE],
  ['with one bridge and with the second alone', BRIDGED, SHORTENED],
];

async function ranOnce(
  bench: EngineBench,
  all: readonly (readonly [EngineNode, EngineRequest])[],
): Promise<void> {
  const runs = bench.runs;
  assert.equal(runs, 1, 'one key runs once');
  for (const [node, request] of all)
    replayed(await bench.until(node.ask(request)), response(201, JSON_TYPE, `{"run":${runs}}`));
  assert.equal(bench.runs, runs);
}

export function bridgeTests(test: AddEngineTest): void {
  for (const [what, older, younger] of SIDE_BY_SIDE) {
    const orders = [
      ['the older first', older, younger],
      ['the younger first', younger, older],
    ] as const;
    for (const [order, one, other] of orders) {
      test(`${what}, ${order}: one runs, the other has its answer`, async (bench) => {
        const [a, b] = [await bench.node(), await bench.node()];
        executed(await bench.until(a.ask(one)));
        await ranOnce(bench, [
          [b, other],
          [a, one],
        ]);
      });

      test(`${what}, ${order}, and the other while it runs`, async (bench) => {
        const [a, b] = [await bench.node(), await bench.node()];
        const inside = a.holdAt('handler.before');
        const first = a.ask(one);
        await bench.until(inside.reached);
        const met = await bench.until(b.ask(other));
        assert.equal(met.kind, 'in-progress');
        inside.release();
        executed(await bench.until(first));
        await ranOnce(bench, [[b, other]]);
      });

      test(`${what}, ${order}, overtaken before its first write and before its claim`, async (bench) => {
        const [a, b] = [await bench.node(), await bench.node()];
        for (const writes of [0, 1, 2]) {
          const key = `key-${writes}`;
          const before = bench.runs;
          // The n-th write is still to come when the other asks.
          let hold = a.holdAt('claim.before');
          const late = a.ask({ ...one, key });
          for (let n = 0; n < writes; n += 1) {
            await bench.until(Promise.race([hold.reached, late]));
            const next = a.holdAt('claim.before');
            hold.release();
            hold = next;
          }
          await bench.until(Promise.race([hold.reached, late]));
          const met = await bench.until(b.ask({ ...other, key }));
          hold.release();
          const end = await bench.until(late);
          const ran = [met, end].filter(({ kind }) => kind === 'executed').length;
          assert.equal(bench.runs - before, ran);
          assert.ok(ran <= 1, `${met.kind} and ${end.kind}`);
          // Whoever came between two writes of the other asks again: nothing sticks.
          await bench.pass(60_000);
          for (const [node, request] of [
            [b, other],
            [a, one],
          ] as const) {
            const { kind } = await bench.until(node.ask({ ...request, key }));
            assert.ok(kind === 'executed' || kind === 'replay', kind);
          }
          assert.equal(bench.runs - before, 1);
        }
      });
    }

    test(`${what}, both at one moment, many keys: each runs once`, async (bench) => {
      const [a, b] = [await bench.node(), await bench.node()];
      const keys = Array.from({ length: 20 }, (_, i) => `key-${i}`);
      const asked = keys.flatMap((key, i) => {
        const pair = [a.ask({ ...older, key }), b.ask({ ...younger, key })];
        return i % 2 === 0 ? pair : pair.toReversed();
      });
      await bench.until(Promise.all(asked));
      assert.ok(bench.runs <= keys.length);
      await bench.pass(60_000);
      for (const key of keys) {
        for (const [node, request] of [
          [b, younger],
          [a, older],
        ] as const) {
          const { kind } = await bench.until(node.ask({ ...request, key }));
          assert.ok(kind === 'executed' || kind === 'replay', kind);
        }
      }
      assert.equal(bench.runs, keys.length);
    });
  }

  test('a bridge that is taken out one retention after the last old process left has no second run', async (bench) => {
    const [a, b, c] = [await bench.node(), await bench.node(), await bench.node()];
    executed(await bench.until(a.ask({ ...OLD, key: 'of-old' })));
    await bench.pass(RETENTION_MS - 1_000);
    // An attempt that failed at old code, and is repeated at the last moment.
    executed(await bench.until(b.ask({ ...BRIDGED, key: 'late' })));
    await bench.pass(2_000);
    replayed(await bench.until(c.ask({ ...AFTER, key: 'late' })), response(201, JSON_TYPE, '{"run":2}'));
    // What old code had kept is past: its key acts as never used.
    executed(await bench.until(c.ask({ ...AFTER, key: 'of-old' })));
  });

  test('a key that is used again behind a pointer runs anew, and is found from both sides', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    executed(await bench.until(a.ask(BRIDGED)));
    await bench.pass(RETENTION_MS + 1_000);
    executed(await bench.until(b.ask(AFTER)));
    replayed(await bench.until(a.ask(BRIDGED)), response(201, JSON_TYPE, '{"run":2}'));
    replayed(await bench.until(b.ask(AFTER)), response(201, JSON_TYPE, '{"run":2}'));
    // The pointer outlives what it leads to, whatever becomes of that.
    await bench.pass(40 * 24 * 3_600_000);
    const met = await bench.until(b.ask(AFTER));
    assert.equal(met.kind, 'unavailable');
    assert.equal('because' in met && met.because, 'kept-elsewhere');
    await bench.pass(30 * 24 * 3_600_000);
    executed(await bench.until(b.ask(AFTER)));
  });

  // Found by a simulated history: an erased pointer is nobody's answer.
  test('what was running when its caller was erased is found behind what is left of its pointer', async (bench) => {
    const [a, b, c] = [await bench.node(), await bench.node(), await bench.node()];
    const inside = a.holdAt('handler.before');
    const first = a.ask(BRIDGED);
    await bench.until(inside.reached);
    const [laid] = await bench.t.store.list({});
    await bench.t.store.erase(eraseRequest(callerOf(laid?.scope ?? '')));
    assert.equal((await bench.until(b.ask(BRIDGED))).kind, 'in-progress');
    assert.equal((await bench.until(b.ask({ ...BRIDGED, body: 'another' }))).kind, 'mismatch');
    inside.release();
    executed(await bench.until(first));
    replayed(await bench.until(b.ask(BRIDGED)), response(201, JSON_TYPE, '{"run":1}'));
    // Whoever knows no bridge finds that it must not run.
    assert.equal((await bench.until(c.ask(AFTER))).kind, 'response-not-stored');
    assert.equal(bench.runs, 1);
  });

  // F111: found by a simulated history whose process had a wrong clock; a moment between the look and the claim is enough.
  test('what ends between the look and the claim begins anew behind its pointers', async (bench) => {
    const [a, b, c] = [await bench.node(), await bench.node(), await bench.node()];
    executed(await bench.until(a.ask(OLD)));
    await bench.pass(RETENTION_MS - 1_000);
    const held = b.holdAt('claim.before');
    const late = b.ask(BRIDGED);
    await bench.until(held.reached);
    await bench.pass(2_000);
    held.release();
    executed(await bench.until(late));
    replayed(await bench.until(c.ask(AFTER)), response(201, JSON_TYPE, '{"run":2}'));
    assert.equal(bench.runs, 2);
  });

  test('a pointer that was not laid to its end binds nobody to the request for which it was laid', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    executed(await bench.until(a.ask({ ...BRIDGED, key: 'laid' })));
    const laid = (await bench.t.store.list({})).find(isPointer);
    assert.ok(laid !== undefined);
    const dead = {
      ...laid,
      key: 'half',
      claimId: `${POINTER_CLAIM}dead`,
      input: null,
      readVersion: FORMAT_VERSION,
    };
    const request = { ...dead, retentionMs: RETENTION_MS, entry: 'run', pendingTimeMaxMs: 0 } as const;
    const fingerprint = { label: laid.fingerprint?.label ?? '', digest: 'of-another-request' };
    await bench.t.store.claim([{ ...request, fingerprint }]);
    await bench.pass(60_000);
    executed(await bench.until(a.ask({ ...BRIDGED, key: 'half' })));
    replayed(await bench.until(b.ask({ ...AFTER, key: 'half' })), response(201, JSON_TYPE, '{"run":2}'));
  });

  test('another request under the key is refused from both sides of a bridge', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    executed(await bench.until(a.ask(BRIDGED)));
    for (const [node, request] of [
      [b, AFTER],
      [b, OLD],
      [a, BRIDGED],
    ] as const)
      assert.equal((await bench.until(node.ask({ ...request, body: 'another' }))).kind, 'mismatch');
  });

  test('what is proven without effect behind a pointer runs again there, by code that knows no bridge', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    await bench.until(
      a.ask(BRIDGED, (attempt) => {
        attempt.notExecuted();
        return response(503);
      }),
    );
    executed(await bench.until(b.ask(AFTER)), { attempt: 2 });
    await ranOnce(bench, [
      [a, BRIDGED],
      [b, AFTER],
      [b, OLD],
    ]);
  });

  test('an outcome that nobody knows stays unknown behind a pointer', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    await bench.until(
      a.ask(BRIDGED, (attempt) => {
        attempt.unknown('nobody knows');
        return response(201);
      }),
    );
    assert.equal((await bench.until(b.ask(AFTER))).kind, 'unknown');
    await bench.pass(RETENTION_MS * 2);
    assert.equal((await bench.until(b.ask(AFTER))).kind, 'unknown');
    assert.equal(bench.runs, 0);
  });

  test('work that is left to a worker is found there, whoever asks', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const deferred = { entry: 'accept', input: '{}' } as const;
    for (const [node, request] of [
      [a, BRIDGED],
      [b, AFTER],
      [a, OLD],
    ] as const)
      assert.equal((await bench.until(node.ask({ ...request, ...deferred }))).kind, 'pending');
    const records = await bench.t.store.list({});
    assert.equal(records.filter((record) => !isPointer(record)).length, 1);
  });
}
