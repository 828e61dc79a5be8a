/**
 * What is done through the console: each act with its preview, its right, its reason and its row, on SQLite and
 * PostgreSQL.
 */

import { createOperator } from 'samekey/operator';
import type { SamekeyRecord, Store } from 'samekey';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kinds, type Opened, open, request } from '../../cli/test/operating.ts';
import type { ConsoleRight } from '../src/index.ts';
import { ALL, SECRET, type Served, serveConsole } from './serving.ts';

for (const kind of kinds()) {
  describe(`acts at the console: ${kind.name}`, () => {
    let app: Opened;
    let store: Store;
    let all: Served;
    const opened: Served[] = [];

    beforeAll(async () => {
      await kind.start();
      app = await open(await kind.fresh());
      store = app.samekey.store;
      // An answer that stands clear: it tells that none is sealed here.
      await request(app, 'k-first', 201);
      all = await serve(ALL);
    });
    afterAll(async () => {
      for (const each of opened) await each.close();
      await app.close();
      await kind.stop();
    });

    async function serve(rights: readonly ConsoleRight[]): Promise<Served> {
      const served = await serveConsole({ store, token: { secret: SECRET, actor: 'alice@ops', rights } });
      opened.push(served);
      return served;
    }
    async function recordOf(key: string): Promise<SamekeyRecord> {
      const [record] = await store.list({ key });
      if (record === undefined) throw new Error(`no record ${key}`);
      return record;
    }
    async function idOf(key: string) {
      const { scope, claimId, attempt, state } = await recordOf(key);
      return { scope, key, seen: { claimId, attempt, state } };
    }
    const auditOf = async (key: string) => {
      const { scope } = await recordOf(key);
      return store.audit({ scope, key });
    };

    it('settles an unknown payment: the retry gets the answer and nothing runs; the audit says who and why', async () => {
      await request(app, 'k-settle', 500);
      const answer = { status: 201, body: '{"id":"pay_1"}' };
      const asked = { ...(await idOf('k-settle')), act: 'settle', to: 'completed', response: answer };
      const before = await recordOf('k-settle');
      const previewed = await all.ask('preview', asked);
      expect(previewed.body).toMatchObject({ kind: 'applied' });
      expect(previewed.body.lines.join('\n')).toMatch(/status 201 with this body of 14 bytes.*\n.*alice@ops/);
      expect(await recordOf('k-settle')).toEqual(before);
      expect(await auditOf('k-settle')).toEqual([]);
      const done = await all.ask('act', { ...asked, reason: 'the provider shows pay_1' });
      expect(done).toMatchObject({ status: 200, body: { kind: 'applied' } });
      expect(await request(app, 'k-settle', 500)).toMatchObject({ kind: 'replay', value: { id: 'pay_1' } });
      expect(await auditOf('k-settle')).toMatchObject([
        {
          act: 'settle',
          from: 'unknown',
          to: 'completed',
          actor: 'alice@ops',
          reason: 'the provider shows pay_1',
        },
      ]);
      const again = await all.ask('act', { ...asked, reason: 'again' });
      expect(again.body.kind).toBe('already');
    });

    it('tells of a contradiction before and after it, and a preview leaves no row of it', async () => {
      const other = { status: 201, body: '{"id":"pay_2"}' };
      const asked = { ...(await idOf('k-settle')), act: 'settle', to: 'completed', response: other };
      const rows = (await auditOf('k-settle')).length;
      expect((await all.ask('preview', asked)).body).toMatchObject({ kind: 'contradiction' });
      expect(await auditOf('k-settle')).toHaveLength(rows);
      expect((await all.ask('act', { ...asked, reason: 'I say otherwise' })).body.kind).toBe('contradiction');
      expect((await auditOf('k-settle'))[0]).toMatchObject({ act: 'contradiction', actor: 'alice@ops' });
    });

    it('a preview refuses what the act refuses, for every state and act', async () => {
      await request(app, 'p-unknown', 500);
      await request(app, 'p-failed', 409);
      await request(app, 'p-completed', 201);
      const acts = [
        { act: 'settle', to: 'completed', response: { status: 201, body: 'x' } },
        { act: 'settle', to: 'retryable' },
        { act: 'settle', to: 'retryable', effectResult: { id: 1 } },
        { act: 'reopen' },
        { act: 'forget' },
      ];
      // The ones that are done come last: each changes what the next one meets.
      for (const key of ['p-unknown', 'p-failed', 'p-completed']) {
        for (const each of acts.toReversed()) {
          const asked = { ...(await idOf(key)), ...each };
          const said = (await all.ask('preview', asked)).body;
          const did = (await all.ask('act', { ...asked, reason: 'compared' })).body;
          expect({ key, each, kind: did.kind, because: did.because }).toEqual({
            key,
            each,
            kind: said.kind,
            because: said.because,
          });
          if (did.kind === 'applied') break;
        }
      }
    });

    it('does nothing to a record that has moved on since it was looked at', async () => {
      await request(app, 'k-moved', 500);
      const asked = { ...(await idOf('k-moved')), act: 'settle', to: 'completed', response: null };
      const operator = createOperator({ store, actor: 'bob' });
      await operator.settle(asked, { to: 'retryable', reason: 'bob was faster', callTimeMaxMs: 0 });
      await request(app, 'k-moved', 500);
      const before = await recordOf('k-moved');
      const refused = await all.ask('act', { ...asked, reason: 'too late' });
      expect(refused.body).toMatchObject({ kind: 'refused', because: 'changed' });
      expect(await recordOf('k-moved')).toEqual(before);
    });

    it('reopens a failed key, and forgets a completed one with a word about its effect', async () => {
      await request(app, 'k-failed', 409);
      const reopened = await all.ask('act', {
        ...(await idOf('k-failed')),
        act: 'reopen',
        reason: 'stock is back',
      });
      expect(reopened.body.kind).toBe('applied');
      expect((await recordOf('k-failed')).state).toBe('retryable');
      await request(app, 'k-done', 201);
      const asked = { ...(await idOf('k-done')), act: 'forget' };
      expect((await all.ask('preview', asked)).body.lines.join(' ')).toContain('ITS EFFECT HAS HAPPENED');
      const { claimId, attempt } = asked.seen;
      const before = await recordOf('k-done');
      // A page on which it had failed, and one that does not say what it shows.
      const failed = { ...asked, seen: { claimId, attempt, state: 'failed' }, reason: 'a test key' };
      expect((await all.ask('act', failed)).body).toMatchObject({ kind: 'refused', because: 'changed' });
      expect((await all.ask('act', { ...failed, seen: { claimId, attempt } })).status).toBe(400);
      expect(await recordOf('k-done')).toEqual(before);
      expect((await all.ask('act', { ...asked, reason: 'a test key' })).body.kind).toBe('applied');
    });

    it('acts for nobody without the right, and for nobody without a reason: no record and no audit row changes', async () => {
      await request(app, 'k-guard', 500);
      await request(app, 'k-guard-failed', 409);
      const before = [await recordOf('k-guard'), await recordOf('k-guard-failed'), await store.audit({})];
      const settle = { ...(await idOf('k-guard')), act: 'settle', to: 'completed', response: null };
      const reopen = { ...(await idOf('k-guard-failed')), act: 'reopen' };
      const forget = { ...reopen, act: 'forget' };
      const { scope, key } = settle;
      const calls: readonly (readonly [string, ConsoleRight, object])[] = [
        ['act', 'settle', settle],
        ['act', 'reopen', reopen],
        ['act', 'forget', forget],
        ['reveal', 'reveal', { scope, key }],
        ['requeue', 'requeue', { ids: [] }],
        ['drop', 'drop', { ids: [] }],
        ['erase', 'erase', { caller: 'acme/alice' }],
      ];
      for (const [verb, right, body] of calls) {
        const others = await serve(ALL.filter((each) => each !== right));
        const refused = await others.ask(verb, { ...body, reason: 'because' });
        expect({ verb, ...refused }).toMatchObject({ verb, status: 403, body: { code: 'no-right' } });
        const holder = await serve([right]);
        for (const reason of [undefined, '', ' \n ', '\u200b\u2060\u00ad\u3164\u2800']) {
          const unsaid = await holder.ask(verb, { ...body, reason });
          expect({ verb, ...unsaid }).toMatchObject({ verb, status: 400, body: { code: 'no-reason' } });
        }
        const long = await holder.ask(verb, { ...body, reason: 'x'.repeat(1_001) });
        expect({ verb, status: long.status }).toEqual({ verb, status: 400 });
      }
      for (const verb of ['preview', 'preview-requeue', 'preview-drop', 'preview-erase']) {
        const looker = await serve([]);
        expect((await looker.ask(verb, { ...settle, all: true, caller: 'acme' })).status).toBe(403);
      }
      expect([await recordOf('k-guard'), await recordOf('k-guard-failed'), await store.audit({})]).toEqual(
        before,
      );
    });

    it('masks what a record holds, and shows it by right, with a reason, after a row in the audit', async () => {
      await request(app, 'k-secret', 201, { body: { card: '4111' } });
      const { scope } = await recordOf('k-secret');
      const looker = await serve([]);
      const whole = await looker.ask('record', { scope, key: 'k-secret' });
      const text = JSON.stringify([whole.body, (await looker.ask('records', { caller: 'acme/alice' })).body]);
      expect(text).not.toContain('answer-of-k-secret');
      expect(whole.body.answer).toMatchObject({
        status: 201,
        outline: expect.stringContaining('"said": "text, 18"'),
      });
      const revealed = await all.ask('reveal', { scope, key: 'k-secret', reason: 'ticket 4711' });
      expect(revealed.body.answer.body).toContain('answer-of-k-secret');
      expect(await auditOf('k-secret')).toMatchObject([
        { act: 'reveal', actor: 'alice@ops', reason: 'ticket 4711', from: null, to: null },
      ]);
    });

    it('shows nothing where the row cannot be written', async () => {
      const { scope } = await recordOf('k-secret');
      const broken: Store = Object.create(store, {
        note: { value: () => Promise.reject(new Error('the audit is full')) },
      });
      const served = await serveConsole({
        store: broken,
        token: { secret: SECRET, actor: 'a', rights: ['reveal'] },
      });
      opened.push(served);
      const refused = await served.ask('reveal', { scope, key: 'k-secret', reason: 'ticket' });
      expect(refused.status).toBe(500);
      expect(JSON.stringify(refused.body)).not.toContain('answer-of');
    });

    it('erases a caller: says how many first, leaves what nobody knows, and a row for each', async () => {
      const scope = ['acme', 'carol'];
      await request(app, 'e-1', 201, { scope });
      await request(app, 'e-2', 409, { scope });
      await request(app, 'e-3', 500, { scope });
      const previewed = await all.ask('preview-erase', { caller: 'acme/carol' });
      expect(previewed.body).toMatchObject({ erased: 2, left: 1 });
      expect((await recordOf('e-1')).response?.body).not.toBeNull();
      const done = await all.ask('erase', { caller: 'acme/carol', reason: 'article 17' });
      expect(done.body).toMatchObject({ erased: 2, left: 1 });
      expect((await recordOf('e-1')).reason).toBe('erased');
      expect(await auditOf('e-1')).toMatchObject([
        { act: 'erase', actor: 'alice@ops', reason: 'article 17' },
      ]);
    });
  });
}
