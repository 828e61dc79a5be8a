/** What an application changes of the answers of calls: what is stored of them, and what a retry is told. */

import { TRPCError } from '@trpc/server';
import { GraphQLError } from 'graphql';
import superjson, { deserialize } from 'superjson';
import { expect, it } from 'vitest';
import * as graphql from '../../src/adapters/graphql/index.ts';
import { type ActionOptions, idempotentAction } from '../../src/adapters/next/index.ts';
import * as trpc from '../../src/adapters/trpc/index.ts';
import { createSamekey } from '../../src/index.ts';
import {
  type CallRedactFunction,
  type CallReplayFunction,
  redactOf,
  replayOf,
} from '../../src/http-call/call-hooks.ts';
import { reply } from '../../src/ways/reply.ts';
import type { Samekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { type Context as GraphqlContext, onGraphql, ON_HTTP } from './graphql-kit.ts';
import { type Context as TrpcContext, onTrpc, s, t } from './trpc-kit.ts';

/** The hooks of a door, whatever it calls itself. */
interface Hooks {
  readonly redact?: CallRedactFunction;
  readonly onReplay?: CallReplayFunction<never>;
}

/** What a call was told: its value, or the error's code with what is beside it, and whether it is marked a replay. */
interface Told {
  readonly value?: unknown;
  readonly error?: readonly unknown[];
  readonly isReplay: boolean | null;
}

/** A door with one operation that gives `answer` each time it runs. */
interface Door {
  readonly call: (key?: string) => Promise<Told>;
  readonly runs: () => number;
  /** The body that is stored, as text; null: none is kept. */
  readonly stored: () => Promise<string | null>;
  readonly misuses: readonly string[];
}

type OnDoor = (
  hooks: Hooks,
  answer: (runs: number) => unknown,
  body: (door: Door) => Promise<void>,
) => Promise<void>;

/** What is stored of its one answer, as text. */
async function storedBy(samekey: Samekey): Promise<string | null> {
  const [record] = await samekey.store.list({ limit: 1 });
  const body = record?.response?.body ?? null;
  return body === null ? null : new TextDecoder().decode(body);
}

/** An instance that tells what it was misused for. */
function watched() {
  const misuses: string[] = [];
  const instance = {
    store: memoryStore(),
    onEvent: (event: { readonly type: string; readonly code?: string }) => {
      if (event.type === 'misuse' && event.code !== undefined) misuses.push(event.code);
    },
  };
  return { instance: instance as never, misuses };
}

const onTrpcDoor: OnDoor = (hooks, answer, body) => {
  const { instance, misuses } = watched();
  let runs = 0;
  return onTrpc(
    (samekey) => ({
      pay: t.procedure
        .use(
          trpc.idempotent<TrpcContext>(samekey, {
            policy: 'standard',
            scope: () => 'acme',
            http: ({ ctx }) => ctx.http,
            errorData: ({ cause }) => cause?.message ?? null,
            ...(hooks as object),
          }),
        )
        .mutation(() => answer((runs += 1))),
    }),
    ({ mutate, samekey }) =>
      body({
        async call(key = 'k') {
          const { data, error, headers } = await mutate('pay', undefined, { 'idempotency-key': key });
          const isReplay = headers.get('idempotency-replayed') === 'true';
          if (error === undefined) return { value: data, isReplay };
          return { error: [error.code, error.message, error.details, error.idempotency?.code], isReplay };
        },
        runs: () => runs,
        stored: () => storedBy(samekey),
        misuses,
      }),
    { instance },
  );
};

const onGraphqlDoor: OnDoor = (hooks, answer, body) => {
  const { instance, misuses } = watched();
  let runs = 0;
  return onGraphql(
    'scalar Any type Mutation { pay: Any }',
    (samekey) => ({
      Mutation: {
        pay: graphql.idempotent(
          samekey,
          { policy: 'standard', ...ON_HTTP, ...(hooks as object) },
          (_source: unknown, _args: object, _context: GraphqlContext) => answer((runs += 1)),
        ),
      },
    }),
    ({ send, samekey }) =>
      body({
        async call(key = 'k') {
          const { data, errors, headers } = await send('mutation { pay }', { 'idempotency-key': key });
          const isReplay = headers.get('idempotency-replayed') === 'true';
          const [error] = errors;
          if (error === undefined) return { value: data?.['pay'], isReplay };
          const { code, details, idempotency } = error.extensions;
          return { error: [code, error.message, details, idempotency?.code], isReplay };
        },
        runs: () => runs,
        stored: () => storedBy(samekey),
        misuses,
      }),
    { instance },
  );
};

const onAction: OnDoor = async (hooks, answer, body) => {
  const { instance, misuses } = watched();
  const samekey = createSamekey(instance);
  let runs = 0;
  const pay = idempotentAction(
    samekey,
    {
      name: 'pay',
      policy: 'standard',
      scope: () => 'acme',
      keyIn: ({ args: [key] }) => key,
      refused: (refusal) => ({ refusal }),
      ...(hooks as Partial<ActionOptions<[string], unknown>>),
    } satisfies ActionOptions<[string], unknown>,
    async (_attempt, _key: string) => answer((runs += 1)),
  );
  await body({
    async call(key = 'k') {
      const value = await pay(key);
      const refusal = (value as { readonly refusal?: { readonly code: string } } | null)?.refusal;
      return refusal === undefined
        ? { value, isReplay: null }
        : { error: [null, null, undefined, refusal.code], isReplay: null };
    },
    runs: () => runs,
    stored: () => storedBy(samekey),
    misuses,
  });
  await samekey.close({ drainMs: 0 });
};

const DOORS: readonly (readonly [string, OnDoor])[] = [
  ['tRPC', onTrpcDoor],
  ['GraphQL', onGraphqlDoor],
  ['a server action', onAction],
];

const withoutCard: CallRedactFunction = ({ value }) => {
  const { card: _card, ...rest } = value as { readonly card: string };
  return { value: rest };
};

const paid = (runs: number): unknown => ({ runs, card: '4242' });

for (const [name, onDoor] of DOORS) {
  it(`${name}: what redact leaves is stored, and told to a retry; the first caller has the whole`, () =>
    onDoor({ redact: withoutCard }, paid, async ({ call, runs, stored, misuses }) => {
      expect((await call()).value).toEqual({ runs: 1, card: '4242' });
      expect(await stored()).not.toContain('4242');
      const again = await call();
      expect([again.value, again.isReplay === false]).toEqual([{ runs: 1 }, false]);
      expect([runs(), misuses]).toEqual([1, []]);
    }));

  it(`${name}: what redact writes into the value reaches nobody`, () =>
    onDoor(
      {
        redact({ value }) {
          (value as { card: string }).card = 'none';
          return null;
        },
      },
      paid,
      async ({ call, stored }) => {
        expect((await call()).value).toEqual({ runs: 1, card: '4242' });
        expect(await stored()).toContain('4242');
        expect((await call()).value).toEqual({ runs: 1, card: '4242' });
      },
    ));

  it.each<readonly [string, CallRedactFunction]>([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['gives the value itself', (({ value }) => value) as CallRedactFunction],
    ['gives a promise', (async () => ({ value: 1 })) as never],
    ['gives what JSON cannot hold', () => ({ value: new Map() })],
  ])(`${name}: where redact %s nothing is stored, and a retry is told so`, (_what, redact) =>
    onDoor({ redact }, paid, async ({ call, runs, stored, misuses }) => {
      expect((await call()).value).toEqual({ runs: 1, card: '4242' });
      expect(await stored()).toBe(null);
      expect((await call()).error?.[3]).toBe('response-not-stored');
      expect([runs(), misuses]).toEqual([1, ['redact-failed']]);
    }),
  );

  it(`${name}: a retry is told what onReplay gives; nothing runs, and the record is as it was`, () => {
    const asked: unknown[] = [];
    const onReplay: CallReplayFunction<never> = (replay) => {
      asked.push(replay);
      return asked.length === 2 ? null : { value: { state: 'settled' } };
    };
    return onDoor({ onReplay }, paid, async ({ call, runs, stored }) => {
      expect((await call()).value).toEqual({ runs: 1, card: '4242' });
      const before = await stored();
      const again = await call();
      expect([again.value, again.isReplay === false]).toEqual([{ state: 'settled' }, false]);
      expect((await call()).value).toEqual({ runs: 1, card: '4242' });
      expect((await call()).value).toEqual({ state: 'settled' });
      expect([runs(), await stored()]).toEqual([1, before]);
      const replay = { status: 200, value: { runs: 1, card: '4242' }, key: 'k', attempt: 1 };
      expect(asked[0]).toEqual({ ...replay, expiresAt: expect.any(Number) });
    });
  });

  it.each<readonly [string, CallReplayFunction<never>]>([
    ['throws', () => Promise.reject(new Error('no'))],
    ['gives the value itself', (({ value }: { value: unknown }) => value) as never],
    ['gives a status that is none', () => ({ status: 99, value: 1 })],
    ['gives what JSON cannot hold', () => ({ value: new Map() })],
  ])(`${name}: where onReplay %s a retry is to come again, and nothing has changed`, (_what, fails) => {
    let isDown = true;
    const onReplay: CallReplayFunction<never> = (...given) => (isDown ? fails(...given) : null);
    return onDoor({ onReplay }, paid, async ({ call, runs, misuses }) => {
      await call();
      const refused = await call();
      expect(refused.error?.[3]).toBe('replay-unavailable');
      if (name !== 'a server action') expect(refused.error?.[0]).toBe('SERVICE_UNAVAILABLE');
      isDown = false;
      expect((await call()).value).toEqual({ runs: 1, card: '4242' });
      expect([runs(), misuses]).toEqual([1, ['on-replay-failed']]);
    });
  });
}

/** An error that is stored, of both doors that have them. */
const gone: Readonly<Record<string, () => unknown>> = {
  tRPC: () => new TRPCError({ code: 'NOT_FOUND', message: 'no 4242', cause: new Error('4242') }),
  GraphQL: () => new GraphQLError('no 4242', { extensions: { code: 'NOT_FOUND', details: '4242' } }),
};

const withoutWords: CallRedactFunction = ({ status, value }) => {
  expect([status, JSON.stringify(value)]).toEqual([404, expect.stringContaining('4242')]);
  return {
    value: { ...(value as object), message: 'none', data: '-', extensions: { code: 'NOT_FOUND' } },
  };
};

for (const [name, onDoor] of DOORS.slice(0, 2)) {
  const refuse = (): unknown => {
    throw gone[name]?.();
  };

  it(`${name}: an error is redacted as a value is, and told again as onReplay says`, () => {
    return onDoor({ redact: withoutWords }, refuse, async ({ call, stored, runs }) => {
      expect((await call()).error?.slice(0, 3)).toEqual(['NOT_FOUND', 'no 4242', '4242']);
      expect(await stored()).not.toContain('4242');
      expect((await call()).error?.slice(0, 2)).toEqual(['NOT_FOUND', 'none']);
      expect(runs()).toBe(1);
    });
  });

  it(`${name}: onReplay tells a refusal of today by its status, and a value in place of an error`, () => {
    const answers = [{ status: 409, value: { left: 0 } }, { value: 'there again' }];
    return onDoor({ onReplay: () => answers.shift() }, refuse, async ({ call }) => {
      await call();
      expect((await call()).error?.slice(0, 3)).toEqual(['CONFLICT', 'CONFLICT', { left: 0 }]);
      expect(await call()).toEqual({ value: 'there again', isReplay: true });
    });
  });
}

it('a server action: where it led to is of no hook', async () => {
  const digest = 'NEXT_REDIRECT;push;/thanks;307;';
  const asked: unknown[] = [];
  const lead = (): unknown => {
    throw Object.assign(new Error(digest), { digest });
  };
  const hook = (given: unknown): null => void asked.push(given) as unknown as null;
  await onAction({ redact: hook, onReplay: hook }, lead, async ({ call }) => {
    await expect(call()).rejects.toMatchObject({ digest });
    await expect(call()).rejects.toMatchObject({ digest });
    expect(asked).toEqual([]);
  });
});

it('a server action: a status from onReplay would say nothing, and is refused', () =>
  onAction(
    { onReplay: () => ({ status: 404, value: 1 }) },
    () => 1,
    async ({ call }) => {
      await call();
      expect((await call()).error?.[3]).toBe('replay-unavailable');
    },
  ));

it('tRPC: hooks get and give what the transformer reads and writes', () => {
  const today = new Date('2026-11-30T00:00:00Z');
  const seen: unknown[] = [];
  const options: trpc.TrpcOptions<TrpcContext> = {
    policy: 'standard',
    scope: () => 'acme',
    http: ({ ctx }) => ctx.http,
    transformer: superjson,
    redact({ value }) {
      seen.push(value);
      return { value: { at: (value as { at: Date }).at, secret: null } };
    },
    onReplay({ value }) {
      seen.push(value);
      return { value: { ...(value as object), now: today } };
    },
  };
  return onTrpc(
    (samekey) => ({
      pay: s.procedure
        .use(trpc.idempotent<TrpcContext>(samekey, options))
        .mutation(() => ({ at: new Date(0), secret: 's' })),
    }),
    async ({ mutate }) => {
      const read = async (): Promise<unknown> =>
        deserialize((await mutate('pay', undefined, { 'idempotency-key': 'k' })).data as never);
      expect(await read()).toEqual({ at: new Date(0), secret: 's' });
      expect(await read()).toEqual({ at: new Date(0), secret: null, now: today });
      expect(seen).toEqual([
        { at: new Date(0), secret: 's' },
        { at: new Date(0), secret: null },
      ]);
    },
    { builder: s },
  );
});

const settled: CallReplayFunction<unknown> = ({ status, value }) =>
  status === 200 ? { value: { was: value, state: 'settled' } } : { status: 404, value: 'gone' };
const operationOf = (samekey: Samekey) =>
  samekey.plain({
    name: 'pay',
    policy: 'standard',
    run: (input: number) => (input > 0 ? { paid: input } : reply(409, 'none left')),
  });

it('a served operation: a retry is told what onReplay gives, of a refusal too', () => {
  return onTrpc(
    (samekey) => ({
      pay: t.procedure.input(Number).mutation(
        trpc.serve(operationOf(samekey) as never, {
          scope: () => 'acme',
          http: ({ ctx }) => ctx.http,
          onReplay: settled,
        }),
      ),
    }),
    async ({ mutate }) => {
      const send = (input: number) => mutate('pay', input, { 'idempotency-key': `k${input}` });
      expect((await send(5)).data).toEqual({ paid: 5 });
      expect((await send(5)).data).toEqual({ was: { paid: 5 }, state: 'settled' });
      expect((await send(0)).error).toMatchObject({ code: 'CONFLICT', details: 'none left' });
      expect((await send(0)).error).toMatchObject({ code: 'NOT_FOUND', details: 'gone' });
    },
  );
});

it('two callers at once: who ran it has the whole, and who joined what is stored', () =>
  onTrpcDoor(
    { redact: withoutCard },
    (runs) => ({ runs, card: '4242' }),
    async ({ call }) => {
      const both = await Promise.all([call(), call()]);
      for (const { value, isReplay, error } of both)
        expect(error === undefined ? value : error[3]).toEqual(
          error !== undefined ? 'in-progress' : isReplay === true ? { runs: 1 } : { runs: 1, card: '4242' },
        );
    },
  ));

it('an answer that was given over HTTP or by hand, and is no JSON, is told as it is, and stored by nobody who redacts', async () => {
  const asked: unknown[] = [];
  const hook = (given: unknown): never => void asked.push(given) as never;
  const answer = { status: 200, headers: [], body: new TextEncoder().encode('<p>paid</p>') };
  expect(() => redactOf(hook)(answer)).toThrow();
  expect(await replayOf(hook)({ ...answer, key: 'k', attempt: 1, expiresAt: 1 }, null)).toBe(null);
  expect(asked).toEqual([]);
});

it.each(['dialect', 'profile', 'freshness', 'firstSent'])(
  'an option that would not protect a call is refused at once, and says why: %s',
  (option) => {
    const samekey = createSamekey({ store: memoryStore() });
    const operation = samekey.plain({ name: `of ${option}`, policy: 'standard', run: () => 1 });
    const own = { scope: () => 'acme', [option]: {} } as never;
    const protectedOnes = { ...(own as object), policy: 'standard' } as never;
    const why = new RegExp(`of calls has no option "${option}"\\. (It says how|A call does not say)`);
    expect(() => trpc.idempotent(samekey, protectedOnes)).toThrow(why);
    expect(() => trpc.serve(operation, own)).toThrow(why);
    expect(() => trpc.serveStatus(operation as never, own)).toThrow(why);
    expect(() => graphql.idempotent(samekey, protectedOnes, () => 1)).toThrow(why);
    expect(() => graphql.serve(operation, own)).toThrow(why);
    expect(() => graphql.serveStatus(operation as never, own)).toThrow(why);
    expect(() => idempotentAction(samekey, protectedOnes, async () => 1)).toThrow(why);
  },
);

it('a served operation takes no redact: it makes its answer itself', () => {
  const samekey = createSamekey({ store: memoryStore() });
  const operation = samekey.plain({ name: 'pay', policy: 'standard', run: () => 1 });
  const own = { scope: () => 'acme', redact: () => null } as never;
  expect(() => trpc.serve(operation, own)).toThrow(/leave out of its reply what must not be stored/);
  expect(() => graphql.serve(operation, own)).toThrow(/leave out of its reply what must not be stored/);
});
