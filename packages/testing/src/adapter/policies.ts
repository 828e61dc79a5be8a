/** What each policy makes of each ending (contract §6), as a retry sees it. */

import assert from 'node:assert/strict';
import { NotExecutedError, OutcomeUnknownError } from 'samekey/internals/core/errors';
import type { PolicyName } from 'samekey/internals/core/policy';
import type { WireAnswer } from './client.ts';
import { assertProblem, assertReplay, header, text } from './expect.ts';
import { type AddTest, jsonRequest } from './kit.ts';

type Ending = number | 'throw';
type Retry = 'replay' | 'run' | 'unknown';

/** The table of contract §6.1, its rows for the plain way (F42, F56, F57). */
const TABLE: readonly (readonly [endings: readonly Ending[], Readonly<Record<PolicyName, Retry>>])[] = [
  [[200, 201, 204, 302, 303], { standard: 'replay', payments: 'replay', stripe: 'replay' }],
  [[400, 402, 403, 404, 409, 410, 422], { standard: 'replay', payments: 'replay', stripe: 'replay' }],
  [[401, 407, 425, 429], { standard: 'run', payments: 'run', stripe: 'run' }],
  [[408], { standard: 'unknown', payments: 'unknown', stripe: 'replay' }],
  [[500, 503, 'throw'], { standard: 'run', payments: 'unknown', stripe: 'replay' }],
  [[502, 504], { standard: 'unknown', payments: 'unknown', stripe: 'replay' }],
];

const WORDS: Readonly<Record<Retry, string>> = {
  replay: 'is replayed',
  run: 'runs again',
  unknown: 'is unknown and does not run again',
};

/** The retry met what the policy says. */
function assertRetry(expected: Retry, first: WireAnswer, again: WireAnswer): void {
  if (expected === 'replay') return assertReplay(first, again);
  if (expected === 'unknown') return assertProblem(again, 409, 'outcome-unknown');
  assert.equal(again.status, first.status);
  assert.equal(header(again, 'idempotency-replayed'), undefined);
  if (header(first, 'x-attempt') !== undefined) assert.equal(header(again, 'x-attempt'), '2');
}

export function policyTests(test: AddTest): void {
  for (const [endings, retries] of TABLE) {
    for (const policy of ['standard', 'payments', 'stripe'] as const) {
      test(`under ${policy}, ${endings.join(', ')} ${WORDS[retries[policy]]}`, async (t) => {
        for (const ending of endings) {
          const app = await t.start({
            routes: [
              {
                options: { policy },
                handler({ attempt }) {
                  if (ending === 'throw') throw new Error('the handler broke');
                  return { status: ending, headers: [['X-Attempt', String(attempt?.number)]] };
                },
              },
            ],
          });
          const key = `key-${ending}`;
          const first = await app.post(key);
          assert.equal(first.status, ending === 'throw' ? 500 : ending);
          assertRetry(retries[policy], first, await app.post(key));
          assert.equal(app.runs, retries[policy] === 'run' ? 2 : 1);
        }
      });
    }
  }

  test('the attempt that follows knows why it may run', async (t) => {
    const app = await t.start({
      routes: [
        {
          handler: ({ attempt }) =>
            attempt?.number === 1
              ? { status: 503 }
              : { status: 200, body: JSON.stringify([attempt?.number, attempt?.resumed]) },
        },
      ],
    });
    assert.equal((await app.post('key-1')).status, 503);
    const second = await app.post('key-1');
    assert.equal(text(second), '[2,{"proof":"policy","reason":"status-503"}]');
    assertReplay(second, await app.post('key-1'));
  });

  test('a key whose attempts are used up says so and runs no more', async (t) => {
    const options = { policy: 'standard', attemptMax: 2 } as const;
    const app = await t.start({ routes: [{ options, handler: () => ({ status: 503 }) }] });
    assert.equal((await app.post('key-1')).status, 503);
    assert.equal((await app.post('key-1')).status, 503);
    assertProblem(await app.post('key-1'), 409, 'attempts-exhausted');
    assertProblem(await app.post('key-1'), 409, 'attempts-exhausted');
    assert.equal(app.runs, 2);
  });

  for (const policy of ['standard', 'payments', 'stripe'] as const) {
    for (const status of [200, 422, 500]) {
      test(`under ${policy}, a ${status} of an attempt that declares it did nothing runs again`, async (t) => {
        const app = await t.start({
          routes: [
            {
              options: { policy },
              handler({ attempt }) {
                attempt?.notExecuted();
                return { status };
              },
            },
          ],
        });
        const first = await app.post('key-1');
        assert.deepEqual([first.status, header(first, 'idempotency-key-expires')], [status, undefined]);
        assertProblem(await app.send(jsonRequest('key-1', { amount: 2 })), 422, 'key-reused');
        assert.equal((await app.post('key-1')).status, status);
        assert.equal(app.runs, 2);
      });
    }

    test(`under ${policy}, a handler that throws NotExecutedError runs again`, async (t) => {
      const app = await t.start({
        routes: [
          {
            options: { policy },
            handler({ attempt }) {
              if (attempt?.number === 1) throw new NotExecutedError('the bank refused the connection');
              return { status: 201 };
            },
          },
        ],
      });
      assert.equal((await app.post('key-1')).status, 500);
      const finished = await app.saw('finished');
      assert.deepEqual([finished.to, finished.proof], ['retryable', 'declared']);
      assert.equal((await app.post('key-1')).status, 201);
      assert.equal(app.runs, 2);
    });
  }

  for (const policy of ['standard', 'payments', 'stripe'] as const) {
    for (const end of [200, 422, 500, 'throws OutcomeUnknownError'] as const) {
      test(`under ${policy}, a handler that does not know whether it took effect is asked about and never runs again: ${end}`, async (t) => {
        const app = await t.start({
          routes: [
            {
              options: { policy },
              handler({ attempt }) {
                if (typeof end !== 'number') throw new OutcomeUnknownError('no reply');
                attempt?.notExecuted();
                attempt?.unknown('no reply');
                return { status: end };
              },
            },
          ],
        });
        assert.equal((await app.post('key-1')).status, typeof end === 'number' ? end : 500);
        const finished = await app.saw('finished');
        assert.deepEqual([finished.to, finished.reason], ['unknown', 'said-unknown: no reply']);
        for (let i = 0; i < 2; i += 1) assertProblem(await app.post('key-1'), 409, 'outcome-unknown');
        assert.equal(app.runs, 1);
      });
    }
  }

  test('a request refused as correctable may be corrected under the same key', async (t) => {
    const app = await t.start({
      routes: [
        {
          handler({ attempt, body }) {
            const ok = Buffer.from(body).toString() === '{"amount":2}';
            if (!ok) attempt?.notExecuted({ correctable: true });
            return { status: ok ? 201 : 400 };
          },
        },
      ],
    });
    assert.equal((await app.post('key-1')).status, 400);
    const corrected = await app.send(jsonRequest('key-1', { amount: 2 }));
    assert.equal(corrected.status, 201);
    assertReplay(corrected, await app.send(jsonRequest('key-1', { amount: 2 })));
    assertProblem(await app.post('key-1'), 422, 'key-reused');
    assert.equal(app.runs, 2);
  });
}
