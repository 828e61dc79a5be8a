/** The door of tRPC, over HTTP: what a call meets, what it is told, and what is stored of it. */

import { TRPCError } from '@trpc/server';
import { describe, expect, it } from 'vitest';
import { attemptOf, idempotent, type TrpcCall, type TrpcOptions } from '../../src/adapters/trpc/index.ts';
import { NotExecutedError, OutcomeUnknownError } from '../../src/index.ts';
import type { Samekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';
import { faultyStore } from '../../../testing/src/faulty-store.ts';
import { gate } from '../../../testing/src/adapter/kit.ts';
import { type Answer, type Context, keyed, onTrpc, SERVERS, t } from './trpc-kit.ts';

interface Payment {
  readonly amount: number;
  readonly key?: string;
}
type Options = TrpcOptions<Context, Payment>;

const OPTIONS: Options = {
  policy: 'standard',
  scope: ({ ctx }) => ctx.account,
  http: ({ ctx }) => ctx.http,
};
const asPayment = (given: unknown): Payment => {
  if (typeof (given as Partial<Payment> | undefined)?.amount === 'number') return given as Payment;
  throw new Error('an amount is a number');
};

/** A router of one mutation, `pay`, and how often it ran. */
function paying(
  run: (input: Payment, ctx: object, runs: number) => unknown = (_input, _ctx, runs) => ({ runs }),
  options: Partial<Options> = {},
): { readonly runs: () => number; readonly make: (samekey: Samekey) => object } {
  let runs = 0;
  return {
    runs: () => runs,
    make: (samekey) => ({
      pay: t.procedure
        .input(asPayment)
        .use(idempotent<Context, Payment>(samekey, { ...OPTIONS, ...options }))
        .mutation(({ input, ctx }) => run(input, ctx, (runs += 1))),
    }),
  };
}

const told = ({ status, error }: Answer) => [status, error?.code, error?.idempotency?.code];

describe.each(Object.keys(SERVERS) as (keyof typeof SERVERS)[])('a mutation on %s', (server) => {
  it('runs once for a key, and its answer says that it is a replay', () => {
    const { make, runs } = paying();
    return onTrpc(
      make,
      async ({ mutate }) => {
        const made = await mutate('pay', { amount: 1 }, keyed('k-1'));
        expect([made.status, made.data, made.headers.get('idempotency-replayed')]).toEqual([
          200,
          { runs: 1 },
          null,
        ]);
        expect(made.headers.get('idempotency-key-expires')).not.toBe(null);
        const again = await mutate('pay', { amount: 1 }, keyed('"k-1"'));
        expect([again.status, again.data, again.headers.get('idempotency-replayed')]).toEqual([
          200,
          { runs: 1 },
          'true',
        ]);
        expect((await mutate('pay', { amount: 1 }, keyed('k-2'))).data).toEqual({ runs: 2 });
        expect(runs()).toBe(2);
      },
      { server },
    );
  });

  it('is told by codes: another input, no key, two keys, no caller', () => {
    const { make, runs } = paying();
    return onTrpc(
      make,
      async ({ mutate, url }) => {
        await mutate('pay', { amount: 1 }, keyed('k-1'));
        const reused = await mutate('pay', { amount: 2 }, keyed('k-1'));
        expect(told(reused)).toEqual([422, 'UNPROCESSABLE_CONTENT', 'key-reused']);
        expect(reused.error?.idempotency).toMatchObject({
          retryable: false,
          status: 422,
          type: /#key-reused$/,
        });
        expect(told(await mutate('pay', { amount: 1 }))).toEqual([400, 'BAD_REQUEST', 'key-missing']);
        expect(told(await mutate('pay', { amount: 1 }, keyed('a, b')))).toEqual([
          400,
          'BAD_REQUEST',
          'key-several',
        ]);
        const lines: [string, string][] = [
          ['content-type', 'application/json'],
          ['idempotency-key', 'a'],
          ['idempotency-key', 'a'],
        ];
        const doubled = await fetch(`${url}/pay`, { method: 'POST', headers: lines, body: '{"amount":1}' });
        expect(((await doubled.json()) as { error: { data: object } }).error.data).toMatchObject({
          idempotency: { code: 'key-several' },
        });
        const nobody = await mutate('pay', { amount: 1 }, { ...keyed('k-9'), 'x-account': '' });
        expect(told(nobody)).toEqual([403, 'FORBIDDEN', 'anonymous']);
        expect(runs()).toBe(1);
        // Another caller's key is another key.
        expect((await mutate('pay', { amount: 2 }, { ...keyed('k-1'), 'x-account': 'b' })).data).toEqual({
          runs: 2,
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
      return 'paid';
    });
    return onTrpc(
      make,
      async ({ mutate }) => {
        const first = mutate('pay', { amount: 1 }, keyed('k-1'));
        await started.opened;
        const second = await mutate('pay', { amount: 1 }, keyed('k-1'));
        expect(told(second)).toEqual([409, 'CONFLICT', 'in-progress']);
        expect(second.error?.idempotency).toMatchObject({ retryable: true, retryAfter: 1 });
        expect(second.headers.get('retry-after')).toBe('1');
        end.open();
        expect((await first).data).toBe('paid');
        expect((await mutate('pay', { amount: 1 }, keyed('k-1'))).data).toBe('paid');
        expect(runs()).toBe(1);
      },
      { server },
    );
  });

  it('runs once when two requests come at once, and both get its answer', () => {
    const { make, runs } = paying(undefined, { waitMaxMs: 10_000 });
    return onTrpc(
      make,
      async ({ mutate }) => {
        const both = await Promise.all([1, 2].map(() => mutate('pay', { amount: 1 }, keyed('k-1'))));
        expect(both.map(({ data }) => data)).toEqual([{ runs: 1 }, { runs: 1 }]);
        expect(
          both
            .map(({ headers }) => headers.get('idempotency-replayed'))
            .toSorted((a) => (a === null ? -1 : 1)),
        ).toEqual([null, 'true']);
        expect(runs()).toBe(1);
      },
      { server },
    );
  });
});

/** Each end of a procedure: what its caller and a retry are told, and how often it ran. */
async function twice(
  fail: (runs: number) => unknown,
  options: Partial<Options> = {},
): Promise<{ readonly first: Answer; readonly second: Answer; readonly runs: number }> {
  const { make, runs } = paying((_input, _ctx, count) => fail(count), options);
  let both: readonly Answer[] = [];
  await onTrpc(make, async ({ mutate }) => {
    const first = await mutate('pay', { amount: 1 }, keyed('k-1'));
    both = [first, await mutate('pay', { amount: 1 }, keyed('k-1'))];
  });
  return { first: both[0] as Answer, second: both[1] as Answer, runs: runs() };
}

const throwing = (error: unknown) => (): never => {
  throw error;
};
const trpcError = (code: TRPCError['code'], cause?: unknown) => (): never => {
  throw new TRPCError({ code, message: `no: ${code}`, cause });
};

const statusOf: Options['statusOf'] = ({ message }) => (message === 'no: CONFLICT' ? 503 : undefined);

describe('an error of a procedure', () => {
  it('that will not change is stored, and every retry gets it', async () => {
    const { first, second, runs } = await twice(trpcError('NOT_FOUND'));
    expect(first.error).toMatchObject({ message: 'no: NOT_FOUND', code: 'NOT_FOUND' });
    expect([second.status, second.error]).toEqual([404, first.error]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(runs).toBe(1);
  });

  it('is stored with what errorData keeps of it, and no more', async () => {
    class Short extends Error {
      readonly missing = 5;
      readonly secret = 's3cret';
    }
    const errorData: Options['errorData'] = ({ cause }) => ({ missing: (cause as Short).missing });
    const { first, second } = await twice(trpcError('PAYMENT_REQUIRED', new Short()), { errorData });
    expect(first.error).toMatchObject({ code: 'PAYMENT_REQUIRED', details: { missing: 5 } });
    expect(second.error).toEqual(first.error);
    expect(JSON.stringify(second)).not.toContain('s3cret');
    const hides = { secret: 's3cret', toJSON: () => 'told' };
    const hidden = await twice(trpcError('CONFLICT'), { errorData: () => hides });
    expect(hidden.first.error?.details).toBe('told');
    expect(hidden.second.error).toEqual(hidden.first.error);
  });

  it('of which JSON would lose a part ends it all the same, and both are told that it is not there', async () => {
    const { first, second, runs } = await twice(trpcError('CONFLICT'), { errorData: () => new Map() });
    for (const each of [first, second]) {
      expect(told(each)).toEqual([412, 'PRECONDITION_FAILED', 'response-not-stored']);
      expect(each.error?.idempotency).toMatchObject({ originalStatus: 409 });
    }
    expect(runs).toBe(1);
  });

  it('goes by its code: what may change runs again, what speaks for others is unknown', async () => {
    for (const code of ['UNAUTHORIZED', 'TOO_MANY_REQUESTS', 'SERVICE_UNAVAILABLE'] as const) {
      const { first, second, runs } = await twice(trpcError(code));
      expect([first.error?.code, second.error?.code, runs]).toEqual([code, code, 2]);
    }
    for (const code of ['TIMEOUT', 'CLIENT_CLOSED_REQUEST', 'BAD_GATEWAY', 'GATEWAY_TIMEOUT'] as const) {
      const { first, second, runs } = await twice(trpcError(code));
      expect([first.error?.code, ...told(second), runs]).toEqual([
        code,
        409,
        'CONFLICT',
        'outcome-unknown',
        1,
      ]);
      expect(second.error?.idempotency).toMatchObject({ retryable: true, retryAfter: 60 });
    }
  });

  it('that was thrown threw: nothing happened under standard, nobody knows under payments, stripe keeps it', async () => {
    for (const fail of [throwing(new Error('boom')), trpcError('INTERNAL_SERVER_ERROR')]) {
      const standard = await twice(fail);
      expect([standard.first.status, standard.second.status, standard.runs]).toEqual([500, 500, 2]);
      const payments = await twice(fail, { policy: 'payments' });
      expect(payments.first.error?.message).toMatch(/boom|no: INTERNAL_SERVER_ERROR/);
      expect([...told(payments.second), payments.runs]).toEqual([409, 'CONFLICT', 'outcome-unknown', 1]);
      const stripe = await twice(fail, { policy: 'stripe' });
      expect([stripe.first.error, stripe.runs]).toEqual([stripe.second.error, 1]);
      expect(stripe.first.error).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' });
    }
  });

  it('says by itself that nothing happened, or that nobody knows, also as the cause of another', async () => {
    const none = new NotExecutedError('nothing was sent');
    for (const fail of [throwing(none), trpcError('CONFLICT', none), trpcError('BAD_GATEWAY', none)]) {
      const { first, second, runs } = await twice(fail, { policy: 'payments' });
      expect([first.error?.message, runs]).toEqual([second.error?.message, 2]);
    }
    const unknown = new OutcomeUnknownError('the line broke');
    for (const fail of [throwing(unknown), trpcError('CONFLICT', unknown)]) {
      const { second, runs } = await twice(fail);
      expect([...told(second), runs]).toEqual([409, 'CONFLICT', 'outcome-unknown', 1]);
    }
  });

  it('has the status that statusOf says, if it says one', async () => {
    const own = await twice(trpcError('CONFLICT'), { statusOf });
    expect([own.first.error?.code, own.runs]).toEqual(['CONFLICT', 2]);
    expect((await twice(trpcError('NOT_FOUND'), { statusOf })).runs).toBe(1);
    const thrown = await twice(trpcError('NOT_FOUND'), { statusOf: () => null, policy: 'payments' });
    expect(told(thrown.second)).toEqual([409, 'CONFLICT', 'outcome-unknown']);
  });
});

describe('time', () => {
  it('ends a key, and a tombstone says so', () => {
    const world = fakeWorld();
    const store = memoryStore({ now: () => world.wallNow() });
    const { make, runs } = paying(undefined, { retentionMs: 3_600_000, tombstoneMs: 3_600_000 });
    return onTrpc(
      make,
      async ({ mutate }) => {
        await mutate('pay', { amount: 1 }, keyed('k-1'));
        await world.advance(3_600_000);
        const gone = await mutate('pay', { amount: 1 }, keyed('k-1'));
        expect(told(gone)).toEqual([412, 'PRECONDITION_FAILED', 'key-expired']);
        await world.advance(3_600_000);
        expect((await mutate('pay', { amount: 1 }, keyed('k-1'))).data).toEqual({ runs: 2 });
        expect(runs()).toBe(2);
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
    await onTrpc(
      dying.make,
      async ({ mutate }) => {
        void mutate('pay', { amount: 1 }, keyed('k-1')).catch(() => undefined);
        await started.opened;
        world.kill();
        await other.advance(60_000);
        await onTrpc(
          make,
          async (alive) => {
            const answer = await alive.mutate('pay', { amount: 1 }, keyed('k-1'));
            expect(told(answer)).toEqual([409, 'CONFLICT', 'outcome-unknown']);
            expect(runs()).toBe(0);
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
    return onTrpc(
      make,
      async ({ mutate }) => {
        store.inject('refuse', { verb: 'claim' });
        const answer = await mutate('pay', { amount: 1 }, keyed('k-1'));
        expect(told(answer)).toEqual([503, 'SERVICE_UNAVAILABLE', 'store-unavailable']);
        expect(runs()).toBe(0);
      },
      { instance: { store } },
    );
  });
});

const attempts = (options: Partial<Options>) => {
  const seen: unknown[] = [];
  const { make } = paying((_input, ctx) => void seen.push(attemptOf(ctx)), options);
  return { seen, make };
};

describe('a call that is not protected', () => {
  it('has no attempt; one that is protected has its own', () => {
    const { seen, make } = attempts({ required: false });
    return onTrpc(make, async ({ mutate }) => {
      await mutate('pay', { amount: 1 });
      await mutate('pay', { amount: 1 }, keyed('k-1'));
      expect(seen).toEqual([null, expect.objectContaining({ number: 1 })]);
    });
  });

  it('is one that skip lets pass', () => {
    const { seen, make } = attempts({ skip: ({ input }: TrpcCall<Context, Payment>) => input.amount === 0 });
    return onTrpc(make, async ({ mutate }) => {
      await mutate('pay', { amount: 0 }, keyed('k-1'));
      await mutate('pay', { amount: 0 }, keyed('k-1'));
      expect(seen).toEqual([null, null]);
    });
  });

  it('is a query, whatever it brings', () => {
    let runs = 0;
    return onTrpc(
      (samekey) => ({
        balance: t.procedure
          .use(idempotent(samekey, OPTIONS as TrpcOptions<Context>))
          .query(() => (runs += 1)),
      }),
      async ({ url }) => {
        for (const times of [1, 2]) {
          const answer = await fetch(`${url}/balance`, { headers: keyed('k-1') });
          expect(await answer.json()).toEqual({ result: { data: times } });
        }
      },
    );
  });
});

describe('options', () => {
  it('that cannot work are refused at once', () =>
    onTrpc(paying().make, async ({ samekey }) => {
      expect(() => idempotent(samekey, { policy: 'standard' } as never)).toThrow('scope');
      expect(() => idempotent(samekey, { scope: () => 'a' })).toThrow('policy');
      expect(() => idempotent(samekey, { ...OPTIONS, methods: ['POST'] } as never)).toThrow('methods');
      const way = { serialize: String, deserialize: String };
      for (const transformer of [{}, { input: way }, { input: way, output: { serialize: String } }])
        expect(() => idempotent(samekey, { ...OPTIONS, transformer } as never)).toThrow(
          'transformer is that',
        );
    }));
});
