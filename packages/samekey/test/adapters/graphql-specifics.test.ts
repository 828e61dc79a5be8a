/** What only GraphQL has around a door: scalars, selections, nested mutations, and operations as fields. */

import { buildSchema, graphql, GraphQLError, GraphQLScalarType, GraphQLSchema, Kind } from 'graphql';
import { describe, expect, it } from 'vitest';
import { idempotent, serve, serveStatus } from '../../src/adapters/graphql/index.ts';
import type { StandardSchema } from '../../src/core/schema.ts';
import { protectionOf } from '../../src/http/marker.ts';
import { createSamekey, reply } from '../../src/index.ts';
import { internalsOf, type Samekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { pushDue } from '../../src/ways/completer.ts';
import { type Answer, type Context, keyed, ON_HTTP, onGraphql, SERVERS, told } from './graphql-kit.ts';

/** Dates inside, texts outside, as libraries of scalars have it. */
const DateTime = new GraphQLScalarType<Date | null, string>({
  name: 'DateTime',
  serialize: (value) => (value instanceof Date ? value : new Date(String(value))).toISOString(),
  parseValue: (value) => new Date(String(value)),
  parseLiteral: (node) => (node.kind === Kind.STRING ? new Date(node.value) : null),
});

const on = (samekey: Samekey, resolver: (args: never) => unknown, more: object = {}) =>
  idempotent(
    samekey,
    { policy: 'payments', ...ON_HTTP, ...more },
    (_source: unknown, args: never, _context: Context) => resolver(args),
  );

const both = async (
  types: string,
  query: string,
  resolvers: (samekey: Samekey) => object,
  server: keyof typeof SERVERS = 'graphql-http',
): Promise<readonly [Answer, Answer]> => {
  const answers: Answer[] = [];
  await onGraphql(
    types,
    resolvers,
    async ({ send }) => {
      for (let at = 0; at < 2; at += 1) answers.push(await send(query, keyed('k-1')));
    },
    { server },
  );
  return answers as unknown as readonly [Answer, Answer];
};

const placing = (pace: string) =>
  `mutation { place(lines: [[{ due: "2026-01-01T00:00:00Z", pace: ${pace} }]], at: "1970-01-01T00:00:00Z") { due dues pace } }`;

const makes = (value: unknown) => (samekey: Samekey) => ({
  Mutation: { make: on(samekey, () => value) },
});

describe('a value', () => {
  it.each(Object.keys(SERVERS) as (keyof typeof SERVERS)[])(
    'of scalars and enumerations is compared as it was sent, and answered as JSON has it, on %s',
    async (server) => {
      const seen: unknown[] = [];
      const types = `
        scalar DateTime
        enum Pace { SLOW FAST }
        input Line { due: DateTime!, pace: Pace }
        type Order { due: DateTime, dues: [DateTime!], pace: Pace }
        type Mutation { place(lines: [[Line!]!]!, at: DateTime, more: [DateTime!]): Order }
      `;
      const resolvers = (samekey: Samekey) => ({
        DateTime,
        Pace: { SLOW: Symbol.for('slow'), FAST: 2 },
        Mutation: {
          place: on(
            samekey,
            ({ lines: [[line]], at }: { lines: [[{ due: Date; pace: unknown }]]; at: Date }) => {
              seen.push(line.due, line.pace);
              return { due: at, dues: [line.due], pace: 2 };
            },
          ),
        },
      });
      await onGraphql(
        types,
        resolvers,
        async ({ send }) => {
          const made = await send(placing('SLOW'), keyed('k-1'));
          expect(made.data).toEqual({
            place: { due: '1970-01-01T00:00:00.000Z', dues: ['2026-01-01T00:00:00.000Z'], pace: 'FAST' },
          });
          expect((await send(placing('SLOW'), keyed('k-1'))).data).toEqual(made.data);
          expect(told(await send(placing('FAST'), keyed('k-1')))).toEqual([
            'UNPROCESSABLE_CONTENT',
            'key-reused',
          ]);
          // The resolver has what graphql has made of it.
          expect(seen).toEqual([new Date('2026-01-01'), Symbol.for('slow')]);
        },
        { server },
      );
    },
  );

  it('is the resolver’s own result, in the first caller’s hands too: its methods and its class are not there', async () => {
    class Row {
      readonly id = 1;
      get hidden() {
        return 'from the class';
      }
    }
    const types = 'type Row { id: Int, hidden: String } type Mutation { make: Row, none: Row }';
    const answers = await both(types, 'mutation { make { id hidden } }', (samekey) => ({
      Mutation: { make: on(samekey, () => new Row()) },
    }));
    for (const { data } of answers) expect(data).toEqual({ make: { id: 1, hidden: null } });
    const nothing = await both(types, 'mutation { none { id } }', (samekey) => ({
      Mutation: { none: on(samekey, () => null) },
    }));
    for (const { data, errors } of nothing) expect([data, errors]).toEqual([{ none: null }, []]);
  });

  // F66, F78
  it('of which JSON would lose a part is not stored: both are told so, and nothing runs again', async () => {
    for (const member of [() => 'lazily', Promise.resolve('later'), new Map()]) {
      let runs = 0;
      const answers = await both(
        'type Row { late: String } type Mutation { make: Row }',
        'mutation { make { late } }',
        (samekey) => ({
          Mutation: { make: on(samekey, () => ({ late: member, runs: (runs += 1) })) },
        }),
      );
      for (const answer of answers) expect(told(answer)).toEqual(['GONE', 'response-not-stored']);
      expect(runs).toBe(1);
    }
  });

  it('has fields that are resolved behind the record: an error there is of this answer alone', async () => {
    let fails = true;
    const [first, second] = await both(
      'type Row { id: Int, late: String } type Mutation { make: Row }',
      'mutation { make { id late } }',
      (samekey) => ({
        Mutation: { make: on(samekey, () => ({ id: 1 })) },
        Row: {
          late() {
            if (!fails) return 'there';
            fails = false;
            throw new GraphQLError('not yet');
          },
        },
      }),
    );
    expect([first.data, first.errors[0]?.message]).toEqual([{ make: { id: 1, late: null } }, 'not yet']);
    expect(second.data).toEqual({ make: { id: 1, late: 'there' } });
  });

  it('in which an error stands deep, in a circle, beside what cannot be read, is found', async () => {
    const circle: Record<string, unknown> = { id: 1 };
    circle['self'] = { list: [circle, new GraphQLError('deep')] };
    const unreadable = Object.defineProperty({ id: 1 }, 'late', {
      enumerable: true,
      get() {
        throw new Error('no');
      },
    });
    const types = 'type Row { id: Int } type Mutation { make: Row }';
    const [first, second] = await both(types, 'mutation { make { id } }', makes(circle));
    expect([first.data, told(second)]).toEqual([{ make: { id: 1 } }, ['CONFLICT', 'outcome-unknown']]);
    for (const answer of await both(types, 'mutation { make { id } }', makes(unreadable)))
      expect(told(answer)).toEqual(['GONE', 'response-not-stored']);
  });
});

const keyIn = ({ args }: { args: { key?: string } }) => args.key;
const NESTED = `
  type Payments { pay(amount: Int!, key: String): Int, cancel(key: String): Int }
  type Mutation { payments: Payments, all: [Payments] }
`;
const nested = (runs: string[]) => (samekey: Samekey) => {
  return {
    Payments: {
      pay: on(samekey, ({ amount }: { amount: number }) => runs.push(`pay ${amount}`), { keyIn }),
      cancel: on(samekey, () => runs.push('cancel'), { keyIn }),
    },
    Mutation: { payments: () => ({}), all: () => [{}, {}] },
  };
};

describe('a mutation within another', () => {
  it('has a name of its own, and a key in the header while it stands alone', () => {
    const runs: string[] = [];
    return onGraphql(NESTED, nested(runs), async ({ send, samekey }) => {
      const one = 'mutation { payments { pay(amount: 1) } }';
      expect((await send(one, keyed('k-1'))).data).toEqual({ payments: { pay: 1 } });
      expect((await send(one, keyed('k-1'))).data).toEqual({ payments: { pay: 1 } });
      const records = await samekey.store.list({});
      expect(records.map(({ operation }) => operation)).toEqual(['Payments.pay']);
      for (const several of [
        'mutation { payments { pay(amount: 1) cancel } }',
        'mutation { payments { pay(amount: 1) } all { __typename } }',
        'mutation { all { cancel } }',
        'mutation { payments { cancel } ... on Mutation { payments { pay(amount: 1) } } }',
      ]) {
        const answer = await send(several, keyed('k-2'));
        expect(answer.errors.map(({ extensions }) => extensions.idempotency?.code)).toContain('key-several');
      }
      expect(runs).toEqual(['pay 1']);
      const own = 'mutation { payments { pay(amount: 1, key: "a") cancel(key: "b") } }';
      expect((await send(own)).data).toEqual({ payments: { pay: 2, cancel: 3 } });
      expect((await send(own)).data).toEqual({ payments: { pay: 2, cancel: 3 } });
    });
  });
});

const amountFrom = (least: number): StandardSchema => ({
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      (value as { amount: number }).amount >= least
        ? { value }
        : { issues: [{ message: `at least ${least}`, path: ['amount'] }] },
  },
});

describe('arguments', () => {
  // F102, F118
  it('that a schema refuses claim nothing; by one that a deploy has made stricter they have their answer', async () => {
    const store = memoryStore();
    const runs: number[] = [];
    const from = (
      least: number,
      body: (send: (amount: number, key: string) => Promise<Answer>) => Promise<void>,
    ) =>
      onGraphql(
        'type Mutation { pay(amount: Int!): Int }',
        (samekey) => ({
          Mutation: { pay: on(samekey, () => runs.push(least), { schema: amountFrom(least) }) },
        }),
        ({ send }) => body((amount, key) => send(`mutation { pay(amount: ${amount}) }`, keyed(key))),
        { instance: { store } },
      );
    await from(1, async (send) => {
      const refused = await send(0, 'k-1');
      expect(told(refused)).toEqual(['BAD_USER_INPUT', 'request-invalid']);
      expect(refused.errors[0]?.extensions.idempotency).toMatchObject({
        errors: [{ detail: 'at least 1', pointer: '#/amount' }],
      });
      expect(await store.list({})).toEqual([]);
      expect((await send(1, 'k-1')).data).toEqual({ pay: 1 });
    });
    await from(10, async (send) => {
      expect((await send(1, 'k-1')).data).toEqual({ pay: 1 });
      expect(told(await send(1, 'k-2'))).toEqual(['BAD_USER_INPUT', 'request-invalid']);
    });
    expect(runs).toEqual([1]);
  });

  // F77
  it('that cannot be compared are refused before anything runs', async () => {
    let runs = 0;
    const Odd = new GraphQLScalarType({ name: 'Odd', serialize: () => new Map(), parseValue: () => 1 });
    const [first] = await both(
      'scalar Odd type Mutation { pay(odd: Odd): Int }',
      'mutation { pay(odd: 1) }',
      (samekey) => ({
        Odd,
        Mutation: { pay: on(samekey, () => (runs += 1)) },
      }),
    );
    expect(first.errors[0]?.message).toContain('holds a Map at odd');
    expect(runs).toBe(0);
  });
});

it('a schema without a scalar of its own that could tell the class of errors runs nothing', async () => {
  let runs = 0;
  const samekey = createSamekey({ store: memoryStore() });
  const schema = buildSchema('type Query { up: Boolean } type Mutation { pay: Int }');
  const resolve = on(samekey, () => (runs += 1), {
    keyIn: () => 'a',
    request: undefined,
    setHeader: undefined,
  });
  Object.assign(schema.getMutationType()?.getFields()['pay'] ?? {}, { resolve });
  const contextValue = { account: 'acme' };
  const source = 'mutation { pay }';
  const odd = Object.create(schema, {
    getType: {
      value: (name: string) => (name === 'Boolean' ? { serialize: () => true } : schema.getType(name)),
    },
  }) as GraphQLSchema;
  const refused = await graphql({ schema: odd, source, contextValue });
  expect([refused.errors?.[0]?.message, runs]).toEqual([expect.stringContaining('graphql 16 or newer'), 0]);
  expect((await graphql({ schema, source, contextValue })).data).toEqual({ pay: 1 });
});

interface Order {
  readonly amount: number;
}

const placeOf = (amount: number) => `mutation { place(amount: ${amount}) { amount runs } }`;

describe('an operation', () => {
  it('is a field: its value, its refusal, its replay', () => {
    let runs = 0;
    return onGraphql(
      'type Placed { amount: Int, runs: Int } type Mutation { place(amount: Int!): Placed }',
      (samekey) => {
        const place = samekey.plain({
          name: 'place-order',
          policy: 'standard',
          run: ({ amount }: Order) =>
            (runs += 1) > 1 ? reply(409, { missing: amount }) : reply(201, { amount, runs }),
        });
        const resolver = serve(place, ON_HTTP);
        expect(protectionOf(resolver)).toMatchObject({ answers: true, required: true });
        return { Mutation: { place: resolver } };
      },
      async ({ send }) => {
        for (const mark of [null, 'true']) {
          const made = await send(placeOf(1), keyed('k-1'));
          expect(made.data).toEqual({ place: { amount: 1, runs: 1 } });
          expect(made.headers.get('idempotency-replayed')).toBe(mark);
        }
        for (let at = 0; at < 2; at += 1) {
          const refused = await send(placeOf(2), keyed('k-2'));
          expect(refused.errors[0]?.extensions).toEqual({ code: 'CONFLICT', details: { missing: 2 } });
        }
        expect(told(await send(placeOf(1)))).toEqual(['BAD_USER_INPUT', 'key-missing']);
        expect(runs).toBe(2);
      },
    );
  });

  it('that is deferred is accepted, and its status is a field of a query', () =>
    onGraphql(
      `type Report { lines: Int, accepted: Boolean }
       type Status { status: String, retryAfter: Int, value: Report }
       type Mutation { report(amount: Int!): Report, silent(amount: Int!): Report }
       extend type Query { status(key: String!): Status }`,
      (samekey) => {
        const report = samekey.deferred(
          samekey.plain({
            name: 'report',
            policy: 'standard',
            run: ({ amount }: Order) => ({ lines: amount }),
          }),
        );
        const { scope } = ON_HTTP;
        return {
          Mutation: {
            report: serve(report, { ...ON_HTTP, pending: () => ({ accepted: true }) }),
            silent: serve(report, ON_HTTP),
          },
          Query: {
            status: serveStatus(report, { scope, key: ({ args }: { args: { key: string } }) => args.key }),
          },
        };
      },
      async ({ send, samekey }) => {
        const ask = async (key: string, account = 'acme') => {
          const query = `{ status(key: "${key}") { status retryAfter value { lines } } }`;
          const answer = await send(query, { 'x-account': account });
          return answer.data?.['status'] ?? told(answer);
        };
        const report = 'mutation { report(amount: 3) { accepted lines } }';
        for (let at = 0; at < 2; at += 1)
          expect((await send(report, keyed('k-1'))).data).toEqual({
            report: { accepted: true, lines: null },
          });
        const NOT_THEIRS = ['NOT_FOUND', 'not-found'];
        const silent = 'mutation { silent(amount: 3) { lines } }';
        expect(told(await send(silent, keyed('k-1')))).toEqual(['CONFLICT', 'pending']);
        expect(await ask('k-1')).toEqual({ status: 'pending', retryAfter: 1, value: null });
        await pushDue(internalsOf(samekey), 10);
        expect(await ask('k-1')).toEqual({ status: 'done', retryAfter: null, value: { lines: 3 } });
        expect((await send(silent, keyed('k-1'))).data).toEqual({ silent: { lines: 3 } });
        expect([await ask('k-1', 'other'), await ask('k-2')]).toEqual([NOT_THEIRS, NOT_THEIRS]);
      },
    ));

  it('says its own options itself', () => {
    const samekey = createSamekey({ store: memoryStore() });
    const one = samekey.plain({ name: 'one', policy: 'standard', run: () => 1 });
    expect(() => serve(one, { scope: () => 'a', policy: 'payments' } as never)).toThrow('policy');
    expect(() => serveStatus(one, { key: () => 'a' } as never)).toThrow('scope');
  });
});
