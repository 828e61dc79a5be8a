/** What is stored and what may run again: the table of contract §6.1, from the text, over a real store. */

import assert from 'node:assert/strict';
import { NotExecutedError } from 'samekey/internals/core/errors';

import type { PolicyName, Verdict } from 'samekey/internals/core/policy';
import { response, type StoredResponse } from 'samekey/internals/core/response';
import { type AddEngineTest, JSON_TYPE } from './bench.ts';
import { executed, met, replayed } from './expect.ts';

type End = number | 'throws';

/** How a handler ends, and what becomes of the record: `standard`, `payments`, `stripe`. */
const TABLE: readonly (readonly [ends: readonly End[], ...states: readonly Verdict[]])[] = [
  [[200, 201, 303], 'completed', 'completed', 'completed'],
  [[400, 402, 403, 404, 409, 410, 422], 'failed', 'failed', 'failed'],
  // F42
  [[401, 407, 425, 429], 'retryable', 'retryable', 'retryable'],
  // F68
  [[408], 'unknown', 'unknown', 'failed'],
  // F56, F57
  [[500, 503, 'throws'], 'retryable', 'unknown', 'failed'],
  // F19
  [[502, 504], 'unknown', 'unknown', 'failed'],
];
const POLICIES: readonly PolicyName[] = ['standard', 'payments', 'stripe'];

export function policyTests(test: AddEngineTest): void {
  // F42, F56, F57
  for (const [column, policy] of POLICIES.entries()) {
    test(`every end of a handler is kept, opened again or unknown as "${policy}" says`, async (bench) => {
      const [a, b] = [await bench.node({ policy }), await bench.node({ policy })];
      for (const [ends, ...states] of TABLE) {
        for (const end of ends) {
          const request = { key: `ends-${end}` };
          const state = states[column] as Verdict;
          const answer = response(end === 'throws' ? 500 : end, JSON_TYPE, '{"first":true}');
          const first = executed(await bench.until(a.ask(request, () => answerOrThrow(end, answer))), {
            state,
          });
          assert.equal((await bench.record(request))?.state, state, `${policy}: ${end}`);
          const again = await bench.until(b.ask(request));
          if (state === 'unknown') met(again, 'unknown');
          else if (state === 'retryable') executed(again, { attempt: 2, state: 'completed' });
          else replayed(again, first.response);
        }
      }
    });
  }

  test('a handler that says that it did nothing is believed, whatever it answers', async (bench) => {
    const [a, b] = [await bench.node({ policy: 'payments' }), await bench.node({ policy: 'payments' })];
    const declined = (key: string): Promise<unknown> =>
      bench.until(
        a.ask({ key }, (attempt) => {
          attempt.notExecuted();
          return response(500);
        }),
      );
    await declined('said');
    await bench.until(a.ask({ key: 'thrown' }, () => Promise.reject(new NotExecutedError('no connection'))));
    for (const key of ['said', 'thrown']) {
      assert.deepEqual(await bench.record({ key }).then((record) => [record?.state, record?.proof]), [
        'retryable',
        'declared',
      ]);
      met(await bench.until(b.ask({ key, body: 'another' })), 'mismatch');
      executed(await bench.until(b.ask({ key })), { attempt: 2, state: 'completed' });
    }
  });

  test('a correctable refusal lets go of the body, and the corrected one is bound instead', async (bench) => {
    const [a, b] = [await bench.node({ policy: 'stripe' }), await bench.node({ policy: 'stripe' })];
    const refused = a.ask({ body: 'wrong' }, (attempt) => {
      attempt.notExecuted({ correctable: true });
      return response(400);
    });
    executed(await bench.until(refused), { state: 'retryable' });
    const { response: answer } = executed(await bench.until(b.ask({ body: 'right' })), { attempt: 2 });
    for (const node of [a, b]) {
      met(await bench.until(node.ask({ body: 'wrong' })), 'mismatch');
      replayed(await bench.until(node.ask({ body: 'right' })), answer);
    }
  });

  test('a key whose attempts are used up runs no more, in whatever process', async (bench) => {
    const [a, b] = [await bench.node({ attemptMax: 2 }), await bench.node({ attemptMax: 2 })];
    const failing = (): StoredResponse => {
      bench.count();
      return response(503);
    };
    for (const [i, node] of [a, b].entries())
      executed(await bench.until(node.ask({}, failing)), { attempt: i + 1, state: 'retryable' });
    for (const node of [a, b, await bench.node()]) met(await bench.until(node.ask()), 'attempts-exhausted');
    assert.equal(bench.runs, 2);
  });
}

function answerOrThrow(end: End, answer: StoredResponse): StoredResponse {
  if (end === 'throws') throw new Error('on purpose');
  return answer;
}
