/** A worker on a store that keeps no messages: deferred operations run on every store. */

import { expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { createSamekey, reply } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { createWorker } from '../../src/worker/index.ts';
import { signal } from './bench.ts';

/** Most stores keep none. */
function withoutMessages(): Store {
  const { messages: _, ...rest } = memoryStore();
  return rest;
}

it('pushes deferred operations to their end on a store without messages, and stops', async () => {
  const samekey = createSamekey({ store: withoutMessages() });
  let runs = 0;
  const report = samekey.deferred(
    samekey.plain({
      name: 'report',
      policy: 'standard',
      run: (input: { month: number }) => {
        runs += 1;
        return reply(201, { url: `/reports/${input.month}.pdf` });
      },
    }),
  );
  const request = { scope: ['t'], key: 'k-1', input: { month: 7 } };
  const pushed = signal();
  const worker = createWorker({
    samekey,
    pushMs: 10,
    onEvent: ({ type }) => {
      if (type === 'pushed') pushed.resolve();
    },
  });
  worker.start();
  await worker.ready();
  expect(await report.run(request)).toMatchObject({ kind: 'pending' });
  await pushed.promise;
  expect(await report.run(request)).toMatchObject({ kind: 'replay', value: { url: '/reports/7.pdf' } });
  expect(await worker.stop()).toBe(0);
  expect(runs).toBe(1);
});

it('refuses handlers of messages there: nothing would ever bring them one', () => {
  const handlers = { mail: () => undefined };
  expect(() => createWorker({ store: withoutMessages(), handlers })).toThrow(
    /needs a store that keeps messages/,
  );
});
