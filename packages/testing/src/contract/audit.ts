/** The audit: acts by hand and their rows are one write, rows are only ever added, and old ones go act by act. */

import assert from 'node:assert/strict';
import { isStoreError } from 'samekey/internals/core/errors';
import type { AuditAct, AuditRow, NewAuditRow } from 'samekey/internals/store/audit';
import { AUDIT_ACTS } from 'samekey/internals/store/audit';
import type { Store } from 'samekey/internals/store/store';
import {
  type AddTest,
  claimed,
  finished,
  finishRequest,
  forgetAsSeen,
  handRequest,
  ID,
  only,
  RETENTION_MS,
  recordOf,
  settleRequest,
} from './context.ts';

const OPERATION = 'POST /payments';

export function auditTests(test: AddTest): void {
  test('settling, reopening and forgetting each leave one row: who, why, from where to where', async (t) => {
    const unknown = await finished(t.store, 'unknown', { key: 'unknown' });
    await t.store.settle([settleRequest(unknown, 'failed')]);
    await t.advance(5);
    await t.store.reopen([handRequest(unknown, 'the bank was wrong')]);
    const completed = await finished(t.store, 'completed', { key: 'completed' });
    await forgetAsSeen(t.store, completed, { reason: 'asked for', actor: null });
    const { createdAt } = await recordOf(t.store, unknown);
    const common = { scope: ID.scope, operation: OPERATION, attempt: 1 };
    assert.deepEqual((await t.store.audit({})).map(unnumbered), [
      {
        ...common,
        at: createdAt + 5,
        key: 'completed',
        act: 'forget',
        from: 'completed',
        to: null,
        reason: 'asked for',
        actor: null,
      },
      {
        ...common,
        at: createdAt + 5,
        key: 'unknown',
        act: 'reopen',
        from: 'failed',
        to: 'retryable',
        reason: 'the bank was wrong',
        actor: 'operator-1',
      },
      {
        ...common,
        at: createdAt,
        key: 'unknown',
        act: 'settle',
        from: 'unknown',
        to: 'failed',
        reason: 'asked the bank',
        actor: 'reconciler-1',
      },
    ]);
  });

  test('a record that forgetting deletes at once leaves its row too', async ({ store }) => {
    const owner = await finished(store, 'retryable');
    await forgetAsSeen(store, owner);
    assert.deepEqual(await store.find([ID]), [null]);
    const row = only(await store.audit({}));
    assert.deepEqual([row.act, row.from, row.to, row.key], ['forget', 'retryable', null, ID.key]);
  });

  test('an act that was refused, or had been done before, leaves no row', async ({ store }) => {
    const owner = await finished(store, 'completed');
    const other = { ...owner, claimId: 'claim-of-somebody-else' };
    assert.equal(only(await store.settle([settleRequest(owner, 'failed')])).kind, 'refused');
    assert.equal(only(await store.reopen([handRequest(owner)])).kind, 'refused');
    assert.equal(only(await forgetAsSeen(store, other)).kind, 'refused');
    assert.equal(only(await forgetAsSeen(store, owner, { key: 'absent' })).kind, 'already');
    assert.deepEqual(await store.audit({}), []);
    await forgetAsSeen(store, owner);
    assert.equal(only(await forgetAsSeen(store, owner)).kind, 'already');
    assert.equal((await store.audit({})).length, 1);
  });

  test('of many acts in one call, each that was made has its row', async ({ store }) => {
    const failed = await finished(store, 'failed', { key: 'failed' });
    const completed = await finished(store, 'completed', { key: 'completed' });
    const open = await claimed(store, { key: 'open' });
    const retryable = await finished(store, 'retryable', { key: 'retryable' });
    const results = await store.forget([
      { ...handRequest(failed), state: 'failed' },
      { ...handRequest(completed), state: 'completed' },
      { ...handRequest(open), state: 'in_progress' },
      { ...handRequest(retryable), state: 'retryable' },
    ]);
    assert.deepEqual(
      results.map(({ kind }) => kind),
      ['applied', 'applied', 'refused', 'applied'],
    );
    const keys = (await store.audit({ acts: ['forget'] })).map(({ key }) => key);
    assert.deepEqual(keys.toSorted(), ['completed', 'failed', 'retryable']);
  });

  test('an act without a reason, or with one too long, is refused, and nothing of its call is done', async (t) => {
    const owner = await finished(t.store, 'failed');
    const before = await recordOf(t.store);
    for (const reason of ['', ' \n', 'x'.repeat(1_001), undefined as unknown as string]) {
      const request = { ...handRequest(owner), reason, state: 'failed' as const };
      for (const act of [
        () => t.store.reopen([handRequest(owner), request]),
        () => t.store.forget([request]),
        () => t.store.settle([{ ...request, to: 'failed', response: null }]),
      ]) {
        await assert.rejects(
          act,
          (error) => isStoreError(error) && error.applied === 'no' && !error.transient,
        );
      }
    }
    await assert.rejects(
      () => forgetAsSeen(t.store, owner, { actor: 'x'.repeat(201) }),
      (error) => isStoreError(error) && error.applied === 'no',
    );
    assert.deepEqual(await recordOf(t.store), before);
    assert.deepEqual(await t.store.audit({}), []);
  });

  test('what attempts do by themselves leaves no row', async (t) => {
    const owner = await claimed(t.store, { whenClaimEnds: 'resume' });
    await t.store.renew([{ ...owner, claimTtlMs: 10 }]);
    await t.advance(10);
    await t.store.sweep(10);
    await t.store.finish([finishRequest(owner, 'completed')]);
    await t.advance(RETENTION_MS);
    await t.store.reap(10);
    assert.deepEqual(await t.store.audit({}), []);
  });

  test('noted rows are kept to the last character, newest first, and given page by page', async ({
    store,
  }) => {
    const rows = Array.from({ length: 5 }, (_, i) => noted({ key: `k${i}`, reason: `"{\\\n'ü😀,${i}` }));
    await store.note(rows.slice(0, 2));
    await store.note(rows.slice(2));
    await store.note([]);
    const first = await store.audit({ limit: 2 });
    const second = await store.audit({ limit: 2, before: first[1]?.seq ?? '' });
    const third = await store.audit({ limit: 2, before: second[1]?.seq ?? '' });
    const pages = [first, second, third];
    assert.deepEqual(
      pages.map((page) => page.map(({ key }) => key)),
      [['k4', 'k3'], ['k2', 'k1'], ['k0']],
    );
    assert.deepEqual(
      pages.flat().map(({ seq: _seq, at: _at, ...row }) => row),
      rows.toReversed(),
    );
    assert.ok(pages.flat().every(({ seq }) => /^\d+$/.test(seq)));
  });

  test('rows are found by scope, key and act', async ({ store }) => {
    await store.note([
      noted({ scope: 's1', key: 'a' }),
      noted({ scope: 's1', key: 'A', act: 'give-up' }),
      noted({ scope: 's2', key: 'a', act: 'give-up' }),
    ]);
    const found = async (request: Parameters<Store['audit']>[0]): Promise<string> =>
      (await store.audit(request)).map(({ scope, key }) => `${scope}/${key}`).join(' ');
    assert.equal(await found({ scope: 's1' }), 's1/A s1/a');
    assert.equal(await found({ scope: 's1', key: 'a' }), 's1/a');
    assert.equal(await found({ acts: ['give-up'] }), 's2/a s1/A');
    assert.equal(await found({ acts: ['give-up', 'contradiction'], scope: 's1' }), 's1/A s1/a');
    assert.equal(await found({ acts: [] }), '');
    assert.equal(await found({ scope: 'S1' }), '');
  });

  test('old rows go act by act, the oldest first, at most as many as told, and their numbers never come again', async (t) => {
    const kept = await finished(t.store, 'failed');
    await t.store.reopen([handRequest(kept)]);
    for (let i = 0; i < 3; i += 1) {
      await t.store.note([noted({ key: `old-${i}` })]);
      await t.advance(1);
    }
    await t.advance(1_000);
    await t.store.note([noted({ key: 'young' })]);
    const newest = (await t.store.audit({ limit: 1 }))[0]?.seq ?? '';
    const prune = (limit: number): Promise<number> =>
      t.store.pruneAudit({ olderThanMs: 1_000, acts: ['contradiction'], limit });
    assert.equal(await t.store.pruneAudit({ olderThanMs: 0, acts: [], limit: 10 }), 0);
    assert.equal(await prune(2), 2);
    assert.deepEqual(
      (await t.store.audit({ acts: ['contradiction'] })).map(({ key }) => key),
      ['young', 'old-2'],
    );
    assert.equal(await prune(2), 1);
    assert.equal(await prune(2), 0);
    assert.equal(await t.store.pruneAudit({ olderThanMs: 0, acts: ['contradiction'], limit: 10 }), 1);
    await t.store.note([noted({ key: 'next' })]);
    const [next, act] = await t.store.audit({});
    assert.ok(BigInt(next?.seq ?? 0) > BigInt(newest), 'a number was used again');
    assert.equal(act?.act, 'reopen');
  });

  test('every act can be noted, and a thousand rows in one call, but not more', async ({ store }) => {
    await store.note(AUDIT_ACTS.map((act) => noted({ act })));
    assert.deepEqual((await store.audit({})).map(({ act }) => act).toReversed(), AUDIT_ACTS);
    await store.note(Array.from({ length: 1_000 }, (_, i) => noted({ key: `k${i}` })));
    assert.equal((await store.audit({ limit: 5_000 })).length, 1_000);
    await assert.rejects(
      () => store.note(Array.from({ length: 1_001 }, () => noted({}))),
      (error) => isStoreError(error) && error.applied === 'no',
    );
  });
}

function noted(row: Partial<NewAuditRow>): NewAuditRow {
  const act: AuditAct = 'contradiction';
  return {
    ...ID,
    operation: OPERATION,
    attempt: 3,
    act,
    from: 'failed',
    to: 'completed',
    reason: null,
    actor: null,
    ...row,
  };
}

function unnumbered({ seq, ...row }: AuditRow): Omit<AuditRow, 'seq'> {
  assert.match(seq, /^\d+$/);
  return row;
}
