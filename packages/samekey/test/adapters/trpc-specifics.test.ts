/** What only tRPC has around a door: batches, validators, transformers, server-side calls, and operations as procedures. */

import {
  createTRPCClient,
  httpBatchLink,
  httpLink,
  retryLink,
  splitLink,
  TRPCClientError,
} from '@trpc/client';
import { type AnyRouter, TRPCError } from '@trpc/server';
import superjson, { deserialize, serialize } from 'superjson';
import { describe, expect, it } from 'vitest';
import { idempotent, serve, serveStatus, type TrpcHttp } from '../../src/adapters/trpc/index.ts';
import { square } from '../../src/dialects/index.ts';
import type { StandardSchema } from '../../src/core/schema.ts';
import { createSamekey, reply } from '../../src/index.ts';
import { protectionOf } from '../../src/http/marker.ts';
import { internalsOf, type Samekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { pushDue } from '../../src/ways/completer.ts';
import { type Answer, type Context, keyed, onTrpc, type Router, s, t } from './trpc-kit.ts';

interface Payment {
  readonly amount: number;
  readonly key?: string;
}
const asPayment = (given: unknown): Payment => given as Payment;
const told = ({ status, error }: Answer) => [status, error?.code, error?.idempotency?.code];

/** `pay` takes its key in a header or as an argument, and so does `refund`. */
function paying(): { readonly runs: string[]; readonly make: (samekey: Samekey) => object } {
  const runs: string[] = [];
  return {
    runs,
    make(samekey) {
      // The options' functions know the procedure's own context and input.
      const keyedMutation = t.procedure.input(asPayment).use(
        idempotent(samekey, {
          policy: 'standard',
          scope: ({ ctx }) => ctx.account,
          http: ({ ctx }) => ctx.http,
          keyIn: ({ input }) => input.key,
        }),
      );
      return {
        pay: keyedMutation.mutation(
          ({ input }) => `pay ${input.amount}: ${runs.push(`pay ${input.amount}`)}`,
        ),
        refund: keyedMutation.mutation(({ input }) => runs.push(`refund ${input.amount}`)),
        fails: keyedMutation.mutation(() => {
          runs.push('fails');
          throw new TRPCError({ code: 'NOT_FOUND', message: 'no such account' });
        }),
      };
    },
  };
}

const values = (answers: readonly Answer[]) => answers.map(({ data, error }) => data ?? error?.message);

describe('a batch', () => {
  it('with one key in its header and several calls runs none of them', () => {
    const { make, runs } = paying();
    return onTrpc(make, async ({ batch }) => {
      const answers = await batch([{ pay: { amount: 1 } }, { refund: { amount: 1 } }], keyed('k-1'));
      expect(answers.map(told)).toEqual([
        [400, 'BAD_REQUEST', 'key-several'],
        [400, 'BAD_REQUEST', 'key-several'],
      ]);
      expect(answers[0]?.error?.message).toContain('each needs a key of its own');
      expect(runs).toEqual([]);
    });
  });

  it('runs each call under its own key, and answers in order; sent again, it runs none', () => {
    const { make, runs } = paying();
    return onTrpc(make, async ({ batch }) => {
      const calls = [
        { pay: { amount: 1, key: 'a' } },
        { fails: { amount: 2, key: 'b' } },
        { pay: { amount: 3, key: 'c' } },
      ];
      const first = await batch(calls);
      expect(values(first)).toEqual([
        expect.stringMatching(/^pay 1/),
        'no such account',
        expect.stringMatching(/^pay 3/),
      ]);
      // A header that names none of them is no matter: each has its own.
      expect(values(await batch(calls, keyed('z')))).toEqual(values(first));
      expect(values(await batch(calls.toReversed()))).toEqual(values(first).toReversed());
      expect(runs.length).toBe(3);
      // A mark would be one for all of them.
      expect((await batch(calls))[0]?.headers.get('idempotency-replayed')).toBe(null);
    });
  });

  it('refuses the call that has no key, and runs those that have one', () => {
    const { make, runs } = paying();
    return onTrpc(make, async ({ batch }) => {
      const calls = [{ pay: { amount: 1, key: 'a' } }, { refund: { amount: 2 } }];
      const [paid, refused] = await batch(calls, keyed('k-1'));
      expect(paid?.data).toBe('pay 1: 1');
      expect(told(refused as Answer).slice(1)).toEqual(['BAD_REQUEST', 'key-several']);
      expect(told((await batch(calls))[1] as Answer).slice(1)).toEqual(['BAD_REQUEST', 'key-missing']);
      expect(runs).toEqual(['pay 1']);
    });
  });

  it('of one call takes the key of its header', () => {
    const { make, runs } = paying();
    return onTrpc(make, async ({ batch, mutate }) => {
      const [made] = await batch([{ pay: { amount: 1 } }], keyed('k-1'));
      const again = await mutate('pay', { amount: 1 }, keyed('k-1'));
      expect([made?.data, again.data, again.headers.get('idempotency-replayed')]).toEqual([
        'pay 1: 1',
        'pay 1: 1',
        'true',
      ]);
      expect(runs).toEqual(['pay 1']);
    });
  });

  it('that has one key twice runs once', () => {
    const { make, runs } = paying();
    return onTrpc(make, async ({ batch }) => {
      const answers = await batch([{ pay: { amount: 1, key: 'a' } }, { pay: { amount: 1, key: 'a' } }]);
      expect(runs).toEqual(['pay 1']);
      expect(answers.filter(({ data }) => data === 'pay 1: 1').length).toBeGreaterThan(0);
    });
  });
});

describe('a key', () => {
  it('may come in the header and as an argument, if it is the same', () => {
    const { make, runs } = paying();
    return onTrpc(make, async ({ mutate }) => {
      expect((await mutate('pay', { amount: 1, key: 'a' }, keyed('a'))).data).toBe('pay 1: 1');
      expect(told(await mutate('pay', { amount: 1, key: 'b' }, keyed('c')))).toEqual([
        400,
        'BAD_REQUEST',
        'key-several',
      ]);
      expect((await mutate('pay', { amount: 1, key: 'a' })).data).toBe('pay 1: 1');
      expect(runs.length).toBe(1);
    });
  });

  it('of one procedure is another than that of the next', () => {
    const { make, runs } = paying();
    return onTrpc(make, async ({ mutate }) => {
      await mutate('pay', { amount: 1 }, keyed('a'));
      await mutate('refund', { amount: 1 }, keyed('a'));
      expect(runs).toEqual(['pay 1', 'refund 1']);
    });
  });

  it('goes with each retry of a client, and batches keep what needs none', async () => {
    const { make, runs } = paying();
    await onTrpc(make, async ({ url }) => {
      const sent: string[] = [];
      let failures = 1;
      const flaky: typeof fetch = async (target, init) => {
        sent.push(new URL(target instanceof Request ? target.url : target).pathname);
        const answer = await fetch(target, init);
        if (failures-- > 0) throw new TypeError('the reply is lost');
        return answer;
      };
      const client = createTRPCClient<AnyRouter>({
        links: [
          retryLink({
            retry: ({ op, attempts }) => op.context['idempotencyKey'] !== undefined && attempts < 3,
          }),
          splitLink({
            condition: ({ context }) => context['idempotencyKey'] !== undefined,
            true: httpLink({
              url,
              fetch: flaky as never,
              headers: ({ op }) => ({ 'Idempotency-Key': String(op.context['idempotencyKey']) }),
            }),
            false: httpBatchLink({ url }),
          }),
        ],
      }) as unknown as Record<string, { mutate(input: unknown, options?: object): Promise<unknown> }>;
      const context = { idempotencyKey: 'k-1' };
      expect(await client['pay']?.mutate({ amount: 1 }, { context })).toBe('pay 1: 1');
      expect([sent, runs]).toEqual([['/pay', '/pay'], ['pay 1']]);
      const reused = client['pay']?.mutate({ amount: 2 }, { context });
      await expect(reused).rejects.toThrow(TRPCClientError);
      await expect(reused).rejects.toMatchObject({
        data: { idempotency: { code: 'key-reused', retryable: false } },
      });
    });
  });
});

/** As a library would make it. */
const amountFrom = (least: number): StandardSchema<Payment> => ({
  '~standard': {
    version: 1,
    vendor: 'test',
    validate(value) {
      const { amount } = (value ?? {}) as Partial<Payment>;
      return typeof amount === 'number' && amount >= least
        ? { value: { amount } }
        : { issues: [{ message: `at least ${least}`, path: ['amount'] }] };
    },
  },
});

const validating = (samekey: Samekey, least: number, runs: number[]) => {
  const options = {
    policy: 'standard',
    scope: () => 'acme',
    http: ({ ctx }: { ctx: Context }) => ctx.http,
  } as const;
  const schema = amountFrom(least);
  return {
    behind: t.procedure
      .input(schema as never)
      .use(idempotent<Context>(samekey, options))
      .mutation(() => runs.push(least)),
    before: t.procedure
      .use(idempotent<Context>(samekey, { ...options, schema }))
      .input(schema as never)
      .mutation(() => runs.push(least)),
  };
};

describe('an invalid input', () => {
  // F102
  it('claims nothing: the corrected one runs under the same key', () => {
    const runs: number[] = [];
    return onTrpc(
      (samekey) => validating(samekey, 1, runs),
      async ({ mutate, samekey }) => {
        for (const path of ['behind', 'before']) {
          expect((await mutate(path, { amount: 0 }, keyed('k-1'))).error?.code).toBe('BAD_REQUEST');
          expect(await samekey.store.list({})).toHaveLength(runs.length);
          expect((await mutate(path, { amount: 1 }, keyed('k-1'))).data).toBe(runs.length);
        }
        const refused = await mutate('before', { amount: 0 }, keyed('k-2'));
        expect(refused.error?.idempotency).toMatchObject({
          code: 'request-invalid',
          errors: [{ detail: 'at least 1', pointer: '#/amount' }],
        });
      },
    );
  });

  it('that nobody has checked is told of: the door stands in front of its validator', async () => {
    const codes: string[] = [];
    await onTrpc(
      (samekey) => ({
        pay: t.procedure
          .use(idempotent(samekey, { policy: 'standard', scope: () => 'acme', http: ({ ctx }) => ctx.http }))
          .input(asPayment)
          .mutation(() => 1),
      }),
      async ({ mutate }) => {
        await mutate('pay', { amount: 1 }, keyed('k-1'));
        await mutate('pay', { amount: 1 }, keyed('k-1'));
      },
      { instance: { onEvent: (event) => void (event.type === 'misuse' && codes.push(event.code)) } },
    );
    expect(codes).toEqual(['input-unchecked']);
  });

  // F102, F118
  it('by a rule that a deploy has made stricter has its answer, where the schema is the door’s', () => {
    const store = memoryStore();
    const runs: number[] = [];
    const on = (least: number, body: (answers: Answer[]) => void) =>
      onTrpc(
        (samekey) => validating(samekey, least, runs),
        async ({ mutate }) => body([await mutate('before', { amount: 1 }, keyed('k-1'))]),
        { instance: { store } },
      );
    return on(1, ([made]) => expect(made?.data).toBe(1)).then(() =>
      on(10, ([again]) => {
        expect([again?.data, again?.headers.get('idempotency-replayed'), runs]).toEqual([1, 'true', [1]]);
      }),
    );
  });
});

describe('a value', () => {
  const OPTIONS = {
    policy: 'payments',
    scope: () => 'acme',
    http: ({ ctx }: { ctx: Context }) => ctx.http,
  } as const;
  const giving = (value: () => unknown, more: object = {}, builder: typeof t | typeof s = t) => ({
    make: (samekey: Samekey) => ({
      give: (builder as typeof t).procedure
        .input((given: unknown) => given)
        .use(idempotent<Context>(samekey, { ...OPTIONS, ...more }))
        .mutation(value),
    }),
    builder,
  });
  const both = async (
    { make, builder }: ReturnType<typeof giving>,
    input: unknown = 1,
  ): Promise<readonly Answer[]> => {
    const answers: Answer[] = [];
    await onTrpc(
      make,
      async ({ mutate }) => {
        for (let at = 0; at < 2; at += 1) answers.push(await mutate('give', input, keyed('k-1')));
      },
      { builder },
    );
    return answers;
  };

  it('is what JSON makes of it, the first time too', async () => {
    const at = new Date(0);
    const [first, second] = await both(giving(() => ({ at, none: undefined, list: [undefined] })));
    expect(first?.data).toEqual({ at: at.toISOString(), list: [null] });
    expect(second?.data).toEqual(first?.data);
    for (const each of await both(giving(() => undefined)))
      expect(each).toMatchObject({ status: 200, data: undefined });
  });

  it('is what its own toJSON makes of it, at the top as below: nothing else of it is stored, or told', async () => {
    const hides = { id: 'a', secret: 's3cret', toJSON: () => ({ id: 'a' }) };
    for (const { data } of await both(giving(() => hides))) expect(data).toEqual({ id: 'a' });
    for (const { data } of await both(giving(() => new Date(0))))
      expect(data).toBe(new Date(0).toISOString());
  });

  // F66, F78
  it('of which JSON would lose a part is not stored: both are told so, and nothing runs again', async () => {
    let runs = 0;
    for (const each of await both(giving(() => new Map([[1, (runs += 1)]]))))
      expect(told(each)).toEqual([412, 'PRECONDITION_FAILED', 'response-not-stored']);
    expect(runs).toBe(1);
  });

  it('goes through the router’s transformer, if the door has it: dates stay dates', async () => {
    const options = { transformer: superjson };
    const answers = await both(
      giving(() => ({ at: new Date(0), set: new Set([1]) }), options, s),
      serialize({ due: new Date(5) }),
    );
    for (const { data } of answers)
      expect(deserialize(data as never)).toEqual({ at: new Date(0), set: new Set([1]) });
    expect(answers[1]?.headers.get('idempotency-replayed')).toBe('true');
  });

  // F66
  it('that its transformer cannot write is not stored, and its work is done all the same', async () => {
    let runs = 0;
    const oneWay = {
      serialize() {
        throw new Error('cannot');
      },
      deserialize: (value: unknown) => value,
    };
    const transformer = { input: superjson, output: oneWay };
    const standard = { policy: 'standard', transformer };
    for (const each of await both(giving(() => (runs += 1), standard)))
      expect(told(each)).toEqual([412, 'PRECONDITION_FAILED', 'response-not-stored']);
    expect(runs).toBe(1);
  });

  // F77, F90
  it('that cannot be compared is refused before anything runs', () =>
    onTrpc(giving(() => 1).make, async ({ samekey }) => {
      let runs = 0;
      const router = t.router({
        pay: t.procedure
          .input((given: unknown) => given)
          .use(idempotent<Context>(samekey, { ...OPTIONS, keyIn: () => 'k-1' }))
          .mutation(() => (runs += 1)),
      });
      const caller = router.createCaller({ http: undefined as never, account: 'acme' });
      await expect(caller.pay({ due: new Date() })).rejects.toMatchObject({
        cause: { code: 'ERR_SAMEKEY_VALUE' },
      });
      let deep: unknown = 1;
      for (let at = 0; at < 5_000; at += 1) deep = [deep];
      await expect(caller.pay(deep)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
      expect([runs, await samekey.store.list({})]).toEqual([0, []]);
    }));
});

describe('a call from the server', () => {
  it('is not that of the request whose context it has: its key is its own', () => {
    const { make, runs } = paying();
    return onTrpc(make, async ({ samekey }) => {
      const inner = t.router(make(samekey) as never) as unknown as Router;
      const http = {
        req: { headers: keyed('k-1') },
        info: { calls: [{ path: 'orders.place' }] },
      } as TrpcHttp;
      const caller = inner.createCaller({ http, account: 'acme' }) as never as Record<
        string,
        (input: Payment) => Promise<unknown>
      >;
      await expect(caller['pay']?.({ amount: 1 })).rejects.toMatchObject({
        name: 'TRPCError',
        code: 'BAD_REQUEST',
      });
      expect(await caller['pay']?.({ amount: 1, key: 'a' })).toBe('pay 1: 1');
      expect(await caller['pay']?.({ amount: 1, key: 'a' })).toBe('pay 1: 1');
      // Of a socket there are no calls: its one request is for all of them.
      const socket = inner.createCaller({
        http: { ...http, info: { calls: [] } },
        account: 'acme',
      }) as typeof caller;
      await expect(socket['pay']?.({ amount: 1 })).rejects.toMatchObject({ code: 'BAD_REQUEST' });
      expect(runs).toEqual(['pay 1']);
    });
  });
});

const scope = ({ ctx }: { ctx: Context }) => ctx.account;
const http = ({ ctx }: { ctx: Context }) => ctx.http;

const NOT_THEIRS = 'NOT_FOUND: There is no such request of this caller.';

describe('an operation', () => {
  it('is a mutation: its value, its refusal, its replay', () => {
    let runs = 0;
    return onTrpc(
      (samekey) => {
        const place = samekey.plain({
          name: 'place-order',
          policy: 'standard',
          run: ({ amount }: Payment) =>
            (runs += 1) > 1 ? reply(409, { missing: amount }) : reply(201, { amount, runs }),
        });
        const resolver = serve(place, { scope, http });
        expect(protectionOf(resolver)).toMatchObject({ answers: true, required: true });
        return { place: t.procedure.input(asPayment).mutation(resolver) };
      },
      async ({ mutate }) => {
        for (const mark of [null, 'true']) {
          const made = await mutate('place', { amount: 1 }, keyed('k-1'));
          expect([made.data, made.headers.get('idempotency-replayed')]).toEqual([
            { amount: 1, runs: 1 },
            mark,
          ]);
        }
        for (const mark of [null, 'true']) {
          const refused = await mutate('place', { amount: 2 }, keyed('k-2'));
          expect([refused.status, refused.error]).toMatchObject([
            409,
            { code: 'CONFLICT', details: { missing: 2 } },
          ]);
          expect(refused.headers.get('idempotency-replayed')).toBe(mark);
        }
        expect(told(await mutate('place', { amount: 1 }))).toEqual([400, 'BAD_REQUEST', 'key-missing']);
        expect(runs).toBe(2);
      },
    );
  });

  it('is compared by what the client sent: what a validator adds makes no other request', () => {
    let runs = 0;
    return onTrpc(
      (samekey) => {
        const place = samekey.plain({
          name: 'place-order',
          policy: 'standard',
          run: ({ id }: { readonly id: number }) => reply(201, { id }),
        });
        return {
          place: t.procedure.input(() => ({ id: (runs += 1) })).mutation(serve(place, { scope, http })),
        };
      },
      async ({ mutate }) => {
        const pay = async (): Promise<unknown> => (await mutate('place', { amount: 1 }, keyed('k-1'))).data;
        expect([await pay(), await pay()]).toEqual([{ id: 1 }, { id: 1 }]);
        expect(told(await mutate('place', { amount: 2 }, keyed('k-1')))).toEqual([
          422,
          'UNPROCESSABLE_CONTENT',
          'key-reused',
        ]);
      },
    );
  });

  it('that is deferred is accepted, and its status is a query', () =>
    onTrpc(
      (samekey) => {
        const report = samekey.deferred(
          samekey.plain({
            name: 'report',
            policy: 'standard',
            run: ({ amount }: Payment) => ({ lines: amount }),
          }),
        );
        return {
          report: t.procedure
            .input(asPayment)
            .mutation(serve(report, { scope, http, pending: () => ({ accepted: true }) })),
          silent: t.procedure.input(asPayment).mutation(serve(report, { scope, http })),
          status: t.procedure
            .input((key: unknown) => key as string)
            .query(serveStatus(report, { scope, key: ({ input }) => input })),
        };
      },
      async ({ mutate, url, samekey }) => {
        const ask = async (key: string, account = 'acme'): Promise<unknown> => {
          const input = encodeURIComponent(JSON.stringify(key));
          const answer = await fetch(`${url}/status?input=${input}`, { headers: { 'x-account': account } });
          const { result, error } = (await answer.json()) as {
            result?: { data: unknown };
            error?: { message: string; data: { code: string } };
          };
          return result?.data ?? `${error?.data.code}: ${error?.message}`;
        };
        expect((await mutate('report', { amount: 3 }, keyed('k-1'))).data).toEqual({ accepted: true });
        expect((await mutate('report', { amount: 3 }, keyed('k-1'))).data).toEqual({ accepted: true });
        expect(told(await mutate('silent', { amount: 3 }, keyed('k-1')))).toEqual([
          409,
          'CONFLICT',
          'pending',
        ]);
        expect(await ask('k-1')).toEqual({ status: 'pending', retryAfter: 1 });
        await pushDue(internalsOf(samekey), 10);
        expect(await ask('k-1')).toEqual({ status: 'done', value: { lines: 3 } });
        expect((await mutate('silent', { amount: 3 }, keyed('k-1'))).data).toEqual({ lines: 3 });
        expect([await ask('k-1', 'other'), await ask('k-2')]).toEqual([NOT_THEIRS, NOT_THEIRS]);
      },
    ));

  it('says its own options itself', () => {
    const samekey = createSamekey({ store: memoryStore() });
    const one = samekey.plain({ name: 'one', policy: 'standard', run: () => 1 });
    expect(() => serve(one, { scope: () => 'a', policy: 'payments' } as never)).toThrow('policy');
    expect(() => serve(one, { scope: () => 'a', profile: 'ietf' } as never)).toThrow('profile');
    expect(() => serveStatus(one, { key: () => 'a' } as never)).toThrow('scope');
    const ask = { scope: () => 'a', key: () => 'a' };
    expect(() => serveStatus(one, { ...ask, profile: 'ietf' } as never)).toThrow('has no option "profile"');
    expect(() => serveStatus(one, { ...ask, dialect: square } as never)).toThrow('has no option "dialect"');
  });
});
