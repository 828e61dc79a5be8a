/** Answers given by hand where answers are sealed, on SQLite and PostgreSQL: none of them stands there clear. */

import { createSamekey, reply, type Store } from 'samekey';
import { keyRing, sealed } from 'samekey/seal';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kinds, type Opened, open, request } from '../../cli/test/operating.ts';
import { ALL, type Asked, SECRET, type Served, serveConsole } from './serving.ts';

const CLEAR = { status: 201, body: '{"card":"4242"}' };

async function settle(store: Store, at: Served, key: string, said: object): Promise<Asked> {
  const [record] = await store.list({ key });
  if (record === undefined) throw new Error(`no record ${key}`);
  const { scope, claimId, attempt } = record;
  const seen = { claimId, attempt };
  return at.ask('act', { act: 'settle', scope, key, seen, reason: 'why', to: 'completed', ...said });
}

/** The job when it runs no longer. */
async function over(at: Served, id: string): Promise<Asked['body']> {
  let job: Asked['body'];
  const phase = async (): Promise<string> => {
    ({ job } = (await at.ask('bulk', { id })).body);
    return job.phase;
  };
  await expect.poll(phase, { timeout: 20_000 }).not.toMatch(/ing$/);
  return job;
}

for (const kind of kinds()) {
  describe(`answers by hand: ${kind.name}`, () => {
    const apps: Opened[] = [];
    const consoles: Served[] = [];
    beforeAll(() => kind.start());
    afterAll(async () => {
      for (const each of consoles) await each.close();
      for (const each of apps) await each.close();
      await kind.stop();
    });

    async function fresh(): Promise<Opened> {
      const app = await open(await kind.fresh());
      apps.push(app);
      return app;
    }
    async function consoleOf(store: Store): Promise<Served> {
      const served = await serveConsole({ store, token: { secret: SECRET, actor: 'alice', rights: ALL } });
      consoles.push(served);
      return served;
    }
    /** A database whose application seals, with so many unknown outcomes. */
    async function sealing(unknown: number) {
      const { samekey } = await fresh();
      const ring = keyRing({ current: 'k1', keys: { k1: new Uint8Array(32).fill(7) } });
      const store = sealed(samekey.store, ring);
      const app = createSamekey({ store, policy: 'payments', reconcileAfterMs: 0 });
      const run = (key: string, status: number) =>
        app.run({ scope: ['acme'], key, operation: 'POST /p', fingerprint: key }, () => reply(status, 'x'));
      await run('done', 201);
      for (let i = 0; i < unknown; i += 1) await run(`u-${i}`, 500);
      return { bare: samekey.store, store };
    }

    it('is refused where answers are sealed, also after answers without a part were given', async () => {
      const { bare, store } = await sealing(8);
      const at = await consoleOf(bare);
      for (let i = 0; i < 6; i += 1)
        expect((await settle(bare, at, `u-${i}`, { response: null })).body.kind).toBe('applied');
      for (const mayStandClear of [undefined, true])
        expect(await settle(bare, at, 'u-6', { response: CLEAR, mayStandClear })).toMatchObject({
          status: 409,
          body: { code: 'sealed' },
        });
      expect((await bare.list({ key: 'u-6' }))[0]?.state).toBe('unknown');
      const ringed = await consoleOf(store);
      expect((await settle(bare, ringed, 'u-6', { response: CLEAR })).body.kind).toBe('applied');
      const body = (await bare.list({ key: 'u-6' }))[0]?.response?.body ?? new Uint8Array();
      expect(new TextDecoder().decode(body)).not.toContain('4242');
    });

    it('takes somebody’s word where no record tells, and none where one tells that nothing is sealed', async () => {
      const app = await fresh();
      const { store } = app.samekey;
      const at = await consoleOf(store);
      await request(app, 'first', 500);
      const effect = { to: 'retryable', effectResult: { card: '4242' } };
      for (const said of [{ response: CLEAR }, effect])
        expect(await settle(store, at, 'first', said)).toMatchObject({
          status: 409,
          body: { code: 'perhaps-sealed' },
        });
      expect((await store.list({ key: 'first' }))[0]?.state).toBe('unknown');
      const word = { response: CLEAR, mayStandClear: true };
      expect((await settle(store, at, 'first', word)).body.kind).toBe('applied');
      await request(app, 'second', 500);
      expect((await settle(store, at, 'second', { response: CLEAR })).body.kind).toBe('applied');
    });

    const JOB = { act: 'settle', to: 'completed', response: CLEAR };

    it('of a job: asks for the word before it begins, also in an outage of 101 unknown outcomes', async () => {
      const app = await fresh();
      await request(app, 'first', 201);
      for (let i = 0; i < 101; i += 1) await request(app, `o-${i}`, 500, { scope: ['acme', 'out'] });
      const at = await consoleOf(app.samekey.store);
      const filter = { caller: 'acme/out' };
      expect(await at.ask('bulk-try', { request: JOB, filter })).toMatchObject({
        status: 409,
        body: { code: 'perhaps-sealed' },
      });
      expect((await at.ask('bulk-jobs')).body.jobs).toEqual([]);
      const { body } = await at.ask('bulk-try', { request: { ...JOB, mayStandClear: true }, filter });
      expect(await over(at, body.id)).toMatchObject({ phase: 'tried', counts: { would: 101 }, fault: null });
    });

    it('of a job: is refused beside a sealed record among those it tries, however many newer ones are clear', async () => {
      const { bare, store } = await sealing(2);
      const app = apps.at(-1) as Opened;
      for (let i = 0; i < 100; i += 1) await request(app, `clear-${i}`, 201, { scope: ['other'] });
      const at = await consoleOf(bare);
      const asked = { request: { ...JOB, mayStandClear: true }, filter: { caller: 'acme' } };
      const { status, body } = await at.ask('bulk-try', asked);
      expect(status).toBe(200);
      expect(await over(at, body.id)).toMatchObject({
        phase: 'stopped',
        fault: expect.stringContaining('sealed'),
      });
      const ringed = await consoleOf(store);
      const { body: tried } = await ringed.ask('bulk-try', asked);
      expect(await over(ringed, tried.id)).toMatchObject({
        phase: 'tried',
        counts: { would: 2, refused: 1 },
      });
    });

    it('of a job: is refused where the application has begun to seal since the dry run', async () => {
      const app = await fresh();
      const { store } = app.samekey;
      await request(app, 'clear', 201);
      await request(app, 'u', 500, { scope: ['acme', 'since'] });
      const at = await consoleOf(store);
      const { body } = await at.ask('bulk-try', { request: JOB, filter: { caller: 'acme/since' } });
      expect(await over(at, body.id)).toMatchObject({ phase: 'tried', counts: { would: 1 } });
      const ring = keyRing({ current: 'k1', keys: { k1: new Uint8Array(32).fill(7) } });
      const ringed = createSamekey({ store: sealed(store, ring), policy: 'payments', reconcileAfterMs: 0 });
      const input = { scope: ['x'], key: 'sealed', operation: 'POST /p', fingerprint: 'x' };
      await ringed.run(input, () => reply(201, 'x'));
      await at.ask('bulk-do', { id: body.id, reason: 'why' });
      expect(await over(at, body.id)).toMatchObject({
        phase: 'stopped',
        counts: { would: 1 },
        fault: expect.stringContaining('sealed'),
      });
      expect((await store.list({ key: 'u' }))[0]?.state).toBe('unknown');
    });

    it.each([
      5,
      'x',
      {},
      { status: '200' },
      { status: 200, headers: 'abc' },
      { status: 200, headers: [['one']] },
      { status: 200, headers: [[1, 2]] },
      { status: 200, body: { a: 1 } },
    ])('is none that is written as %j', async (response) => {
      const at = consoles[0];
      const asked = { act: 'settle', scope: 's', key: 'k', seen: { claimId: 'c', attempt: 1 }, response };
      for (const verb of ['preview', 'act'])
        expect(await at?.ask(verb, { ...asked, to: 'completed', reason: 'why' })).toMatchObject({
          status: 400,
          body: { code: 'bad-request' },
        });
    });
  });
}
