/** A process without a ring beside processes that seal (F120): it answers nothing that it cannot read, and runs nothing. */

import { expect, it } from 'vitest';
import type { SamekeyEvent } from '../../src/engine/events.ts';
import type { Store } from '../../src/store/store.ts';
import { createSamekey } from '../../src/samekey.ts';
import { keyRing, sealed } from '../../src/seal/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { codeOf, exchangeOf } from '../http/fake-exchange.ts';
import { KEYS } from './rings.ts';

const RING = keyRing({ current: 'k2', keys: KEYS });

it('an answer that is sealed is 503 with its reason, is told of, and is replayed where the ring is', async () => {
  const clear = memoryStore();
  const events: SamekeyEvent[] = [];
  const ours = createSamekey({ store: sealed(clear, RING) });
  const theirs = createSamekey({ store: clear, onEvent: (event) => void events.push(event) });
  expect((await exchangeOf(ours, {})).end).toBe('released');
  for (let ask = 0; ask < 2; ask += 1) {
    const met = await exchangeOf(theirs, {});
    expect([met.end, met.answer?.status, codeOf(met)]).toEqual(['replaced', 503, 'record-sealed']);
    expect(met.calls).not.toContain('run');
  }
  expect(events).toContainEqual(expect.objectContaining({ type: 'record-unreadable', part: 'response' }));
  expect((await exchangeOf(ours, {})).answer?.status).toBe(201);
});

it('steps that are sealed are not begun anew: nothing runs, and code with the ring goes on', async () => {
  const clear = memoryStore();
  const calls: string[] = [];
  const charge = (name: string, store: Store) =>
    createSamekey({ store }).phased<null, string>({
      name: 'pay',
      async run(_input, attempt) {
        const id = await attempt.effect('charge', () => Promise.resolve(calls.push(name)), {
          rule: 'reconcile',
        });
        if (name === 'first') throw new Error('a bug behind the charge');
        return `charged ${id}`;
      },
    });
  const request = { scope: ['t'], key: 'key-1', input: null };
  const withRing = (name: string) => charge(name, sealed(clear, RING));
  await expect(withRing('first').run(request)).rejects.toThrow('a bug');
  const met = await charge('without', clear).run(request);
  expect(met).toMatchObject({ kind: 'unavailable', because: 'unreadable' });
  expect(await withRing('second').run(request)).toMatchObject({ kind: 'executed', value: 'charged 1' });
  expect(calls).toEqual(['first']);
});
