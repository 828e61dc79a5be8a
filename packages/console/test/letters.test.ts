/** Dead letters at the console: dry run, a result for each row, uncertain apart from failed. */

import { StoreError } from 'samekey';
import type { Operator, StoredMessage } from 'samekey/operator';
import { describe, expect, it } from 'vitest';
import { bulk, readBulk } from '../src/dead-letters.ts';

const letter = (id: string, place: number): StoredMessage => ({
  id,
  place,
  topic: 'mail',
  group: null,
  payload: '{}',
  headers: null,
  state: 'dead',
  parked: false,
  dueAt: 0,
  createdAt: 0,
  started: 20,
  finished: 20,
  proven: 0,
  forgiven: 0,
  leaseId: null,
  providerId: null,
  lastError: null,
  owner: null,
});

/** An operator with four dead letters: two that may go, one that was answered, one that is faster gone. */
function operatorOf(requeue: (ids: readonly string[]) => Promise<readonly string[]>) {
  const letters = ['a', 'b', 'answered', 'moved'].map((id, i) => letter(id, i + 1));
  const calls: (readonly string[])[] = [];
  const operator = {
    deadLetters: async ({ after = 0 }: { after?: number }) => letters.filter(({ place }) => place > after),
    requestsOf: async (all: readonly StoredMessage[]) =>
      all.map(({ id }) => (id === 'answered' ? 'answered' : 'none')),
    async requeue(ids: readonly string[]) {
      calls.push(ids);
      return requeue(ids);
    },
  } as unknown as Operator;
  return { operator, calls };
}

const EACH = readBulk({ ids: ['a', 'b', 'answered', 'moved'] });
const endsOf = (answer: { rows: readonly { id: string; end: string }[] }) =>
  Object.fromEntries(answer.rows.map(({ id, end }) => [id, end]));

describe('many dead letters', () => {
  it('a dry run says what would become of each, and calls nothing', async () => {
    const { operator, calls } = operatorOf(async (ids) => ids);
    const answer = await bulk(operator, 'requeue', EACH, null);
    expect(endsOf(answer)).toEqual({ a: 'would', b: 'would', moved: 'would', answered: 'refused' });
    expect(answer.counts).toEqual({ would: 3, refused: 1 });
    expect(answer.rows.find(({ id }) => id === 'answered')?.why).toContain('reopen that first');
    expect(calls).toEqual([]);
  });

  it('says of each row what became of it, also of what moved on meanwhile and of what is no letter', async () => {
    const { operator, calls } = operatorOf(async (ids) => ids.filter((id) => id !== 'moved'));
    const answer = await bulk(
      operator,
      'requeue',
      readBulk({ ids: ['a', 'moved', 'answered', 'nowhere'] }),
      'why',
    );
    expect(endsOf(answer)).toEqual({ a: 'done', moved: 'refused', answered: 'refused', nowhere: 'refused' });
    expect(calls).toEqual([['a', 'moved']]);
  });

  it('looks for those that are named in their topic', async () => {
    const asked: object[] = [];
    const operator = {
      deadLetters: async (given: object) => (asked.push(given), [letter('a', 7)]),
      requestsOf: async () => ['none'],
      requeue: async (ids: readonly string[]) => ids,
    } as unknown as Operator;
    const given = readBulk({ ids: ['a'], topic: 'mail' });
    expect(endsOf(await bulk(operator, 'requeue', given, 'why'))).toEqual({ a: 'done' });
    expect(asked).toEqual([{ after: 0, topic: 'mail', limit: 500 }]);
  });

  it.each([
    ['unknown', 'uncertain'],
    ['no', 'failed'],
  ] as const)('a store that failed and says applied: %s leaves them %s', async (applied, end) => {
    const { operator } = operatorOf(() =>
      Promise.reject(new StoreError('lost', { applied, transient: true })),
    );
    expect(endsOf(await bulk(operator, 'requeue', EACH, 'why'))).toEqual({
      a: end,
      b: end,
      moved: end,
      answered: 'refused',
    });
  });

  it('refuses to guess which are meant', () => {
    for (const body of [{}, { all: true }, { ids: 'a' }, { ids: [1] }, { ids: ['a'], topic: 1 }])
      expect(() => readBulk(body)).toThrow();
  });
});
