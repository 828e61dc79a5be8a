/** The door of GraphQL, over HTTP: what a field meets, what it is told, and what is stored of it. */

import { GraphQLError } from 'graphql';
import { describe, expect, it } from 'vitest';
import { attemptOf, idempotent, type GraphqlOptions } from '../../src/adapters/graphql/index.ts';
import { NotExecutedError, OutcomeUnknownError } from '../../src/index.ts';
import type { Samekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { gate } from '../../../testing/src/adapter/kit.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';
import { faultyStore } from '../../../testing/src/faulty-store.ts';
import { type Answer, type Context, keyed, ON_HTTP, onGraphql, SERVERS, told } from './graphql-kit.ts';

interface Payment {
  readonly amount: number;
  readonly key?: string | null;
}
type Options = GraphqlOptions<Payment, Context>;

const TYPES = `
  type Paid { id: Int, amount: Int, note: String }
  type Mutation { pay(amount: Int!, key: String): Paid, refund(amount: Int!, key: String): Paid }
`;
const pay = (amount: number, more = '') => `mutation { pay(amount: ${amount}${more}) { id amount } }`;

/** Both fields run this; `runs` has what ran. */
function paying(
  run: (args: Payment, runs: number, info: never) => unknown = ({ amount }, id) => ({
    id,
    amount,
    note: 'new',
  }),
  options: Partial<Options> = {},
): { readonly runs: string[]; readonly make: (samekey: Samekey) => object } {
  const runs: string[] = [];
  return {
    runs,
    make: (samekey) => {
      const field = (name: string) =>
        idempotent<unknown, Payment, Context, unknown>(
          samekey,
          { policy: 'standard', ...ON_HTTP, keyIn: ({ args }) => args.key, ...options },
          (_source, args, _context, info) => run(args, runs.push(`${name} ${args.amount}`), info as never),
        );
      return { Mutation: { pay: field('pay'), refund: field('refund') } };
    },
  };
}

describe.each(Object.keys(SERVERS) as (keyof typeof SERVERS)[])('a mutation on %s', (server) => {
  it('runs once for a key, and its answer says that it is a replay', () => {
    const { make, runs } = paying();
    return onGraphql(
      TYPES,
      make,
      async ({ send }) => {
        const made = await send(pay(1), keyed('k-1'));
        expect([made.data, made.headers.get('idempotency-replayed')]).toEqual([
          { pay: { id: 1, amount: 1 } },
          null,
        ]);
        expect(made.headers.get('idempotency-key-expires')).not.toBe(null);
        const again = await send(pay(1), keyed('"k-1"'));
        expect([again.data, again.headers.get('idempotency-replayed')]).toEqual([made.data, 'true']);
        expect((await send(pay(1), keyed('k-2'))).data).toEqual({ pay: { id: 2, amount: 1 } });
        expect((await send(pay(1, ', key: "k-1"'))).errors[0]?.extensions.code).toBe('UNPROCESSABLE_CONTENT');
        expect(runs.length).toBe(2);
      },
      { server },
    );
  });

  it('is the same however its document is written, and may select other members', () => {
    const { make, runs } = paying();
    return onGraphql(
      TYPES,
      make,
      async ({ send }) => {
        await send(pay(1), keyed('k-1'));
        const other =
          'mutation Pay($n: Int!) { again: pay(amount: $n) { ...All } } fragment All on Paid { note id }';
        expect((await send(other, keyed('k-1'), { n: 1 })).data).toEqual({ again: { note: 'new', id: 1 } });
        expect(runs).toEqual(['pay 1']);
      },
      { server },
    );
  });

  it('is told by codes: other arguments, no key, two keys, no caller', () => {
    const { make, runs } = paying();
    return onGraphql(
      TYPES,
      make,
      async ({ send }) => {
        await send(pay(1), keyed('k-1'));
        const reused = await send(pay(2), keyed('k-1'));
        expect(told(reused)).toEqual(['UNPROCESSABLE_CONTENT', 'key-reused']);
        expect(reused.errors[0]?.path).toEqual(['pay']);
        expect(reused.errors[0]?.extensions.idempotency).toMatchObject({
          retryable: false,
          type: /#key-reused$/,
        });
        expect(reused.data).toEqual({ pay: null });
        const missing = await send(pay(1));
        expect(told(missing)).toEqual(['BAD_USER_INPUT', 'key-missing']);
        expect(missing.errors[0]?.message).toMatch(/Idempotency-Key header.* may also be an argument/);
        expect(told(await send(pay(1), keyed('a, b')))).toEqual(['BAD_USER_INPUT', 'key-several']);
        expect(told(await send(pay(1, ', key: "b"'), keyed('c')))).toEqual(['BAD_USER_INPUT', 'key-several']);
        expect(told(await send(pay(1), { ...keyed('k-9'), 'x-account': '' }))).toEqual([
          'FORBIDDEN',
          'anonymous',
        ]);
        expect(runs.length).toBe(1);
        // Another caller's key is another key.
        expect((await send(pay(2), { ...keyed('k-1'), 'x-account': 'b' })).data).toEqual({
          pay: { id: 2, amount: 2 },
        });
      },
      { server },
    );
  });

  it('meets one that is at work: in progress, and when to ask again', () => {
    const [started, end] = [gate(), gate()];
    const { make, runs } = paying(async () => {
      started.open();
      await end.opened;
      return { id: 7 };
    });
    return onGraphql(
      TYPES,
      make,
      async ({ send }) => {
        const first = send(pay(1), keyed('k-1'));
        await started.opened;
        const second = await send(pay(1), keyed('k-1'));
        expect(told(second)).toEqual(['CONFLICT', 'in-progress']);
        expect(second.errors[0]?.extensions.idempotency).toMatchObject({ retryable: true, retryAfter: 1 });
        expect(second.headers.get('retry-after')).toBe('1');
        end.open();
        expect((await first).data).toMatchObject({ pay: { id: 7 } });
        expect((await send(pay(1), keyed('k-1'))).data).toMatchObject({ pay: { id: 7 } });
        expect(runs.length).toBe(1);
      },
      { server },
    );
  });

  it('runs once when two documents come at once, and both get its answer', () => {
    const { make, runs } = paying(undefined, { waitMaxMs: 10_000 });
    return onGraphql(
      TYPES,
      make,
      async ({ send }) => {
        const both = await Promise.all([1, 2].map(() => send(pay(1), keyed('k-1'))));
        expect(both.map(({ data }) => data)).toEqual([
          { pay: { id: 1, amount: 1 } },
          { pay: { id: 1, amount: 1 } },
        ]);
        expect(runs.length).toBe(1);
      },
      { server },
    );
  });

  it('beside others: one key in the header runs none of them, one for each by argument runs all', () => {
    const { make, runs } = paying();
    return onGraphql(
      TYPES,
      make,
      async ({ send }) => {
        const two =
          'mutation { a: pay(amount: 1) { id } ...More } fragment More on Mutation { refund(amount: 1) { id } }';
        const refused = await send(two, keyed('k-1'));
        expect(refused.errors.map(({ path, extensions }) => [path[0], extensions.idempotency?.code])).toEqual(
          [
            ['a', 'key-several'],
            ['refund', 'key-several'],
          ],
        );
        expect(runs).toEqual([]);
        const own = 'mutation { a: pay(amount: 1, key: "a") { id } b: pay(amount: 2, key: "b") { id } }';
        const made = await send(own, keyed('k-1'));
        expect(made.data).toEqual({ a: { id: 1 }, b: { id: 2 } });
        const again = await send(own);
        expect([again.data, again.headers.get('idempotency-replayed')]).toEqual([made.data, null]);
        const mixed = await send(
          'mutation { a: pay(amount: 1, key: "a") { id } refund(amount: 9) { id } }',
          keyed('k'),
        );
        expect(mixed.data).toEqual({ a: { id: 1 }, refund: null });
        // Asked for twice under one name, it is one field.
        const same = await send(
          'mutation { __typename pay(amount: 5) { id } pay(amount: 5) { amount } }',
          keyed('k-2'),
        );
        expect(same.data).toMatchObject({ pay: { id: 3, amount: 5 } });
        expect(runs).toEqual(['pay 1', 'pay 2', 'pay 5']);
      },
      { server },
    );
  });
});

it('a key in the header of a batch is for the first document alone', () => {
  const { make, runs } = paying();
  return onGraphql(
    TYPES,
    make,
    async ({ url }) => {
      const batch = [{ query: pay(1) }, { query: pay(1) }];
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...keyed('k-1') },
        body: JSON.stringify(batch),
      });
      const [first, second] = (await answer.json()) as [Answer, Answer];
      expect([first.data, told(second)]).toEqual([
        { pay: { id: 1, amount: 1 } },
        ['BAD_USER_INPUT', 'key-several'],
      ]);
      expect(runs).toEqual(['pay 1']);
    },
    { server: 'yoga' },
  );
});

it('a batch whose first document has several fields leaves its key to no later one', () => {
  const { make, runs } = paying();
  return onGraphql(
    TYPES,
    make,
    async ({ url }) => {
      const batch = [
        { query: 'mutation { a: pay(amount: 1) { id } b: pay(amount: 2) { id } }' },
        { query: pay(3) },
      ];
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...keyed('k-1') },
        body: JSON.stringify(batch),
      });
      const answers = (await answer.json()) as [Answer, Answer];
      expect(answers.map(told)).toEqual([
        ['BAD_USER_INPUT', 'key-several'],
        ['BAD_USER_INPUT', 'key-several'],
      ]);
      expect(runs).toEqual([]);
    },
    { server: 'yoga' },
  );
});

/** Each end of a resolver: what its caller and a retry are told, and how often it ran. */
async function twice(
  fail: (runs: number) => unknown,
  options: Partial<Options> = {},
  server: keyof typeof SERVERS = 'graphql-http',
): Promise<{ readonly first: Answer; readonly second: Answer; readonly runs: number }> {
  const { make, runs } = paying((_args, count) => fail(count), options);
  const answers: Answer[] = [];
  await onGraphql(
    TYPES,
    make,
    async ({ send }) => {
      for (let at = 0; at < 2; at += 1) answers.push(await send(pay(1), keyed('k-1')));
    },
    { server },
  );
  return { first: answers[0] as Answer, second: answers[1] as Answer, runs: runs.length };
}

const throwing = (error: unknown) => (): never => {
  throw error;
};
const coded = (code: string, more: object = {}) =>
  throwing(new GraphQLError(`no: ${code}`, { extensions: { code, ...more } }));

const inPart = () => ({ id: 1, amount: new GraphQLError('no amount') });
const tellsConflict: Options['statusOf'] = ({ message }) => (message === 'no: CONFLICT' ? 503 : undefined);

describe('an error of a resolver', () => {
  it.each(Object.keys(SERVERS) as (keyof typeof SERVERS)[])(
    'that will not change is stored with its extensions on %s, and every retry gets it',
    async (server) => {
      const http = { status: 404, headers: new Map([['x', 'y']]) };
      const { first, second, runs } = await twice(coded('NO_SUCH_ACCOUNT', { limit: 5, http }), {}, server);
      expect(first.errors).toMatchObject([{ message: 'no: NO_SUCH_ACCOUNT', path: ['pay'] }]);
      expect(first.errors[0]?.extensions).toMatchObject({ code: 'NO_SUCH_ACCOUNT', limit: 5 });
      expect([second.errors, runs]).toEqual([first.errors, 1]);
      expect(second.headers.get('idempotency-replayed')).toBe('true');
    },
  );

  it('that is given instead of thrown is one', async () => {
    const { first, second, runs } = await twice(
      () => new GraphQLError('no', { extensions: { code: 'NOT_FOUND' } }),
    );
    expect([second.errors, runs]).toEqual([first.errors, 1]);
  });

  it('goes by its code: what may change runs again, what speaks for others is unknown', async () => {
    for (const code of ['UNAUTHENTICATED', 'TOO_MANY_REQUESTS', 'SERVICE_UNAVAILABLE']) {
      const { first, second, runs } = await twice(coded(code));
      expect([told(first)[0], told(second)[0], runs]).toEqual([code, code, 2]);
    }
    for (const code of ['TIMEOUT', 'BAD_GATEWAY', 'GATEWAY_TIMEOUT']) {
      const { first, second, runs } = await twice(coded(code));
      expect([told(first)[0], ...told(second), runs]).toEqual([code, 'CONFLICT', 'outcome-unknown', 1]);
    }
  });

  it('that was thrown threw: nothing happened under standard, nobody knows under payments, stripe keeps it', async () => {
    for (const fail of [
      throwing(new Error('boom')),
      throwing('boom'),
      coded('INTERNAL_SERVER_ERROR'),
      coded('OWN'),
    ]) {
      expect((await twice(fail)).runs).toBe(2);
      const payments = await twice(fail, { policy: 'payments' });
      expect([...told(payments.second), payments.runs]).toEqual(['CONFLICT', 'outcome-unknown', 1]);
      const stripe = await twice(fail, { policy: 'stripe' });
      expect([stripe.first.errors, stripe.runs]).toEqual([stripe.second.errors, 1]);
      expect(told(stripe.first)[0]).toBe('INTERNAL_SERVER_ERROR');
    }
  });

  it('says by itself that nothing happened, or that nobody knows, also as the cause of another', async () => {
    const none = new NotExecutedError('nothing was sent');
    const wrapped = new GraphQLError('no', { extensions: { code: 'CONFLICT' }, originalError: none });
    for (const fail of [throwing(none), throwing(wrapped), throwing(new Error('no', { cause: none }))])
      expect((await twice(fail, { policy: 'payments' })).runs).toBe(2);
    const { second, runs } = await twice(throwing(new OutcomeUnknownError('the line broke')));
    expect([...told(second), runs]).toEqual(['CONFLICT', 'outcome-unknown', 1]);
  });

  it('has the status that statusOf says, if it says one', async () => {
    expect((await twice(coded('CONFLICT'), { statusOf: tellsConflict })).runs).toBe(2);
    expect((await twice(coded('NOT_FOUND'), { statusOf: tellsConflict })).runs).toBe(1);
    const thrown = await twice(coded('NOT_FOUND'), { statusOf: () => null, policy: 'payments' });
    expect(told(thrown.second)).toEqual(['CONFLICT', 'outcome-unknown']);
  });

  it('beside data is the first caller’s, and the outcome unknown, whatever the policy', async () => {
    for (const policy of ['standard', 'payments', 'stripe'] as const) {
      const { first, second, runs } = await twice(inPart, { policy });
      expect(first.data).toEqual({ pay: { id: 1, amount: null } });
      expect(first.errors).toMatchObject([{ message: 'no amount', path: ['pay', 'amount'] }]);
      expect([...told(second), runs]).toEqual(['CONFLICT', 'outcome-unknown', 1]);
    }
  });
});

describe('time', () => {
  it('ends a key, and a tombstone says so', () => {
    const world = fakeWorld();
    const store = memoryStore({ now: () => world.wallNow() });
    const { make, runs } = paying(undefined, { retentionMs: 3_600_000, tombstoneMs: 3_600_000 });
    return onGraphql(
      TYPES,
      make,
      async ({ send }) => {
        await send(pay(1), keyed('k-1'));
        await world.advance(3_600_000);
        expect(told(await send(pay(1), keyed('k-1')))).toEqual(['GONE', 'key-expired']);
        await world.advance(3_600_000);
        await send(pay(1), keyed('k-1'));
        expect(runs.length).toBe(2);
      },
      { instance: { world, store } },
    );
  });

  it('ends the claim of a process that died: nobody knows, and it does not run again', async () => {
    const world = fakeWorld({ name: 'died' });
    const other = fakeWorld({ name: 'other', timeline: world.timeline });
    const store = memoryStore({ now: () => other.wallNow() });
    const started = gate();
    const dying = paying(() => {
      started.open();
      return new Promise(() => undefined);
    });
    const { make, runs } = paying();
    await onGraphql(
      TYPES,
      dying.make,
      async ({ send }) => {
        void send(pay(1), keyed('k-1')).catch(() => undefined);
        await started.opened;
        world.kill();
        await other.advance(60_000);
        await onGraphql(
          TYPES,
          make,
          async (alive) => {
            expect(told(await alive.send(pay(1), keyed('k-1')))).toEqual(['CONFLICT', 'outcome-unknown']);
            expect(runs).toEqual([]);
          },
          { instance: { world: other, store } },
        );
      },
      { instance: { world, store } },
    );
  });

  it('does not pass while the store is away: nothing runs', () => {
    const store = faultyStore(memoryStore());
    const { make, runs } = paying();
    return onGraphql(
      TYPES,
      make,
      async ({ send }) => {
        store.inject('refuse', { verb: 'claim' });
        expect(told(await send(pay(1), keyed('k-1')))).toEqual(['SERVICE_UNAVAILABLE', 'store-unavailable']);
        expect(runs).toEqual([]);
      },
      { instance: { store } },
    );
  });
});

describe('a field that is not protected', () => {
  it('has no attempt; one that is protected has its own', () => {
    const seen: unknown[] = [];
    const { make } = paying((_args, _runs, info) => void seen.push(attemptOf(info)), { required: false });
    return onGraphql(TYPES, make, async ({ send }) => {
      await send(pay(1));
      await send(pay(1), keyed('k-1'));
      expect(seen).toEqual([null, expect.objectContaining({ number: 1 })]);
    });
  });

  it('is one that skip lets pass, or one of a query', () => {
    let runs = 0;
    const { make } = paying(() => ({ id: (runs += 1) }), { skip: ({ args }) => args.amount === 0 });
    return onGraphql(
      `${TYPES} extend type Query { pay(amount: Int!): Paid }`,
      (samekey) => {
        const { Mutation } = make(samekey) as { Mutation: { pay: unknown } };
        return { Mutation, Query: { pay: Mutation.pay } };
      },
      async ({ send }) => {
        for (const query of [
          pay(0),
          pay(0),
          'query { pay(amount: 1) { id } }',
          'query { pay(amount: 1) { id } }',
        ])
          expect((await send(query, keyed('k-1'))).errors).toEqual([]);
        expect(runs).toBe(4);
      },
    );
  });
});

const resolver = () => 1;

describe('options', () => {
  it('that cannot work are refused at once', () =>
    onGraphql(TYPES, paying().make, async ({ samekey }) => {
      expect(() => idempotent(samekey, { policy: 'standard' } as never, resolver)).toThrow('scope');
      expect(() => idempotent(samekey, { scope: () => 'a' }, resolver)).toThrow('policy');
      const options = { policy: 'standard', scope: () => 'a' } as const;
      expect(() => idempotent(samekey, { ...options, profile: 'ietf' } as never, resolver)).toThrow(
        'profile',
      );
      expect(() => idempotent(samekey, options, undefined as never)).toThrow('no function');
    }));
});
