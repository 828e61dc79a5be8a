/** The audit of transitions: each change of a record's state leaves one row, in the write that makes it. */

import assert from 'node:assert/strict';
import type { Store } from 'samekey/internals/store/store';
import {
  CLAIM_TTL_MS,
  claimed,
  claimRequest,
  eraseRequest,
  finished,
  finishRequest,
  handRequest,
  ID,
  RETENTION_MS,
  renewRequest,
  type StoreHarness,
  type StoreUnderTest,
  settleRequest,
  type TestRunner,
} from './context.ts';

export function transitionAuditTests(runner: TestRunner, harness: StoreHarness): void {
  function test(title: string, body: (t: StoreUnderTest) => Promise<void>): void {
    runner.it(title, async () => {
      const t = await harness.create({ auditTransitions: true });
      try {
        await body(t);
      } finally {
        await t.close();
      }
    });
  }

  test('a life of a key is told by its rows, in order, with their reasons', async (t) => {
    const first = await claimed(t.store, { whenClaimEnds: 'resume' });
    await t.advance(CLAIM_TTL_MS);
    await t.store.sweep(10);
    const second = await claimed(t.store);
    await t.store.finish([finishRequest(first, 'completed')]);
    await t.store.finish([finishRequest(second, 'unknown', { reason: 'handler-threw' })]);
    await t.store.settle([settleRequest(second, 'failed')]);
    await t.store.reopen([handRequest(second)]);
    await t.store.erase(eraseRequest(ID.scope));
    assert.deepEqual(await told(t.store), [
      '1: none → in_progress (null)',
      '1: in_progress → retryable (claim-ended)',
      '2: retryable → in_progress (null)',
      '2: in_progress → unknown (handler-threw)',
      '2: unknown → failed (asked the bank)',
      '2: failed → retryable (mended)',
      '2: retryable → failed (erased)',
    ]);
    const [newest] = await t.store.audit({ acts: ['transition'], limit: 1 });
    const { seq: _seq, at, ...row } = newest ?? assert.fail('there are rows');
    assert.deepEqual(row, {
      ...ID,
      operation: 'POST /payments',
      attempt: 2,
      act: 'transition',
      from: 'retryable',
      to: 'failed',
      reason: 'erased',
      actor: null,
    });
    const [begun] = (await t.store.audit({ acts: ['transition'] })).toReversed();
    assert.equal(at - (begun?.at ?? 0), CLAIM_TTL_MS);
    // Beside the rows of the acts by hand.
    const acts = (await t.store.audit({})).map(({ act }) => act).filter((act) => act !== 'transition');
    assert.deepEqual(acts, ['erase', 'reopen', 'settle']);
  });

  test('renewals, checkpoints, refusals, repeats and look-ups leave none', async (t) => {
    const owner = await claimed(t.store);
    const checkpoint = { claimTtlMs: CLAIM_TTL_MS, recoveryPoint: 'paid', steps: '[1]', intentOpen: false };
    await t.store.renew([renewRequest(owner)]);
    await t.store.checkpoint([{ ...owner, ...checkpoint }]);
    await t.store.claim([claimRequest(), claimRequest()]);
    await t.store.finish([finishRequest({ ...owner, attempt: 2 }, 'completed')]);
    await t.store.finish([finishRequest(owner, 'completed')]);
    await t.store.finish([finishRequest(owner, 'completed')]);
    await t.store.find([ID]);
    assert.deepEqual(await told(t.store), [
      '1: none → in_progress (null)',
      '1: in_progress → completed (null)',
    ]);
  });

  test('an owner that takes its claim back, and an attempt that begins where one was in progress, are told', async (t) => {
    const owner = await claimed(t.store, { key: 'back' });
    await claimed(t.store, { key: 'over', whenClaimEnds: 'resume' });
    await t.advance(CLAIM_TTL_MS);
    await t.store.claim([claimRequest({ key: 'back' })]);
    await t.store.renew([renewRequest(owner)]);
    await claimed(t.store, { key: 'over', whenClaimEnds: 'resume' });
    assert.deepEqual(await told(t.store, 'back'), [
      '1: none → in_progress (null)',
      '1: in_progress → unknown (claim-ended)',
      '1: unknown → in_progress (null)',
    ]);
    assert.deepEqual(await told(t.store, 'over'), [
      '1: none → in_progress (null)',
      '2: in_progress → in_progress (null)',
    ]);
  });

  test('a reaped record leaves none, and the new life of an expired key begins with where the old one ended', async (t) => {
    await finished(t.store, 'completed', { key: 'reaped' });
    await finished(t.store, 'failed', { key: 'again' });
    await t.advance(RETENTION_MS);
    await claimed(t.store, { key: 'again' });
    await t.store.reap(10);
    assert.equal((await told(t.store, 'reaped')).length, 2);
    assert.equal((await told(t.store, 'again')).at(-1), '1: failed → in_progress (null)');
  });

  test('many rows of one call leave one each', async ({ store }) => {
    const requests = Array.from({ length: 20 }, (_, i) => claimRequest({ key: `k${i}` }));
    await store.claim(requests);
    await store.finish(requests.map((request) => finishRequest({ ...request, attempt: 1 }, 'completed')));
    const rows = await store.audit({ limit: 1_000 });
    assert.equal(rows.length, 40);
    assert.equal(new Set(rows.map(({ key, to }) => `${key} ${to}`)).size, 40);
  });

  test('what was written in a transaction of the caller is told if and only if it commits', async (t) => {
    if (!t.store.capabilities.transactions) {
      assert.ok(!('transaction' in t), 'a store without transactions has none to test');
      return;
    }
    const owner = await claimed(t.store);
    await assert.rejects(async () =>
      t.transaction?.(async (within) => {
        await within.finish(finishRequest(owner, 'completed'));
        throw new Error('rolled back');
      }),
    );
    assert.equal((await told(t.store)).length, 1);
    await t.transaction?.(async (within) => within.finish(finishRequest(owner, 'completed')));
    assert.equal((await told(t.store)).at(-1), '1: in_progress → completed (null)');
  });

  test('transitions are pruned apart from what was done by hand', async (t) => {
    const owner = await finished(t.store, 'failed');
    await t.store.reopen([handRequest(owner)]);
    await t.advance(10);
    assert.equal(await t.store.pruneAudit({ olderThanMs: 10, acts: ['transition'], limit: 100 }), 3);
    assert.deepEqual(
      (await t.store.audit({})).map(({ act }) => act),
      ['reopen'],
    );
  });
}

async function told(store: Store, key: string = ID.key): Promise<string[]> {
  const rows = await store.audit({ scope: ID.scope, key, acts: ['transition'], limit: 1_000 });
  return rows
    .toReversed()
    .map(({ attempt, from, to, reason }) => `${attempt}: ${from ?? 'none'} → ${to} (${reason})`);
}
