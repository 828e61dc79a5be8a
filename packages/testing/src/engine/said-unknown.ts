/** A handler that says that it does not know whether it took effect: neither its answer, nor the policy, nor a rollback says otherwise. */

import assert from 'node:assert/strict';
import type { Attempt, Ending } from 'samekey/internals/engine/attempt';
import { isOwnerGone } from 'samekey/internals/engine/owner-gone';
import { NotExecutedError, OutcomeUnknownError } from 'samekey/internals/core/errors';
import { response, type StoredResponse } from 'samekey/internals/core/response';
import { type AddEngineTest, CLAIM_TTL_MS, JSON_TYPE } from './bench.ts';
import { eventsOf, executed, met, replayed } from './expect.ts';

const ANSWER = response(201, JSON_TYPE, '{"paid":true}');
const REASON = 'said-unknown: no reply';

/** How such a handler ends, by name. */
const ENDS: Readonly<Record<string, (attempt: Attempt) => StoredResponse | Ending>> = {
  'answers 201': said(() => ANSWER),
  'answers 422': said(() => response(422)),
  'answers 503': said(() => response(503)),
  throws: said(() => {
    throw new Error('on purpose');
  }),
  'throws OutcomeUnknownError': () => {
    throw new OutcomeUnknownError('no reply');
  },
  'says then that it did nothing': said((attempt) => {
    attempt.notExecuted({ correctable: true });
    return response(400);
  }),
  'had said that it did nothing': (attempt) => {
    attempt.notExecuted();
    attempt.unknown('no reply');
    return response(500);
  },
  'throws NotExecutedError': said(() => {
    throw new NotExecutedError('no connection');
  }),
  'was rolled back': said(() => ({ kind: 'answered', response: response(503), rolledBack: true })),
  'was rolled back by its throw': said(() => ({
    kind: 'threw',
    error: new Error('on purpose'),
    response: response(500),
    rolledBack: true,
  })),
  'could not begin once more': said(() => ({ kind: 'not-started', error: new Error('no connection') })),
  'stops to go on later': said(() => stopped('retryable')),
  'stops without a word to the record': said(() => stopped(null)),
  'ends with an unclear COMMIT': said(() => ({ kind: 'unclear', error: new Error('cut') })),
};

export function saidUnknownTests(test: AddEngineTest): void {
  for (const policy of ['standard', 'payments', 'stripe'] as const) {
    for (const whenClaimEnds of ['unknown', 'resume'] as const) {
      test(`under "${policy}", where a claim's end means ${whenClaimEnds}, a handler that does not know is unknown, whatever else it says`, async (bench) => {
        const [a, b] = [
          await bench.node({ policy, whenClaimEnds }),
          await bench.node({ policy, whenClaimEnds }),
        ];
        for (const [key, handler] of Object.entries(ENDS)) {
          const first = executed(await bench.until(a.ask({ key }, handler)), {
            state: 'unknown',
            stored: true,
          });
          const record = await bench.record({ key });
          assert.deepEqual(
            [record?.state, record?.proof, record?.reason, record?.fingerprint === null],
            ['unknown', null, REASON, false],
            key,
          );
          if (key === 'answers 201') assert.deepEqual(first.response, ANSWER);
        }
        // Its inquiry is due at once, and nobody runs it meanwhile.
        const keys = Object.keys(ENDS);
        const due = await bench.t.store.takeUnknown({ operations: null, leaseMs: 1_000, limit: 100 });
        assert.deepEqual(due.map(({ key }) => key).toSorted(), keys.toSorted());
        await bench.pass(2 * CLAIM_TTL_MS);
        for (const key of keys) met(await bench.until(b.ask({ key })), 'unknown');
        assert.equal(bench.runs, 0);
      });
    }
  }

  test('what somebody finds out about it is what its client gets', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    executed(await bench.until(a.ask({}, ENDS['throws OutcomeUnknownError'])), { state: 'unknown' });
    const record = await bench.record();
    assert.ok(record !== null);
    const { scope, key, claimId, attempt } = record;
    const by = { scope, key, claimId, attempt, reason: 'asked', actor: null } as const;
    await bench.t.store.settle([{ ...by, to: 'completed', response: ANSWER }]);
    replayed(await bench.until(b.ask()), ANSWER);
  });

  test('one that hangs after it has said so is unknown when its time is up, also where it could be resumed', async (bench) => {
    const options = { whenClaimEnds: 'resume', attemptTimeMaxMs: 60_000 } as const;
    const [a, b] = [await bench.node(options), await bench.node(options)];
    const hung = a.ask({}, (attempt) => {
      attempt.unknown('no reply');
      return new Promise(() => undefined);
    });
    met(await bench.until(hung), 'unknown');
    const record = await bench.record();
    assert.ok(record !== null);
    assert.equal(record.reason, `attempt-time-up: ${REASON}`);
    // It is still at work: a provider that knows of nothing knows of nothing yet (F61).
    assert.equal(isOwnerGone(record, undefined), false);
    await bench.pass(2 * CLAIM_TTL_MS);
    met(await bench.until(b.ask()), 'unknown');
    assert.equal(bench.runs, 0);
  });

  // What was taken for its end may have been somebody else's answer, as a time-out gives it (F68).
  test('one that says so after its end was recorded is heard: what might have run again does not', async (bench) => {
    const [a, b] = [await bench.node({ policy: 'standard' }), await bench.node({ policy: 'standard' })];
    const attempts: Attempt[] = [];
    const ending = (attempt: Attempt): StoredResponse => {
      attempts.push(attempt);
      return response(503);
    };
    executed(await bench.until(a.ask({}, ending)), { state: 'retryable' });
    attempts[0]?.unknown('no reply');
    attempts[0]?.unknown('said twice');
    await bench.pass(1);
    assert.equal(eventsOf(a, 'finished').length, 2);
    const record = await bench.record();
    assert.ok(record !== null);
    assert.deepEqual(
      [record.state, record.proof, record.reason],
      ['unknown', null, `after-its-end: ${REASON}`],
    );
    // Nobody can say when it ends.
    assert.equal(isOwnerGone(record, undefined), false);
    met(await bench.until(b.ask()), 'unknown');
    assert.equal(bench.runs, 0);
    assert.equal(eventsOf(a, 'contradiction').length, 0);
  });

  test('one that says so when its answer is stored, or when its key has run again, changes nothing, and that is told', async (bench) => {
    const [a, b] = [await bench.node({ policy: 'standard' }), await bench.node({ policy: 'standard' })];
    const attempts: Attempt[] = [];
    const ending =
      (answer: StoredResponse) =>
      (attempt: Attempt): StoredResponse => {
        attempts.push(attempt);
        return answer;
      };
    executed(await bench.until(a.ask({}, ending(ANSWER))), { state: 'completed' });
    executed(await bench.until(a.ask({ key: 'again' }, ending(response(503)))), { state: 'retryable' });
    executed(await bench.until(b.ask({ key: 'again' }, () => ANSWER)), { state: 'completed' });
    for (const [index, key] of [undefined, 'again'].entries()) {
      attempts[index]?.unknown('no reply');
      await bench.pass(1);
      const event = eventsOf(a, 'contradiction')[index];
      assert.deepEqual([event?.wanted, event?.found, event?.attempt], ['unknown', 'completed', 1]);
      replayed(await bench.until(b.ask(key === undefined ? {} : { key })), ANSWER);
    }
  });

  test('its remark is kept as one short line, and none of it is a word of Samekey’s own', async (bench) => {
    const a = await bench.node();
    for (const [key, remark, reason] of [
      ['own', 'claim-ended', 'said-unknown: claim-ended'],
      ['lines', ' a\nb\u0000\u2028\u202ec\ud800d ', 'said-unknown: a b c d'],
      ['long', 'x'.repeat(5_000), `said-unknown: ${'x'.repeat(200)}`],
      ['none', '', 'said-unknown'],
      ['no text', { toString: () => 'x' } as unknown as string, 'said-unknown'],
    ] as const) {
      const outcome = a.ask({ key }, (attempt) => {
        attempt.unknown(remark);
        attempt.unknown('said twice');
        return response(200);
      });
      executed(await bench.until(outcome), { state: 'unknown' });
      assert.equal((await bench.record({ key }))?.reason, reason);
    }
    // A renewal that was under way takes nothing back.
    await bench.pass(2 * CLAIM_TTL_MS);
    assert.equal((await bench.record({ key: 'own' }))?.state, 'unknown');
    assert.equal(eventsOf(a, 'contradiction').length, 0);
  });
}

function said(
  end: (attempt: Attempt) => StoredResponse | Ending,
): (attempt: Attempt) => StoredResponse | Ending {
  return (attempt) => {
    attempt.unknown('no reply');
    return end(attempt);
  };
}

function stopped(to: 'retryable' | null): Ending {
  return { kind: 'stopped', to, reason: 'on-purpose', error: undefined };
}
