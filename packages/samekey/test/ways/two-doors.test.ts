/** An operation has one door: what is compared differs, so a record of one is none for the other (F120). */

import { expect, it } from 'vitest';
import { serve } from '../../src/adapters/fetch/index.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

const OPTIONS = { scope: () => ['t'] };
const REQUEST = { scope: ['t'], key: 'key-1', input: null };

function operationOf() {
  const samekey = createSamekey({ store: memoryStore(), policy: 'standard' });
  return { samekey, operation: samekey.plain<null, string>({ name: 'pay', run: () => 'paid' }) };
}

it('one that is served is refused when it is called by run, before anything is claimed', async () => {
  const { samekey, operation } = operationOf();
  serve(operation, OPTIONS);
  await expect(operation.run(REQUEST)).rejects.toMatchObject({
    code: 'ERR_SAMEKEY_OPTIONS',
    message: expect.stringContaining('"pay" is served over HTTP and is also called by run') as unknown,
  });
  expect(await samekey.store.list({})).toEqual([]);
});

it('one that was called by run is refused when it is served', async () => {
  const { operation } = operationOf();
  expect((await operation.run(REQUEST)).kind).toBe('executed');
  expect(() => serve(operation, OPTIONS)).toThrow(/Define two operations/);
});

it('one that is served twice, or called twice, is as ever', async () => {
  const [one, other] = [operationOf().operation, operationOf().operation];
  serve(one, OPTIONS);
  serve(one, OPTIONS);
  expect((await other.run(REQUEST)).kind).toBe('executed');
  expect((await other.run(REQUEST)).kind).toBe('replay');
});
