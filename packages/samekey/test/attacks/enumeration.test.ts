/**
 * Guessing keys: what a caller learns of keys that are not its own, by answers and by what they cost. A look goes to the caller's
 * own scope, so the record of another is never read; equal questions to the store are what equal timing is made of.
 */

import { expect, it } from 'vitest';
import { memoryStore } from 'samekey/stores/memory';
import { createStatus } from '../../src/http/status.ts';
import { createSamekey } from '../../src/samekey.ts';
import { faultyStore, type StoreCall } from '../../../testing/src/faulty-store.ts';
import { exchangeOf } from '../http/fake-exchange.ts';

interface Look {
  readonly who: string;
  readonly key: string;
}

const scope = (who: string): string[] => [who];

function setup() {
  const asked: StoreCall[] = [];
  const store = faultyStore(memoryStore(), {
    plan(call) {
      asked.push(call);
      return null;
    },
  });
  const samekey = createSamekey({ store, policy: 'standard', replayCacheBytesMax: 0 });
  const operation = samekey.plain({ name: 'bill', formerly: ['invoice'], run: () => 'billed' });
  const look = createStatus<Look>(operation, { scope: ({ who }) => [who], key: ({ key }) => key });
  return { samekey, asked, operation, look };
}

it('another caller’s key costs the same questions to the store as one that never was, and tells nothing', async () => {
  const { asked, operation, look } = setup();
  await operation.run({ scope: ['acme'], key: 'theirs', input: null });
  const answers = [];
  const questions = [];
  for (const key of ['theirs', 'neverw']) {
    asked.length = 0;
    answers.push(await look({ who: 'umbrella', key }));
    questions.push(
      asked.map(({ verb, requests }) => `${verb} ${JSON.stringify(requests)}`.replaceAll(key, 'KEY')),
    );
  }
  expect(answers[0]).toEqual(answers[1]);
  expect(answers[0]?.status).toBe(404);
  expect(questions[0]).toEqual(questions[1]);
  expect(questions[0]?.length).toBeGreaterThan(0);
  expect(questions.join(' ')).not.toContain('acme');
});

it('a request under another caller’s key is answered, and asks the store, as under one that never was', async () => {
  const { samekey, asked } = setup();
  const headers = [['Idempotency-Key', 'theirs']] as const;
  await exchangeOf(samekey, { scope }, { headers, native: 'acme' });
  const found = [];
  for (const key of ['theirs', 'neverw']) {
    asked.length = 0;
    const became = await exchangeOf(
      samekey,
      { scope },
      { headers: [['Idempotency-Key', key]], native: 'umbrella' },
    );
    found.push([became.end, became.answer, asked.map(({ verb }) => verb)]);
  }
  expect(found[0]).toEqual(found[1]);
  expect(found[0]?.[0]).toBe('released');
});

it.each<[string, unknown]>([
  ['is empty', ''],
  ['holds a NUL', 'a\u0000b'],
  ['holds half a surrogate pair', '\ud800'],
  ['is not ASCII', 'é'],
  ['is longer than any key', 'k'.repeat(1_025)],
  ['is a list, as a query can give', ['a', 'b']],
  ['is not there', undefined],
])('an address whose key %s is 404, and asks the store nothing', async (_, key) => {
  const { asked, look } = setup();
  // What a parser of addresses gives is what its types say only most of the time.
  const answer = await look({ who: 'acme', key: key as string });
  expect(answer.status).toBe(404);
  expect(asked).toEqual([]);
});
