/** The completer: free places are taken, whoever is slow beside them; what cannot be read keeps nobody waiting. */

import { expect, it } from 'vitest';
import { createSamekey, reply } from '../../src/index.ts';
import type { InputCodec } from '../../src/index.ts';
import { internalsOf } from '../../src/samekey.ts';
import type { DueRequest } from '../../src/store/store.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { pushDue } from '../../src/ways/completer.ts';
import { createWorker, type WorkerEvent } from '../../src/worker/index.ts';
import { atEnd, signal } from '../worker/bench.ts';

const requestOf = (key: string, input = key) => ({ scope: ['t'], key, input });

/** Workers on a memory store that push reports on; `slow` ones end when they are told to. */
function setUp({ concurrency = 2 } = {}) {
  let now = 1_000;
  const store = memoryStore({ now: () => now });
  const samekey = createSamekey({ store });
  const release = signal();
  const begun: string[] = [];
  const report = samekey.deferred(
    samekey.plain({
      name: 'report',
      policy: 'standard',
      async run(input: string) {
        begun.push(input);
        if (input.startsWith('slow')) await release.promise;
        return reply(201, input);
      },
    }),
    { pendingTimeMaxMs: 3_000 },
  );
  const waiting: { readonly is: (events: readonly WorkerEvent[]) => boolean; readonly done: () => void }[] =
    [];
  const events: WorkerEvent[] = [];
  const worker = createWorker({
    samekey,
    concurrency,
    pushMs: 5,
    onEvent(event) {
      events.push(event);
      for (const { is, done } of waiting) if (is(events)) done();
    },
  });
  atEnd(async () => {
    release.resolve();
    await worker.stop();
  });
  return {
    store,
    report,
    worker,
    begun,
    release,
    pass: (ms: number) => {
      now += ms;
    },
    told: (is: (events: readonly WorkerEvent[]) => boolean) =>
      new Promise<void>((done) => void waiting.push({ is, done })),
  };
}

const pushedKeys = (events: readonly WorkerEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'pushed' ? [event.id.key] : []));

// F143
it('a free place takes the next, while a slow one still runs', async () => {
  const { report, worker, begun, told, store } = setUp();
  await report.run(requestOf('slow'));
  const quick = ['q-1', 'q-2', 'q-3', 'q-4', 'q-5'];
  for (const key of quick) await report.run(requestOf(key));
  const all = told((events) => pushedKeys(events).length === quick.length);
  worker.start();
  await all;
  expect(begun.toSorted()).toEqual([...quick, 'slow']);
  expect(await store.count()).toMatchObject({ completed: 5, in_progress: 1, pending: 0 });
});

// F143
it('what is accepted while a slow one runs is begun before its deadline', async () => {
  const { report, worker, begun, told, pass, store } = setUp({ concurrency: 10 });
  await report.run(requestOf('slow'));
  worker.start();
  await expect.poll(() => begun).toEqual(['slow']);
  const late = told((events) => pushedKeys(events).includes('late'));
  await report.run(requestOf('late'));
  await late;
  pass(3_000);
  await store.sweep(10);
  expect(await report.run(requestOf('late'))).toMatchObject({ kind: 'replay', value: 'late' });
});

it('no more run at once than may, and each of many is run once', async () => {
  const { report, worker, begun, release, told } = setUp({ concurrency: 3 });
  const keys = Array.from({ length: 8 }, (_, n) => `slow-${n}`);
  for (const key of keys) await report.run(requestOf(key));
  worker.start();
  await expect.poll(() => begun.length).toBe(3);
  const all = told((events) => pushedKeys(events).length === keys.length);
  release.resolve();
  await all;
  expect(begun.toSorted()).toEqual(keys);
});

// F149
it('more inputs that nobody here can read than one page has keep none that can be read waiting', async () => {
  const store = memoryStore();
  const before = createSamekey({ store });
  const plain = { name: 'report', policy: 'standard', run: () => 'done' } as const;
  const old = before.deferred(before.plain(plain));
  for (let n = 0; n < 1_200; n += 1) await old.run(requestOf(`old-${n}`, 'old'));
  const after = createSamekey({ store });
  const input: InputCodec<string> = {
    encode: (value) => new TextEncoder().encode(JSON.stringify(value)),
    decode(bytes) {
      const value = JSON.parse(new TextDecoder().decode(bytes)) as string;
      if (value === 'old') throw new Error('an input of earlier code');
      return value;
    },
  };
  const report = after.deferred(after.plain({ ...plain, input, run: (value: string) => value }));
  await report.run(requestOf('new'));
  const pushed = await pushDue(internalsOf(after), 1);
  expect(pushed.map(({ record, outcome }) => [record.key, outcome.kind])).toEqual([['new', 'executed']]);
});

// F149
it('what cannot be read is passed over once, not with every look', async () => {
  const store = memoryStore();
  const before = createSamekey({ store });
  const plain = { name: 'report', policy: 'standard', run: () => 'done' } as const;
  const old = before.deferred(before.plain(plain));
  for (let n = 0; n < 250; n += 1) await old.run(requestOf(`old-${n}`, 'old'));
  const asked: DueRequest[] = [];
  const watched = {
    ...store,
    due(request: DueRequest) {
      asked.push(request);
      return store.due(request);
    },
  };
  const after = createSamekey({ store: watched });
  const input: InputCodec<string> = {
    encode: (value) => new TextEncoder().encode(value),
    decode(bytes) {
      const value = new TextDecoder().decode(bytes);
      if (value === '"old"') throw new Error('an input of earlier code');
      return value;
    },
  };
  const report = after.deferred(after.plain({ ...plain, input, run: (value: string) => value }));
  const first = signal();
  const worker = createWorker({
    samekey: after,
    pushMs: 1,
    onEvent: ({ type }) => {
      if (type === 'pushed') first.resolve();
    },
  });
  atEnd(() => worker.stop());
  worker.start();
  await expect.poll(() => asked.length).toBeGreaterThan(20);
  await report.run(requestOf('new'));
  await first.promise;
  expect(asked.filter(({ after: place }) => !place)).toHaveLength(1);
});
