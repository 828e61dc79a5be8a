/** Dialects speak as the provider's pages say, and nothing beside them says something else. */

import { describe, expect, it } from 'vitest';
import { idempotent, serve, serveStatus } from '../../src/adapters/node/index.ts';
import * as dialects from '../../src/dialects/index.ts';
import { createSamekey, type Samekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';
import { compileRoute, type RouteOptions } from '../../src/http/route.ts';
import { ALL } from './all.ts';
import { compareWithPage } from './page.ts';
import { play } from './play.ts';

const { acp, adcp, adyen, square, stripeV1, stripeV2 } = dialects;
const DAY_MS = 24 * 60 * 60 * 1_000;

function made(): Samekey {
  return createSamekey({ store: memoryStore() });
}

function route(options: Partial<RouteOptions<never>>): unknown {
  return idempotent(made(), { scope: () => 'acme', operation: 'pay', ...options });
}

function own(changed: object): unknown {
  return route({ dialect: { ...acp, ...changed } });
}

function run(): Promise<{ status: number }> {
  return Promise.resolve({ status: 201 });
}

function scope(): string {
  return 'acme';
}

describe('a transcript of the provider’s pages is played by', () => {
  for (const spoken of ALL) it(spoken.title, () => play(spoken));

  it('every dialect that is exported, and the page tells of each', () => {
    const exported = Object.entries(dialects).filter(([, value]) => typeof value === 'object');
    expect(new Map(ALL.map(({ exported: name, dialect }) => [name, dialect]))).toEqual(new Map(exported));
    compareWithPage(ALL);
  });
});

describe('beside a dialect', () => {
  const others: Partial<RouteOptions<never>> = {
    policy: 'standard',
    keyUniqueFor: 'operation',
    methods: ['PUT'],
    header: 'X-Key',
    profile: 'ietf',
  };

  it.each(Object.entries(others))('%s cannot be given: the dialect states it', (name, value) => {
    expect(() => route({ dialect: stripeV1, [name]: value })).toThrow(
      `${name} is stated by the dialect "stripe-v1"`,
    );
  });

  it('keyIn cannot be given, and the same value is no exception', () => {
    expect(() => route({ policy: 'payments', dialect: square, keyIn: { body: '/idempotency_key' } })).toThrow(
      'keyIn is stated by the dialect "square"',
    );
  });

  it('a key’s members stand side by side, and contradict one by one', () => {
    const both = { dialect: stripeV1, key: { uuidOnly: true }, scope };
    expect(compileRoute({}, both, fakeWorld()).key).toMatchObject({ uuidOnly: true, lengthMax: 255 });
    const short = { ...both, dialect: { ...stripeV1, route: { key: { lengthMax: 10 } } } };
    expect(compileRoute({}, short, fakeWorld()).key).toMatchObject({ uuidOnly: true, lengthMax: 10 });
    expect(() => route({ dialect: stripeV1, key: { lengthMax: 10 } })).toThrow(
      'key.lengthMax is stated by the dialect "stripe-v1"',
    );
  });

  it('keys may be kept longer, never shorter', () => {
    expect(() => route({ dialect: stripeV1, retentionMs: 2 * DAY_MS })).not.toThrow();
    expect(() => route({ dialect: stripeV1, retentionMs: DAY_MS - 1 })).toThrow(
      'retentionMs is stated by the dialect "stripe-v1", and may only be longer',
    );
  });

  it('what it leaves open is the route’s: without a policy there is none', () => {
    expect(() => route({ dialect: adyen })).toThrow('An operation must name its policy');
    expect(() => route({ dialect: adyen, policy: 'payments', required: false })).not.toThrow();
  });

  it('undefined is not given', () => {
    expect(() => route({ dialect: stripeV1, policy: undefined, header: undefined } as never)).not.toThrow();
  });

  it('what an instance says for all its operations is said less', async () => {
    const [spoken] = ALL.filter(({ dialect }) => dialect === stripeV1);
    if (spoken === undefined) throw new Error('It is gone.');
    await play(spoken, { policy: 'standard', retentionMs: 1_000, retryWindowMs: 0 });
  });

  it('a dialect of one’s own is read like any option', () => {
    expect(() => own({ route: { ...acp.route, header: 'X-Key' } })).not.toThrow();
    expect(() => own({ route: { ...acp.route, scope: () => 'acme' } })).toThrow(
      'dialect.route has no option',
    );
    expect(() => own({ operation: { attemptMax: 1 } })).toThrow('dialect.operation has no option');
    expect(() => own({ route: { keyIn: () => 'k' } })).toThrow('dialect.route.keyIn names a place');
    expect(() => own({ operation: { retentionMs: '1' } })).toThrow('dialect.operation.retentionMs');
    expect(() => route({ dialect: 'acp' as never })).toThrow('dialect is no name but an object');
    expect(() => route({ dialect: 1 as never })).toThrow('dialect takes an object');
  });
});

it('a tool of an agent is protected by its arguments, whatever the envelope', async () => {
  const samekey = made();
  let runs = 0;
  const call = async (name: string, body: string): Promise<unknown> => {
    const { params } = JSON.parse(body) as { params: { arguments: { idempotency_key: string } } };
    const { idempotency_key: key, ...args } = params.arguments;
    const outcome = await samekey.run(
      {
        ...adcp.operation,
        operation: 'tools',
        scope: ['agent', 'account'],
        key,
        fingerprint: { name, args },
      },
      () => ({ run: ++runs }),
    );
    return 'value' in outcome ? { [outcome.kind]: outcome.value } : outcome.kind;
  };
  const first = '{"id":1,"params":{"arguments":{"idempotency_key":"a-key-of-an-agent","budget":1,"to":"x"}}}';
  const again =
    '{"params":{"arguments":{"to":"x","budget":1.0,"idempotency_key":"a-key-of-an-agent"}},"id":2}';
  expect(await call('buy', first)).toEqual({ executed: { run: 1 } });
  expect(await call('buy', again)).toEqual({ replay: { run: 1 } });
  expect(await call('buy', again.replace('1.0', '2'))).toBe('mismatch');
  expect(await call('sell', again)).toBe('mismatch');
});

describe('a served operation', () => {
  it('is defined with what the dialect states, and its door speaks it', () => {
    const samekey = made();
    const pay = samekey.plain({ ...stripeV2.operation, name: 'pay', run });
    expect(() => serve(pay, { dialect: stripeV2, scope })).not.toThrow();
    expect(() => serveStatus(pay, { dialect: stripeV2, scope, key: () => 'k' })).not.toThrow();
  });

  it('is refused where it says something else', () => {
    const samekey = made();
    const short = samekey.plain({ name: 'short', policy: stripeV2.operation.policy ?? 'stripe', run });
    expect(() => serve(short, { dialect: stripeV2, scope })).toThrow(
      'The dialect "stripe-v2" states retentionMs, and the operation "short" has another',
    );
    const lax = samekey.plain({ ...acp.operation, policy: 'standard', name: 'lax', run });
    expect(() => serve(lax, { dialect: acp, scope })).toThrow(
      'The dialect "acp" states policy, and the operation "lax" has another',
    );
    const pay = samekey.plain({ ...acp.operation, name: 'pay', run });
    expect(() => serve(pay, { dialect: acp, scope, header: 'X-Key' })).toThrow(
      'header is stated by the dialect "acp"',
    );
  });
});
