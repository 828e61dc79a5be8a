/** The operator's functions: what they find, that an act meets what was seen or nothing, and when "no effect" counts. */

import { createSamekey, type SamekeyRecord, type Store, type StoredResponse } from 'samekey';
import { createOperator, type Operator, type Settlement } from 'samekey/operator';
import { memoryStore } from 'samekey/stores/memory';
import { describe, expect, it } from 'vitest';
import { type Step, stepsText } from '../../src/ways/steps.ts';
import { shownBy } from '../../src/operator/no-effect-by-hand.ts';

const ID = { scope: 'acme/alice|pay', key: 'k1' };
const ANSWER = { status: 201, headers: [], body: new TextEncoder().encode('{"id":1}') };

async function withUnknown(): Promise<{ readonly store: Store; readonly record: SamekeyRecord }> {
  const store = memoryStore();
  const samekey = createSamekey({ store, policy: 'payments' });
  await samekey
    .run({ operation: 'pay', scope: ['acme', 'alice'], key: 'k1', fingerprint: null }, () => {
      throw new Error('the connection was lost');
    })
    .catch(() => undefined);
  return { store, record: await found(store) };
}

async function found(store: Store): Promise<SamekeyRecord> {
  const [record] = await store.find([ID]);
  if (record === null || record === undefined) throw new Error('no record');
  return record;
}

describe('an operator', () => {
  it('finds a record whole, and nothing where there is none', async () => {
    const { store, record } = await withUnknown();
    const operator = createOperator({ store, actor: 'alice' });
    expect(await operator.find(ID)).toEqual({
      record,
      steps: [],
      openEffect: null,
      isHandedOver: false,
      messages: [],
      audit: [],
    });
    expect(await operator.find({ ...ID, key: 'other' })).toBeNull();
    expect(await operator.list({ states: ['unknown'] })).toEqual([record]);
  });

  it('settles what it found, once, and the audit says who and why', async () => {
    const { store, record } = await withUnknown();
    const operator = createOperator({ store, actor: 'alice' });
    const settlement = { to: 'completed', reason: 'found at the provider', response: ANSWER } as const;
    expect(await operator.settle(ID, settlement)).toEqual({ kind: 'applied', record });
    expect(await operator.settle(ID, settlement)).toMatchObject({ kind: 'already' });
    expect(await operator.audit()).toMatchObject([
      { act: 'settle', from: 'unknown', to: 'completed', actor: 'alice', reason: 'found at the provider' },
    ]);
    expect((await operator.find(ID))?.audit).toEqual(await operator.audit());
  });

  it('reopens what nobody came to know only on the word that nothing happened', async () => {
    const { store } = await withUnknown();
    const operator = createOperator({ store, actor: 'alice' });
    await new Promise((resolve) => setTimeout(resolve, 2));
    expect(await store.sweep(1, { unknownMaxMs: 1 })).toMatchObject([{ reason: 'outcome-never-known' }]);
    const reason = 'asked the bank';
    expect(await operator.reopen(ID, { reason })).toMatchObject({ kind: 'refused', because: 'not-proven' });
    expect(await operator.audit()).toEqual([]);
    expect(await operator.reopen(ID, { reason, effect: 'none' })).toMatchObject({ kind: 'applied' });
    expect(await operator.reopen(ID, { reason })).toMatchObject({ kind: 'already' });
    expect(await found(store)).toMatchObject({ state: 'retryable', reason });
  });

  it('changes nothing when the record is not what was seen any more, and says what it is', async () => {
    const { store, record } = await withUnknown();
    const operator = createOperator({ store, actor: 'alice' });
    const { claimId, attempt } = record;
    await operator.settle(ID, { to: 'retryable', reason: 'nothing happened', callTimeMaxMs: 0 });
    await store.claim([
      {
        ...ID,
        operation: 'pay',
        claimId: 'the-next',
        claimTtlMs: 30_000,
        fingerprint: record.fingerprint ?? { label: '', digest: '' },
        whenClaimEnds: 'unknown',
        retentionMs: 1_000,
        replayMinMs: 0,
        tombstoneMs: 0,
        attemptMax: 10,
        formatVersion: 1,
        readVersion: 1,
        entry: 'run',
        input: null,
        pendingTimeMaxMs: 0,
      },
    ]);
    const before = await found(store);
    const seen = { claimId, attempt };
    const refused = { kind: 'refused', because: 'changed', record: before };
    expect(await operator.settle(ID, { to: 'completed', reason: 'late', response: ANSWER, seen })).toEqual(
      refused,
    );
    expect(await operator.forget(ID, { reason: 'late', seen: record })).toEqual(refused);
    expect(await operator.reopen(ID, { reason: 'late', seen })).toEqual(refused);
    expect(await found(store)).toEqual(before);
    expect(await operator.audit({ acts: ['settle', 'forget', 'reopen'] })).toHaveLength(1);
  });

  it('forgets nothing that has ended otherwise than was seen, under the same fence', async () => {
    const { store, record } = await withUnknown();
    const operator = createOperator({ store, actor: 'alice' });
    await operator.settle(ID, { to: 'completed', reason: 'seen at the bank', response: ANSWER });
    const settled = await found(store);
    const seen = { claimId: record.claimId, attempt: record.attempt, state: 'retryable' } as const;
    expect(await operator.forget(ID, { reason: 'nothing happened', seen })).toEqual({
      kind: 'refused',
      because: 'changed',
      record: settled,
    });
    expect(await found(store)).toEqual(settled);
    expect(await operator.forget(ID, { reason: 'a test order', seen: settled })).toMatchObject({
      kind: 'applied',
    });
    expect(await operator.forget(ID, { reason: 'a test order', seen: settled })).toMatchObject({
      kind: 'refused',
      because: 'changed',
    });
  });

  it('changes nothing when what was seen is another life of the key with the same attempt', async () => {
    const { store, record } = await withUnknown();
    const operator = createOperator({ store, actor: 'alice' });
    const seen = { claimId: 'of-another-life', attempt: record.attempt };
    const refused = { kind: 'refused', because: 'changed', record };
    expect(await operator.settle(ID, { to: 'completed', reason: 'late', response: ANSWER, seen })).toEqual(
      refused,
    );
    expect(await found(store)).toEqual(record);
  });

  it('changes nothing when the record moves on between the look and the write', async () => {
    const { store, record } = await withUnknown();
    // Somebody else settles it at just that moment.
    const raced: Store = {
      ...store,
      settle: async (requests) => {
        await store.settle(
          requests.map((each) => ({
            ...each,
            to: 'failed',
            response: { ...ANSWER, status: 402 },
            reason: 'by another',
            actor: 'bob',
          })),
        );
        return store.settle(requests);
      },
    };
    const operator = createOperator({ store: raced, actor: 'alice' });
    const result = await operator.settle(ID, { to: 'completed', reason: 'found', response: ANSWER });
    expect(result).toMatchObject({ kind: 'contradiction', record: { state: 'failed' } });
    expect((await found(store)).reason).toBe('by another');
    expect(record.state).toBe('unknown');
  });

  it('waits for calls that may be under way, and puts in the result of one that did happen', async () => {
    const { store, record } = await withUnknown();
    const operator = createOperator({ store, actor: 'alice' });
    const early = await operator.settle(ID, { to: 'retryable', reason: 'nothing happened' });
    expect(early).toEqual({ kind: 'refused', because: 'too-early', record });
    const none = await operator.settle(ID, { to: 'retryable', reason: 'charged', effectResult: { id: 1 } });
    expect(none).toEqual({ kind: 'refused', because: 'no-open-effect', record });
    // As the phased way leaves it.
    const steps = stepsText(intent('reconcile', 1));
    const open: Store = {
      ...store,
      find: async (ids) => (await store.find(ids)).map((each) => (each === null ? each : { ...each, steps })),
    };
    const result = await createOperator({ store: open, actor: 'alice' }).settle(ID, {
      to: 'retryable',
      reason: 'charged',
      effectResult: { id: 'pay_1' },
    });
    expect(result).toMatchObject({ kind: 'applied' });
    const whole = await operator.find(ID);
    expect(whole?.record.state).toBe('retryable');
    expect(whole?.openEffect).toBeNull();
    expect(whole?.steps?.at(-1)).toMatchObject({ name: 'charge', isDone: true, result: { id: 'pay_1' } });
  });

  it('refuses what the state does not allow', async () => {
    const { store } = await withUnknown();
    const operator = createOperator({ store, actor: null });
    expect(await operator.reopen(ID, { reason: 'r' })).toMatchObject({ kind: 'refused', because: 'state' });
    expect(await operator.forget(ID, { reason: 'r' })).toMatchObject({ kind: 'refused', because: 'state' });
    const absent = { ...ID, key: 'never' };
    expect(await operator.settle(absent, { to: 'failed', reason: 'r' })).toEqual({ kind: 'absent' });
  });

  // F155
  it('forgets what may have happened only on the word that nothing did', async () => {
    const { store } = await withUnknown();
    const operator = createOperator({ store, actor: 'alice' });
    await new Promise((resolve) => setTimeout(resolve, 2));
    await store.sweep(1, { unknownMaxMs: 1 });
    const reason = 'asked the bank';
    expect(await operator.forget(ID, { reason })).toMatchObject({ kind: 'refused', because: 'not-proven' });
    expect(await operator.audit()).toEqual([]);
    expect(await operator.forget(ID, { reason, effect: 'none' })).toMatchObject({ kind: 'applied' });
  });

  // F152
  it('tells a second operator what stands there, as a result of its own, and notes it', async () => {
    const { store } = await withUnknown();
    const first = createOperator({ store, actor: 'alice' });
    const second = createOperator({ store, actor: 'bob' });
    await first.settle(ID, { to: 'completed', reason: 'found at the provider', response: ANSWER });
    const stands = await found(store);
    for (const said of [
      { to: 'completed', response: { ...ANSWER, body: new TextEncoder().encode('{"id":2}') } },
      { to: 'completed', response: { ...ANSWER, status: 200 } },
      { to: 'completed' },
      { to: 'failed', response: { ...ANSWER, status: 402 } },
      { to: 'retryable' },
      { to: 'retryable', because: 'owner-gone' },
      { to: 'retryable', effectResult: 1 },
    ] as const) {
      const result = await second.settle(ID, { ...said, reason: 'I know better' });
      expect(result).toEqual({ kind: 'contradiction', record: stands });
      expect(await found(store)).toEqual(stands);
      expect(await second.audit({ limit: 1 })).toMatchObject([
        { act: 'contradiction', from: 'completed', to: said.to, actor: 'bob', reason: 'I know better' },
      ]);
    }
    const same = await second.settle(ID, { to: 'completed', reason: 'I know too', response: ANSWER });
    expect(same).toMatchObject({ kind: 'already' });
    expect(await second.audit({ acts: ['contradiction'] })).toHaveLength(7);
  });

  // F144
  it.each<[string, unknown, RegExp]>([
    ['a line break in a value', { ...ANSWER, headers: [['X-A', 'a\r\nX-B: b']] }, /X-A.*cannot/],
    ['a value that is not Latin', { ...ANSWER, headers: [['X-A', 'Łódź']] }, /X-A.*cannot/],
    ['a name that is none', { ...ANSWER, headers: [['X A', 'a']] }, /no name/],
    ['a trailer that is none', { ...ANSWER, trailers: [['X A', 'a']] }, /no name/],
    ['headers that are no lines', { ...ANSWER, headers: { a: 'b' } }, /list of lines/],
    ['a Map as its body', { ...ANSWER, body: new Map([['id', 1]]) }, /bytes/],
    ['a text as its body', { ...ANSWER, body: '{"id":1}' }, /bytes/],
    ['a status that is none', { ...ANSWER, status: 700 }, /200 to 599/],
  ])('refuses an answer with %s before anything is written', async (_what, response, message) => {
    const { store, record } = await withUnknown();
    const operator = createOperator({ store, actor: 'alice' });
    const settlement = { to: 'completed', reason: 'found', response: response as StoredResponse } as const;
    await expect(operator.settle(ID, settlement)).rejects.toThrow(message);
    const { claimId, attempt } = record;
    await expect(store.settle([{ ...ID, claimId, attempt, actor: null, ...settlement }])).rejects.toThrow(
      message,
    );
    expect(await found(store)).toEqual(record);
    expect(await operator.audit()).toEqual([]);
  });

  // F145
  it.each<[string, object, RegExp]>([
    ['a state that is none', { to: 'done' }, /"completed" or "failed" or "retryable"; it is "done"/],
    ['no state', {}, /to is missing/],
    ['a misspelt option', { to: 'retryable', becuase: 'owner-gone' }, /Did you mean "because"/],
    ['a misspelt word', { to: 'retryable', because: 'owner gone' }, /"owner-gone" or "downstream-key"/],
    ['a 500 as done', { to: 'completed', response: { ...ANSWER, status: 500 } }, /200 to 399; it has 500/],
    ['a 201 as refused', { to: 'failed', response: ANSWER }, /400 to 599; it has 201/],
    ['an answer of what runs again', { to: 'retryable', response: ANSWER }, /has no answer/],
    ['a proof of what is done', { to: 'completed', because: 'owner-gone' }, /because of settle go with/],
    ['a time as a text', { to: 'retryable', callTimeMaxMs: '5s' }, /callTimeMaxMs must be a whole number/],
    ['a fence that is none', { to: 'failed', seen: { claimId: 'c' } }, /attempt is missing/],
  ])('refuses to settle with %s, and says what is right', async (_what, wrong, message) => {
    const { store, record } = await withUnknown();
    const operator = createOperator({ store, actor: 'alice' });
    await expect(operator.settle(ID, { reason: 'r', ...wrong } as Settlement)).rejects.toThrow(message);
    expect(await found(store)).toEqual(record);
  });

  // F145: the same kind in every other request of an operator.
  it.each<[string, (operator: Operator) => Promise<unknown>, RegExp]>([
    ['reopen', (o) => o.reopen(ID, { reason: 'r', efect: 'none' } as never), /Did you mean "effect"/],
    ['reopen', (o) => o.reopen(ID, { reason: 'r', effect: 'no' } as never), /effect is "none"/],
    ['forget', (o) => o.forget(ID, { resaon: 'r' } as never), /Did you mean "reason"/],
    [
      'forget',
      (o) => o.forget(ID, { reason: 'r', seen: { claimId: 'c', attempt: 1 } } as never),
      /state is missing/,
    ],
    ['erase', (o) => o.erase('acme', { reason: 'r', limt: 1 } as never), /Did you mean "limit"/],
    ['requeue', (o) => o.requeue(['m'], { reasn: 'r' } as never), /Did you mean "reason"/],
    ['requeue', (o) => o.requeue('m' as never, { reason: 'r' }), /ids of requeue is a list/],
    ['list', (o) => o.list({ state: ['unknown'] } as never), /Did you mean "states"/],
    ['list', (o) => o.list({ states: ['unknwon'] } as never), /it is "unknwon"/],
    ['audit', (o) => o.audit({ act: ['settle'] } as never), /Did you mean "acts"/],
    ['deadLetters', (o) => o.deadLetters({ topics: 'mail' } as never), /Did you mean "topic"/],
    ['find', (o) => o.find({ scope: 'acme' } as never), /key is missing/],
  ])('refuses misspelt options of %s', async (_what, call, message) => {
    const { store } = await withUnknown();
    await expect(call(createOperator({ store, actor: 'alice' }))).rejects.toThrow(message);
  });

  it.each(['', '   ', 'x'.repeat(1_001)])('refuses an act without a usable reason: "%s"', async (reason) => {
    const { store, record } = await withUnknown();
    const operator = createOperator({ store, actor: 'alice' });
    await expect(operator.settle(ID, { to: 'retryable', reason })).rejects.toThrow(/reason/);
    expect(await found(store)).toEqual(record);
  });

  it('is refused without a store or with an empty name', () => {
    expect(() => createOperator({ store: {} as Store, actor: 'a' })).toThrow(/store must be a store/);
    expect(() => createOperator({ store: memoryStore(), actor: ' ' })).toThrow(/actor/);
  });
});

/** Steps with an open effect. */
function intent(rule: 'downstreamKey' | 'inquire' | 'reconcile', attempt: number): readonly Step[] {
  return [
    { kind: 'phase', name: 'reserve', result: 1 },
    { kind: 'effect', name: 'charge', input: 'd', done: null, call: { attempt, rule, timeMaxMs: 10_000 } },
  ];
}

// F61
describe('"no effect" by hand', () => {
  it.each<[string, Partial<SamekeyRecord>, string | null]>([
    ['a claim that ended without a word', { reason: 'claim-ended' }, null],
    ['a handler that hung', { reason: 'attempt-time-up' }, null],
    ['a message that was given up', { reason: 'message-dead' }, null],
    ['used-up attempts', { reason: 'attempts-exhausted', attempt: 3 }, null],
    ['a handler that threw', { reason: 'handler-threw' }, 'owner-gone'],
    ['a handler that answered 500', { reason: 'status-500' }, 'owner-gone'],
    [
      'a word of the owner of a later attempt, of a resumable way',
      { reason: 'handler-threw', attempt: 2, whenClaimEnds: 'resume' },
      null,
    ],
    [
      'an open effect of the attempt that told its end',
      { reason: 'effect-unknown', attempt: 2, steps: stepsText(intent('reconcile', 2)) },
      'owner-gone',
    ],
    [
      'an open effect of an attempt that fell silent',
      { reason: 'effect-unknown', attempt: 2, steps: stepsText(intent('reconcile', 1)) },
      null,
    ],
    [
      'a call that carries a downstream key',
      { reason: 'claim-ended', steps: stepsText(intent('downstreamKey', 1)) },
      'downstream-key',
    ],
    ['steps that cannot be read here', { reason: 'claim-ended', steps: 'samekey-seal.1.k1.AAAA' }, null],
  ])('is shown by the record, or not: %s', async (_what, change, shown) => {
    const { record } = await withUnknown();
    expect(shownBy({ ...record, ...change })).toBe(shown);
  });
});
