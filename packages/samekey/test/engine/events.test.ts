/** What the engine tells of its own work: times, who ran, and what a call of the store cost. */

import { describe, expect, it } from 'vitest';
import type { SamekeyEvent } from '../../src/engine/events.ts';
import { reply } from '../../src/ways/reply.ts';
import { createSamekey, internalsOf } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';
import { answered, exchangeOf } from '../http/fake-exchange.ts';

function setup() {
  const world = fakeWorld();
  const events: SamekeyEvent[] = [];
  const store = memoryStore({ now: () => world.wallNow() });
  const onEvent = (event: SamekeyEvent): void => void events.push(event);
  return { world, events, samekey: createSamekey({ store, world, onEvent }) };
}

const echo = async (input: null) => reply(201, input);
const types = (events: readonly SamekeyEvent[]): string[] => events.map(({ type }) => type);

describe('events', () => {
  it('where nobody listens no event is made', () => {
    expect(internalsOf(setup().samekey).engine.emit).not.toBeNull();
    const unheard = createSamekey({ store: memoryStore() });
    // Sent as `emit?.({ … })`: with null the object is not made.
    expect(internalsOf(unheard).engine.emit).toBeNull();
  });

  it('a request that runs tells of its claim, its handler, its end and its outcome, in this order', async () => {
    const { samekey, events, world } = setup();
    await exchangeOf(samekey, {}, { handler: () => world.advance(250).then(() => answered(201)) });
    expect(types(events)).toEqual([
      'store-call',
      'claimed',
      'handler-ended',
      'store-call',
      'finished',
      'outcome',
    ]);
    expect(events).toContainEqual(expect.objectContaining({ type: 'claimed', entry: 'run', durationMs: 0 }));
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'handler-ended', ending: 'answered', durationMs: 250 }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'finished', durationMs: 0, claimAgeMs: 250 }),
    );
    expect(events.at(-1)).toMatchObject({ kind: 'executed', attempt: 1, entry: 'run', durationMs: 250 });
  });

  it('a retry that runs nothing says so', async () => {
    const { samekey, events } = setup();
    await exchangeOf(samekey, {});
    events.length = 0;
    await exchangeOf(samekey, {});
    expect(events.at(-1)).toMatchObject({ type: 'outcome', kind: 'replay', attempt: null });
  });

  it('a deferred request is told as accepted once, its retry is not', async () => {
    const { samekey, events } = setup();
    const pay = samekey.deferred(samekey.plain({ name: 'pay', policy: 'standard', run: echo }));
    await pay.run({ key: 'k-1', scope: ['acme'], input: null });
    await pay.run({ key: 'k-1', scope: ['acme'], input: null });
    expect(events.filter(({ type }) => type === 'outcome')).toMatchObject([
      { kind: 'pending', entry: 'accept', attempt: null, accepted: true },
      { kind: 'pending', entry: 'accept', attempt: null, accepted: false },
    ]);
  });
});
