/** Validation before the claim without a framework's handler: operations, served ones, and `run` (F101, F102). */

import { describe, expect, it } from 'vitest';
import { createSamekey, NotExecutedError, type StandardSchema } from 'samekey';
import { serve } from 'samekey/fetch';
import { memoryStore } from 'samekey/stores/memory';

/** An amount of at least `least`, which becomes cents. */
function amountFrom(least: number): StandardSchema<number> {
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async (value) => {
        const { amount } = (value ?? {}) as { amount?: unknown };
        return typeof amount === 'number' && amount >= least
          ? { value: amount * 100 }
          : { issues: [{ message: `at least ${least}`, path: ['amount'] }] };
      },
    },
  };
}

const scope = ['acme'];
const ISSUES = [{ path: ['amount'], message: 'at least 1' }];

function setup() {
  const store = memoryStore();
  const inputs: unknown[] = [];
  const run = (input: unknown): unknown => {
    inputs.push(input);
    return { input };
  };
  const operations = (least: number) => {
    const samekey = createSamekey({ store });
    return {
      samekey,
      pay: samekey.plain({ name: 'pay', policy: 'payments', schema: amountFrom(least), run }),
    };
  };
  return { store, inputs, operations };
}

function refusing(): never {
  throw new NotExecutedError('No amount.');
}

function post(body: string, key = '"k1"'): Request {
  const headers = { 'content-type': 'application/json', 'idempotency-key': key };
  return new Request('http://shop.example/pay', { method: 'POST', headers, body });
}

describe('an operation with a schema', () => {
  // F102
  it('claims nothing for what is invalid, and gives the handler what the schema makes of the rest', async () => {
    const { store, inputs, operations } = setup();
    const { pay } = operations(1);
    expect(await pay.run({ scope, key: 'k1', input: { amount: 0 } })).toEqual({
      kind: 'request-invalid',
      issues: ISSUES,
    });
    expect([inputs, await store.list({})]).toEqual([[], []]);
    expect(await pay.run({ scope, key: 'k1', input: { amount: 2 } })).toMatchObject({
      kind: 'executed',
      value: { input: 200 },
    });
    expect(await pay.run({ scope, key: 'k1', input: { amount: 2 } })).toMatchObject({
      kind: 'replay',
      value: { input: 200 },
    });
    expect(inputs).toEqual([200]);
  });

  // F102
  it('answers a known key as always after a deploy with a stricter schema', async () => {
    const { operations } = setup();
    await operations(1).pay.run({ scope, key: 'k1', input: { amount: 2 } });
    const { pay } = operations(5);
    expect(await pay.run({ scope, key: 'k1', input: { amount: 2 } })).toMatchObject({
      kind: 'replay',
      value: { input: 200 },
    });
    expect(await pay.run({ scope, key: 'k1', input: { amount: 3 } })).toMatchObject({ kind: 'mismatch' });
  });

  it('is deferred with a checked input only', async () => {
    const { store, operations } = setup();
    const { samekey, pay } = operations(1);
    const later = samekey.deferred(pay);
    expect(await later.run({ scope, key: 'k1', input: { amount: 0 } })).toMatchObject({
      kind: 'request-invalid',
    });
    expect(await store.list({})).toEqual([]);
    expect(await later.run({ scope, key: 'k1', input: { amount: 1 } })).toMatchObject({ kind: 'pending' });
  });

  // F101, F102
  it('is served with 400 for what is invalid and for what is no JSON, and neither binds the key', async () => {
    const { store, inputs, operations } = setup();
    const handler = serve(operations(1).pay, { scope: () => 'acme' });
    const invalid = await handler(post('{"amount":0}'));
    expect([invalid.status, await invalid.json()]).toMatchObject([
      400,
      { code: 'request-invalid', retryable: false, errors: [{ detail: 'at least 1', pointer: '#/amount' }] },
    ]);
    const malformed = await handler(post('{"amount":'));
    expect([malformed.status, await malformed.json()]).toMatchObject([
      400,
      { code: 'body-malformed', retryable: false },
    ]);
    expect(await store.list({})).toEqual([]);
    expect(await (await handler(post('{"amount":3}'))).json()).toEqual({ input: 300 });
    expect(inputs).toEqual([300]);
  });

  // F102
  it('is served with the error object of Stripe’s parameters in that profile', async () => {
    const handler = serve(setup().operations(1).pay, { scope: () => 'acme', profile: 'stripe' });
    const refused = await handler(post('{"amount":0}'));
    expect([refused.status, refused.headers.get('stripe-should-retry'), await refused.json()]).toMatchObject([
      400,
      'false',
      {
        error: {
          type: 'invalid_request_error',
          code: 'parameter_invalid',
          param: 'amount',
          message: 'at least 1',
        },
      },
    ]);
  });

  // F101
  it('is served with a 400 that is not retryable where its input function refuses', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const pay = samekey.plain({ name: 'pay', policy: 'payments', run: () => 1 });
    const refused = await serve(pay, { scope: () => 'acme', input: refusing })(post('{}'));
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { code: 'body-malformed', detail: 'No amount.', retryable: false },
    ]);
  });
});

describe('a run with a schema', () => {
  // F102
  it('checks what it is compared by, before the claim', async () => {
    const store = memoryStore();
    const samekey = createSamekey({ store });
    const ask = (amount: number) =>
      samekey.run(
        {
          operation: 'pay',
          policy: 'standard',
          scope,
          key: 'k1',
          fingerprint: { amount },
          schema: amountFrom(1),
        },
        () => 'paid',
      );
    expect(await ask(0)).toEqual({ kind: 'request-invalid', issues: ISSUES });
    expect(await store.list({})).toEqual([]);
    expect(await ask(1)).toMatchObject({ kind: 'executed', value: 'paid' });
    expect(await ask(0)).toMatchObject({ kind: 'mismatch' });
  });

  it('is refused with what is no schema', async () => {
    const samekey = createSamekey({ store: memoryStore() });
    const schema = { parse: () => 1 } as never;
    expect(() => samekey.plain({ name: 'pay', policy: 'standard', schema, run: () => 1 })).toThrow(
      /schema must be a schema/,
    );
  });
});
