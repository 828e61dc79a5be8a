/** The HTTP flow on an exchange without HTTP: every exchange is ended once, in the right way. */

import { describe, expect, it } from 'vitest';
import type { SamekeyEvent } from '../../src/engine/events.ts';
import type { HandlerEnd } from '../../src/http/exchange.ts';
import { createSamekey, type Samekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';
import { faultyStore } from '../../../testing/src/faulty-store.ts';
import { answered, codeOf, exchangeOf, KEY } from './fake-exchange.ts';

function setup() {
  const world = fakeWorld();
  const events: SamekeyEvent[] = [];
  const store = faultyStore(memoryStore({ now: () => world.wallNow() }), { timers: world });
  const samekey = createSamekey({ store, world, onEvent: (event) => void events.push(event) });
  return { world, events, store, samekey };
}

const EXPIRES = ['Idempotency-Key-Expires', 'Fri, 02 Jan 2026 00:00:00 GMT'];

const NO_MONEY = new Error('no money');
const penniless = (): HandlerEnd => ({ kind: 'threw', error: NO_MONEY });
const broken = async (): Promise<never> => {
  throw new Error('broken');
};
const withMarks = (): HandlerEnd =>
  answered(201, [
    ['X-A', '1'],
    ['Date', 'now'],
    ['Idempotency-Replayed', 'false'],
  ]);

describe('an exchange', () => {
  it('passes for methods that are not protected, without a look at anything', async () => {
    const { samekey } = setup();
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PURGE', 'get']) {
      expect((await exchangeOf(samekey, { scope: broken }, { method })).calls).toEqual(['passed']);
    }
  });

  it('is protected for a method in any letter case', async () => {
    expect((await exchangeOf(setup().samekey, {}, { method: 'post' })).end).toBe('released');
  });

  it('is released with the expiry once its record is stored', async () => {
    const became = await exchangeOf(setup().samekey, {});
    expect(became).toMatchObject({ calls: ['readBody', 'run', 'released'], extra: [EXPIRES] });
  });

  it('is replaced by the stored answer at a retry, with the mark and the expiry', async () => {
    const { samekey } = setup();
    await exchangeOf(samekey, {}, { handler: withMarks });
    const again = await exchangeOf(samekey, {}, { handler: withMarks });
    expect(again.calls).toEqual(['readBody', 'replaced']);
    expect(again.answer?.headers).toEqual([['X-A', '1'], ['Idempotency-Replayed', 'true'], EXPIRES]);
  });

  it('asks for the caller before the key, and for the key before the body', async () => {
    const { samekey } = setup();
    const anonymous = await exchangeOf(samekey, { scope: () => null }, { headers: [] });
    expect([codeOf(anonymous), anonymous.calls]).toEqual(['anonymous', ['replaced']]);
    const keyless = await exchangeOf(samekey, {}, { headers: [] });
    expect([codeOf(keyless), keyless.calls]).toEqual(['key-missing', ['replaced']]);
  });

  it.each(['scope', 'body', 'path', 'digest'])(
    'fails, and runs nothing, when the %s throws',
    async (where) => {
      const { samekey, world } = setup();
      const secrets = { current: 'a', keys: { a: new Uint8Array(16) } };
      const other: Samekey = createSamekey({
        store: memoryStore(),
        world: { ...world, hmacSha256: broken },
      });
      const became = await exchangeOf(
        where === 'digest' ? other : samekey,
        {
          ...(where === 'scope' ? { scope: broken } : {}),
          ...(where === 'digest' ? { fingerprint: { secrets } } : {}),
          ...(where === 'path'
            ? {
                fingerprint: {
                  path: () => {
                    throw new Error('broken');
                  },
                },
              }
            : {}),
        },
        where === 'body' ? { body: broken } : {},
      );
      expect(became.end).toBe('failed');
      expect(became.calls).not.toContain('run');
      expect((became.error as Error).message).toBe('broken');
    },
  );

  // F31
  it('fails loudly, and tells of the misuse once, when its body was taken', async () => {
    const { samekey, events, world } = setup();
    for (let i = 0; i < 2; i += 1) {
      const became = await exchangeOf(samekey, {}, { body: async () => ({ kind: 'consumed' }) });
      expect(became.error).toMatchObject({ code: 'ERR_SAMEKEY_OPTIONS' });
    }
    expect(events.filter(({ type }) => type === 'misuse')).toHaveLength(1);
    expect(world.warnings).toHaveLength(1);
  });

  it('hands a throw to the framework where it is not stored', async () => {
    for (const policy of ['standard', 'payments'] as const) {
      const became = await exchangeOf(setup().samekey, { policy }, { handler: penniless });
      expect([became.end, became.error]).toEqual(['failed', NO_MONEY]);
    }
  });

  it('answers a throw that is stored with what every retry will get', async () => {
    const { samekey } = setup();
    const first = await exchangeOf(samekey, { policy: 'stripe' }, { handler: penniless });
    expect([first.end, first.answer?.status]).toEqual(['replaced', 500]);
    const again = await exchangeOf(samekey, { policy: 'stripe' }, { handler: penniless });
    expect([again.answer?.status, again.calls]).toEqual([500, ['readBody', 'replaced']]);
  });

  // F3
  it('is released with a mark and without an expiry when its record could not be stored', async () => {
    const { samekey, store } = setup();
    store.inject('refuse', { verb: 'finish' });
    expect(await exchangeOf(samekey, {})).toMatchObject({
      end: 'released',
      extra: [['Idempotency-Stored', 'false']],
    });
  });

  it('is released without an expiry when nothing was kept', async () => {
    const became = await exchangeOf(setup().samekey, {}, { handler: () => answered(503) });
    expect(became).toMatchObject({ end: 'released', extra: [] });
  });

  it('is not answered with its own answer when its record has moved on', async () => {
    const { samekey, store } = setup();
    const became = await exchangeOf(
      samekey,
      {},
      {
        async handler() {
          const [record] = await store.list({});
          if (record === undefined) throw new Error('no record');
          const { scope, key, claimId, attempt } = record;
          // As a reconciler that had given the owner up for dead.
          await store.finish([
            {
              scope,
              key,
              claimId,
              attempt,
              to: 'unknown',
              proof: null,
              reason: null,
              response: null,
              unbindFingerprint: false,
              extendMs: 0,
              reconcileAfterMs: 0,
              handedOver: false,
            },
          ]);
          const response = { status: 402, headers: [], body: new Uint8Array(0) };
          await store.settle([
            { scope, key, claimId, attempt, to: 'failed', reason: 'the bank says no', actor: null, response },
          ]);
          return answered(201);
        },
      },
    );
    expect([became.end, became.answer?.status]).toEqual(['replaced', 402]);
  });

  it('tells its outcome once, also when it never got as far as a key', async () => {
    const { samekey, events } = setup();
    await exchangeOf(samekey, {}, { headers: [] });
    await exchangeOf(samekey, {});
    const outcomes = events.filter(({ type }) => type === 'outcome');
    expect(outcomes).toMatchObject([
      { kind: 'key-missing', id: null },
      { kind: 'executed', id: { key: 'key-1' } },
    ]);
  });

  it('is counted under the name of its route, with parameter names erased', async () => {
    const { samekey, events } = setup();
    await exchangeOf(samekey, {}, { routePattern: '/things/:id' });
    await exchangeOf(samekey, { operation: 'PUT /things/:id' }, { headers: [['Idempotency-Key', 'key-2']] });
    await exchangeOf(samekey, {}, { headers: [['Idempotency-Key', 'key-3']] });
    const names = events.flatMap((event) => (event.type === 'outcome' ? [event.operation] : []));
    expect(names).toEqual(['POST /things/:', 'PUT /things/:', '*']);
  });

  it('warns once of keys that look like personal data', async () => {
    const { samekey, world } = setup();
    for (const key of ['jo@example.org', 'jo@example.com']) {
      await exchangeOf(samekey, {}, { headers: [[KEY[0], `"${key}"`]] });
    }
    expect(world.warnings).toHaveLength(1);
    expect(world.warnings[0]).not.toContain('example');
  });
});
