/** Validation before the claim (F102), and bodies that are whole and no JSON (F101): what never ran binds no key. */

import assert from 'node:assert/strict';
import type { StandardSchema } from 'samekey/internals/core/schema';
import { assertProblem, assertReplay, json } from './expect.ts';
import { type AddTest, held, jsonRequest } from './kit.ts';

/** As a library would make it: an amount of at least `least`. */
function amountFrom(least: number): StandardSchema<{ amount: number }> {
  return {
    '~standard': {
      version: 1,
      vendor: 'contract',
      validate(value) {
        const { amount } = (value ?? {}) as { amount?: unknown };
        return typeof amount === 'number' && amount >= least
          ? { value: { amount } }
          : { issues: [{ message: `at least ${least}`, path: ['amount', { key: 'a/b' }] }] };
      },
    },
  };
}

/** One route whose body must have an amount of at least so much. */
function routesFrom<Policy extends 'standard' | 'payments'>(
  policy: Policy,
  least: number,
): {
  readonly routes: readonly [
    { readonly options: { readonly policy: Policy; readonly schema: StandardSchema } },
  ];
} {
  return { routes: [{ options: { policy, schema: amountFrom(least) } }] };
}

export function validationTests(test: AddTest): void {
  // F102
  test('input that its schema refuses claims nothing: the corrected body runs under the same key', async (t) => {
    const app = await t.start({ routes: [{ options: { policy: 'standard', schema: amountFrom(1) } }] });
    const wrong = await app.send(jsonRequest('key-1', { amount: 0 }));
    assertProblem(wrong, 400, 'request-invalid');
    assert.deepEqual(json(wrong)['errors'], [{ detail: 'at least 1', pointer: '#/amount/a~1b' }]);
    assert.equal(json(wrong)['retryable'], false);
    assert.deepEqual([app.runs, await t.store.list({})], [0, []]);
    const right = await app.send(jsonRequest('key-1', { amount: 1 }));
    assert.deepEqual([right.status, app.runs], [201, 1]);
    assertReplay(right, await app.send(jsonRequest('key-1', { amount: 1 })));
  });

  // F102
  test('a schema that a deploy made stricter turns no replay into a refusal', async (t) => {
    const first = await (await t.start(routesFrom('standard', 1))).send(jsonRequest('key-1', { amount: 1 }));
    const stricter = await t.start(routesFrom('standard', 10));
    assertReplay(first, await stricter.send(jsonRequest('key-1', { amount: 1 })));
    assertProblem(await stricter.send(jsonRequest('key-1', { amount: 2 })), 422, 'key-reused');
    assertProblem(await stricter.send(jsonRequest('key-2', { amount: 1 })), 400, 'request-invalid');
    assert.equal(stricter.runs, 0);
  });

  // F102, F118
  test('a known key that may run is refused for its input, and not for a rule that holds for new keys only', async (t) => {
    const [{ options }] = routesFrom('standard', 1).routes;
    const failing = await t.start({ routes: [{ options, handler: () => ({ status: 500 }) }] });
    assert.equal((await failing.send(jsonRequest('key-1', { amount: 1 }))).status, 500);
    const [{ options: later }] = routesFrom('standard', 10).routes;
    const stricter = await t.start({ routes: [{ options: { ...later, key: { lengthMin: 30 } } }] });
    assertProblem(await stricter.send(jsonRequest('key-1', { amount: 1 })), 400, 'request-invalid');
    assertProblem(await stricter.send(jsonRequest('key-2', { amount: 1 })), 400, 'key-too-short');
    assert.equal(stricter.runs, 0);
  });

  // F102
  test('invalid input meets a running attempt and an unknown outcome as any other does', async (t) => {
    const slow = held({ status: 504 });
    const [route] = routesFrom('payments', 1).routes;
    const app = await t.start({ routes: [{ ...route, handler: slow.handler }] });
    const stricter = await t.start(routesFrom('payments', 10));
    const running = app.send(jsonRequest('key-1', { amount: 1 }));
    await slow.started;
    assertProblem(await stricter.send(jsonRequest('key-1', { amount: 1 })), 409, 'in-progress');
    slow.release();
    await running;
    assertProblem(await stricter.send(jsonRequest('key-1', { amount: 1 })), 409, 'outcome-unknown');
    assert.equal(stricter.runs, 0);
  });

  // F102
  test('where the store cannot be asked, invalid input is answered 503: its key may be known', async (t) => {
    const app = await t.start({ routes: [{ options: { policy: 'standard', schema: amountFrom(1) } }] });
    t.store.inject('refuse', { verb: 'find' });
    assertProblem(await app.send(jsonRequest('key-1', { amount: 0 })), 503, 'store-unavailable');
  });

  // F101
  test('a body that is whole and no JSON is refused, and not to be sent again unchanged', async (t) => {
    const app = await t.start({ routes: [{ options: { policy: 'standard', schema: amountFrom(1) } }] });
    const refused = await app.send(jsonRequest('key-1', '{"amount":1'));
    assertProblem(refused, 400, 'body-malformed');
    assert.equal(json(refused)['retryable'], false);
    assert.deepEqual([app.runs, await t.store.list({})], [0, []]);
    assert.equal((await app.send(jsonRequest('key-1', { amount: 1 }))).status, 201);
  });
}
