/**
 * One act on all that a filter matches, as a job: tried dry with reasons, done row by row, left and found again; on
 * SQLite and PostgreSQL.
 */

import { type SamekeyRecord, type Store, StoreError } from 'samekey';
import type { MessageQueue } from 'samekey/operator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kinds, type Opened, open, request } from '../../cli/test/operating.ts';
import { claimed, finishRequest } from '../../testing/src/contract/context.ts';
import type { ConsoleRight } from '../src/index.ts';
import { deadLetters } from './dead-letters-of.ts';
import { ALL, SECRET, type Served, serveConsole } from './serving.ts';

/** The job when it runs no longer. */
async function over(at: Served, id: string, end = '') {
  let page: { job: { phase: string; counts: object; whys: object[]; fault: string | null } } | undefined;
  await expect
    .poll(
      async () => {
        page = (await at.ask('bulk', { id, end })).body;
        return page?.job.phase;
      },
      { timeout: 20_000 },
    )
    .not.toMatch(/ing$/);
  // oxlint-disable-next-line typescript/no-explicit-any -- what a test looks at is what it says
  return page as any;
}

async function tried(at: Served, asked: object) {
  const { status, body } = await at.ask('bulk-try', asked);
  expect([status, body.code]).toEqual([200, undefined]);
  return over(at, body.id);
}

/** A job over dead letters. */
const lettersOf = (topic: string, act = 'requeue') => ({ request: { act }, filter: { topic } });
const queueOf = (store: Store) => (store as Store & { readonly messages: MessageQueue }).messages;
const deadOf = async (store: Store) =>
  (await queueOf(store).list({ states: ['dead'], limit: 1_000 })).map(({ id }) => id).toSorted();

for (const kind of kinds()) {
  describe(`many at once: ${kind.name}`, () => {
    let app: Opened;
    let store: Store;
    let all: Served;
    const opened: Served[] = [];

    beforeAll(async () => {
      await kind.start();
      app = await open(await kind.fresh());
      store = app.samekey.store;
      // An answer that stands clear: it tells that none is sealed here.
      await request(app, 'first', 201);
      all = await serve(ALL);
    });
    afterAll(async () => {
      for (const each of opened) await each.close();
      await app.close();
      await kind.stop();
    });

    async function serve(
      rights: readonly ConsoleRight[],
      of: Store = store,
      actor = 'alice',
    ): Promise<Served> {
      const served = await serveConsole({ store: of, token: { secret: SECRET, actor, rights } });
      opened.push(served);
      return served;
    }
    async function recordOf(key: string): Promise<SamekeyRecord> {
      const [record] = await store.list({ key });
      if (record === undefined) throw new Error(`no record ${key}`);
      return record;
    }
    /** Requests of a caller of their own, that ended so. */
    async function ended(caller: string, many: number, status: number): Promise<readonly string[]> {
      const keys = Array.from({ length: many }, (_, i) => `${caller}-${status}-${i}`);
      for (const key of keys) await request(app, key, status, { scope: ['bulk', caller] });
      return keys;
    }
    const SETTLE = { act: 'settle', to: 'completed', response: { status: 201, body: '{"id":1}' } };

    it('tries all that match, and says of the others why not; then it does those, each with its row', async () => {
      const unknown = await ended('settled', 14, 500);
      const done = await ended('settled', 3, 201);
      const before = await recordOf(unknown[0] ?? '');
      const { job } = await tried(all, { request: SETTLE, filter: { caller: 'bulk/settled' } });
      expect(job).toMatchObject({
        phase: 'tried',
        counts: { would: 14, refused: 3 },
        cut: [],
        fault: null,
      });
      expect(job.whys).toEqual([
        { end: 'refused', why: expect.stringContaining('Only unknown outcomes are settled'), count: 3 },
      ]);
      expect(await recordOf(unknown[0] ?? '')).toEqual(before);
      expect(await store.audit({ acts: ['settle'] })).toEqual([]);
      expect((await all.ask('bulk-do', { id: job.id })).body.code).toBe('no-reason');
      expect((await all.ask('bulk-do', { id: job.id, reason: 'they were paid' })).status).toBe(200);
      const after = await over(all, job.id);
      expect(after.job).toMatchObject({ phase: 'done', counts: { done: 14, refused: 3 } });
      expect(after.lines).toHaveLength(17);
      for (const key of unknown) expect((await recordOf(key)).state).toBe('completed');
      for (const key of done) expect((await recordOf(key)).response?.status).toBe(201);
      const rows = await store.audit({ acts: ['settle'] });
      expect(rows.map(({ actor, reason }) => [actor, reason])).toEqual(
        unknown.map(() => ['alice', 'they were paid']),
      );
      // Once.
      expect((await all.ask('bulk-do', { id: job.id, reason: 'again' })).body.code).toBe('not-tried');
    });

    it('is found again by whoever left it, with the lines of one kind alone', async () => {
      await ended('left', 2, 409);
      await ended('left', 1, 201);
      const asked = { request: { act: 'reopen' }, filter: { caller: 'bulk/left' } };
      const { job } = await tried(all, asked);
      const { jobs } = (await all.ask('bulk-jobs')).body;
      expect(jobs[0]).toMatchObject({ id: job.id, actor: 'alice', words: 'reopen · caller: bulk/left' });
      expect((await over(all, job.id, 'refused')).lines).toMatchObject([
        { key: 'left-201-0', end: 'refused' },
      ]);
      expect((await all.ask('bulk', { id: 'nowhere' })).status).toBe(404);
    });

    it('does what was shown, and no more: what moved on is refused, and what came since is left', async () => {
      const [moved, kept] = await ended('moves', 2, 409);
      const { job } = await tried(all, { request: { act: 'reopen' }, filter: { caller: 'bulk/moves' } });
      expect(job.counts).toEqual({ would: 2 });
      const { scope, claimId, attempt } = await recordOf(moved ?? '');
      await store.forget([
        { scope, key: moved ?? '', claimId, attempt, state: 'failed', reason: 'x', actor: null },
      ]);
      await request(app, 'moves-new', 409, { scope: ['bulk', 'moves'] });
      await all.ask('bulk-do', { id: job.id, reason: 'mended' });
      const { lines } = await over(all, job.id);
      expect(
        Object.fromEntries(lines.map(({ key, end }: { key: string; end: string }) => [key, end])),
      ).toEqual({
        [kept ?? '']: 'done',
        [moved ?? '']: 'refused',
      });
      expect((await recordOf('moves-new')).state).toBe('failed');
    });

    it('tells uncertain from failed, row by row, and goes on', async () => {
      const keys = await ended('stumbles', 3, 409);
      const ends = ['unknown', 'no'] as const;
      const stumbling: Store = Object.create(store, {
        reopen: {
          value: async (requests: Parameters<Store['reopen']>[0]) => {
            const applied = ends[keys.indexOf(requests[0]?.key ?? '')];
            if (applied === undefined) return store.reopen(requests);
            throw new StoreError('lost', { applied, transient: true });
          },
        },
      });
      const at = await serve(ALL, stumbling);
      const { job } = await tried(at, { request: { act: 'reopen' }, filter: { caller: 'bulk/stumbles' } });
      await at.ask('bulk-do', { id: job.id, reason: 'mended' });
      const page = await over(at, job.id);
      expect(page.job).toMatchObject({ phase: 'done', counts: { uncertain: 1, failed: 1, done: 1 } });
      expect((await recordOf(keys[2] ?? '')).state).toBe('retryable');
    });

    it('is done in the name of who does it, by their right, and never to all records', async () => {
      await ended('named', 1, 409);
      const asked = { request: { act: 'reopen' }, filter: { caller: 'bulk/named' } };
      const both = await serveConsole({
        store,
        authorize: ({ headers }) =>
          headers.get('x-user') === 'bob'
            ? { actor: 'bob', rights: ['settle'] }
            : { actor: 'carol', rights: ['reopen'] },
      });
      opened.push(both);
      const bob = (verb: string, body: object) => both.ask(verb, body, { 'x-user': 'bob' });
      expect((await bob('bulk-try', asked)).status).toBe(403);
      for (const states of [[], ['pending', 'in_progress', 'completed', 'failed', 'retryable', 'unknown']]) {
        const { status, body } = await all.ask('bulk-try', { ...asked, filter: { states, caller: '' } });
        expect([status, body.message]).toEqual([
          400,
          expect.stringContaining('nothing is done to all there'),
        ]);
      }
      const { job } = await tried(both, asked);
      for (const verb of ['bulk-do', 'bulk-stop'])
        expect((await bob(verb, { id: job.id, act: 'settle', reason: 'x' })).status).toBe(403);
      await both.ask('bulk-do', { id: job.id, reason: 'x' });
      expect((await over(both, job.id)).job).toMatchObject({ actor: 'carol', counts: { done: 1 } });
      expect((await store.audit({ acts: ['reopen'] }))[0]).toMatchObject({ actor: 'carol' });
    });

    it('forgets nothing: that is done one record at a time, with its warning', async () => {
      const [key] = await ended('forgets', 1, 201);
      const { status, body } = await all.ask('bulk-try', {
        request: { act: 'forget' },
        filter: { caller: 'bulk/forgets', states: ['completed'] },
      });
      expect([status, body.message]).toEqual([400, expect.stringContaining('forgotten one at a time')]);
      expect((await recordOf(key ?? '')).state).toBe('completed');
    });

    it('settles nothing that completed after the dry run, by a late answer under the same fence', async () => {
      const owner = await claimed(store, { scope: 'bulk/late|op', key: 'late-1', operation: 'op' });
      await store.finish([finishRequest(owner, 'unknown')]);
      const { job } = await tried(all, { request: SETTLE, filter: { caller: 'bulk/late' } });
      expect(job.counts).toEqual({ would: 1 });
      const [late] = await store.finish([finishRequest(owner, 'completed')]);
      const answered = await recordOf('late-1');
      expect([late?.kind, answered.state, answered.claimId]).toEqual(['applied', 'completed', owner.claimId]);
      await all.ask('bulk-do', { id: job.id, reason: 'they were paid' });
      expect((await over(all, job.id)).job.counts).toEqual({ refused: 1 });
      expect(await recordOf('late-1')).toEqual(answered);
    });

    it('reopens nothing that is completed, also where all it saw was a failed record: the store refuses', async () => {
      const [key = ''] = await ended('stale', 1, 201);
      const completed = await recordOf(key);
      const stale = (record: SamekeyRecord | null): SamekeyRecord | null =>
        record?.key === key ? { ...record, state: 'failed' } : record;
      const behind: Store = Object.create(store, {
        find: { value: async (ids: Parameters<Store['find']>[0]) => (await store.find(ids)).map(stale) },
        list: { value: async (given: Parameters<Store['list']>[0]) => (await store.list(given)).map(stale) },
      });
      const at = await serve(ALL, behind);
      const { job } = await tried(at, { request: { act: 'reopen' }, filter: { caller: 'bulk/stale' } });
      expect(job.counts).toEqual({ would: 1 });
      await at.ask('bulk-do', { id: job.id, reason: 'mended' });
      expect((await over(at, job.id)).job.counts).toEqual({ refused: 1 });
      expect(await recordOf(key)).toEqual(completed);
    });

    it('says what was done before so as done before, and not as refused', async () => {
      await ended('twice', 2, 500);
      const asked = { request: SETTLE, filter: { caller: 'bulk/twice' } };
      const { job } = await tried(all, asked);
      await all.ask('bulk-do', { id: job.id, reason: 'they were paid' });
      expect((await over(all, job.id)).job.counts).toEqual({ done: 2 });
      expect((await tried(all, asked)).job).toMatchObject({ counts: { already: 2 }, whys: [] });
    });

    it.each([
      ['a status that no server sends', { response: { status: 99, body: null } }, /99/],
      ['an error to completed', { response: { status: 402, body: null } }, /200 to 399/],
      ['no such end', { to: 'paid' }, /paid/],
    ])('refuses %s before it begins', async (_, said, words) => {
      const asked = { request: { ...SETTLE, ...said }, filter: { caller: 'bulk/settled' } };
      const { status, body } = await all.ask('bulk-try', asked);
      expect([status, body.message]).toEqual([400, expect.stringMatching(words)]);
    });

    it('says what it does: the end, and to whoever may do it the status, the body and why', async () => {
      await ended('told', 1, 500);
      const { job, given } = await tried(all, { request: SETTLE, filter: { caller: 'bulk/told' } });
      expect(job.does).toEqual([
        'It becomes completed, for good.',
        'Retries get status 201 with this body of 8 bytes. Nothing runs.',
      ]);
      expect(given).toEqual([
        ['status', '201'],
        ['body', '{"id":1}'],
      ]);
      const looker = await serve(['reopen']);
      expect((await looker.ask('bulk-jobs')).body.jobs).toEqual([]);
      const long = { act: 'reopen', effect: 'none' };
      const { job: other } = await tried(all, { request: long, filter: { caller: 'x'.repeat(100_000) } });
      expect(other.words.length).toBeLessThan(300);
    });

    describe('dead letters', () => {
      it('are tried whole, more than one call takes, and delivered again: those that were shown', async () => {
        await deadLetters(store, 620);
        const before = await deadOf(store);
        const { job } = await tried(all, lettersOf('mail'));
        expect(job).toMatchObject({
          phase: 'tried',
          act: 'requeue',
          words: 'requeue · dead letters of mail',
          does: [expect.stringContaining('same downstream key')],
          counts: { would: 620 },
          looked: 620,
          cut: [],
        });
        expect([await deadOf(store), await store.audit({ acts: ['requeue'] })]).toEqual([before, []]);
        // One is dropped by somebody else, and others die.
        await queueOf(store).drop([before[7] ?? ''], { reason: 'x', actor: null });
        await deadLetters(store, 3);
        const later = (await deadOf(store)).filter((id) => !before.includes(id));
        expect((await all.ask('bulk-do', { id: job.id, reason: 'the mail server is back' })).status).toBe(
          200,
        );
        const page = await over(all, job.id, 'refused');
        expect(page.job).toMatchObject({ phase: 'done', counts: { done: 619, refused: 1 }, fault: null });
        expect(page.lines).toEqual([
          { letter: before[7], scope: '', key: '', end: 'refused', why: 'it has moved on in the meantime' },
        ]);
        expect(await deadOf(store)).toEqual(later);
        const rows = await store.audit({ acts: ['requeue'], limit: 1_000 });
        expect(rows).toHaveLength(619);
        expect(rows[0]).toMatchObject({ actor: 'alice', reason: 'the mail server is back' });
      });

      it('of which nobody said whether they went are uncertain, call by call, and nothing follows a store that is down', async () => {
        await deadLetters(store, 597);
        const ends = [undefined, 'no', 'unknown', 'unknown'] as const;
        let call = -1;
        const stumbling: Store = Object.create(store, {
          messages: {
            value: Object.create(queueOf(store), {
              drop: {
                value: async (...given: Parameters<MessageQueue['drop']>) => {
                  call += 1;
                  const applied = ends[call];
                  if (applied === undefined) return queueOf(store).drop(...given);
                  throw new StoreError('lost', { applied, transient: true });
                },
              },
            }),
          },
        });
        const at = await serve(ALL, stumbling);
        const { job } = await tried(at, lettersOf('mail', 'drop'));
        expect(job.counts).toEqual({ would: 600 });
        await at.ask('bulk-do', { id: job.id, reason: 'nobody needs them' });
        expect((await over(at, job.id)).job).toMatchObject({
          phase: 'stopped',
          counts: { done: 100, failed: 100, uncertain: 200, would: 200 },
          fault: expect.stringContaining('3 times in a row'),
        });
        expect(await deadOf(store)).toHaveLength(500);
      });

      it('need the right of their act, and are found again by whoever has it', async () => {
        const looker = await serve(['drop']);
        expect((await looker.ask('bulk-try', lettersOf(''))).status).toBe(403);
        expect((await looker.ask('bulk-try', { request: { act: 'drop' } })).status).toBe(400);
        const { job } = await tried(looker, lettersOf('', 'drop'));
        expect(job.words).toBe('drop · all dead letters');
        const { jobs } = (await looker.ask('bulk-jobs')).body;
        expect(jobs).toMatchObject([{ id: job.id, act: 'drop', counts: { would: 500 } }]);
      });
    });

    it('stops where it is told to, after the row that is under way', async () => {
      const keys = await ended('stops', 5, 409);
      let stop: (() => Promise<unknown>) | undefined;
      const stopping: Store = Object.create(store, {
        reopen: {
          value: async (requests: Parameters<Store['reopen']>[0]) => {
            await stop?.();
            return store.reopen(requests);
          },
        },
      });
      const at = await serve(ALL, stopping);
      const { job } = await tried(at, { request: { act: 'reopen' }, filter: { caller: 'bulk/stops' } });
      stop = () => at.ask('bulk-stop', { id: job.id });
      await at.ask('bulk-do', { id: job.id, reason: 'mended' });
      expect((await over(at, job.id)).job).toMatchObject({ phase: 'stopped', counts: { done: 1, would: 4 } });
      const states = await Promise.all(keys.map(async (key) => (await recordOf(key)).state));
      expect(states.filter((state) => state === 'retryable')).toHaveLength(1);
    });
  });
}
