/**
 * What keeps a store in order, under owners, operators and others that do the same at that moment: what is counted adds up. Rows that
 * a statement has locked in its first part may be newer than its snapshot, and then its second part does not see them: such a row
 * must be left for the next call, and never be told as done.
 */

import { describe, expect, it } from 'vitest';
import {
  claimed,
  claimRequest,
  eraseRequest,
  finishRequest,
  handRequest,
  newClaimId,
  only,
  renewRequest,
  settleRequest,
} from '../../../testing/src/contract/context.ts';
import type { FencedId, HandResult, Store } from '../../src/store/store.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from './postgres-setup.ts';

const source = anyPostgres();
const KEYS = 240;
const SCOPE = 't|POST /a';

const keys = (): readonly string[] => Array.from({ length: KEYS }, (_, i) => `k${i}`);

/** Claims of all keys, by one call. */
async function claimAll(store: Store, overrides: Parameters<typeof claimRequest>[0] = {}) {
  const requests = keys().map((key) =>
    claimRequest({ scope: SCOPE, key, ...overrides, claimId: newClaimId() }),
  );
  const results = await store.claim(requests);
  expect(results.every(({ kind }) => kind === 'claimed')).toBe(true);
  return requests.map(({ scope, key, claimId }): FencedId => ({ scope, key, claimId, attempt: 1 }));
}

/** Repeats what answers `busy`. */
async function insist<Request, Result extends { readonly kind: string }>(
  verb: (requests: readonly Request[]) => Promise<readonly Result[]>,
  request: Request,
): Promise<Result> {
  for (;;) {
    const result = only(await verb([request]));
    if (result.kind !== 'busy') return result;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

describe.runIf(source !== undefined)(`upkeep in a storm: ${source?.name}`, () => {
  if (source === undefined) return;
  const { database } = useServer(source);

  async function stores(count: number): Promise<readonly Store[]> {
    const db = await database();
    const made: Store[] = [];
    for (let i = 0; i < count; i += 1) made.push(await db.store());
    return made;
  }

  it('an unknown outcome is one reconciler’s, also while owners take theirs back and others put theirs off', async () => {
    const all = await stores(4);
    const [first] = all as [Store];
    const owners = await claimAll(first, { claimTtlMs: 1 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    let swept = 0;
    for (const store of all) swept += (await store.sweep(KEYS)).length;
    expect(swept).toBe(KEYS);
    const taken = new Map<string, number>();
    const takenBack = new Set<string>();
    await Promise.all([
      ...all.map(async (store, i) => {
        for (let idle = 0; idle < 5; ) {
          const records = await store.takeUnknown({ operations: null, leaseMs: 60_000, limit: 7 });
          idle = records.length === 0 ? idle + 1 : 0;
          for (const record of records) taken.set(record.key, (taken.get(record.key) ?? 0) + 1);
          if (i % 2 === 0 && records.length > 0) {
            await store.postpone(
              records.map((record) => ({ ...record, afterMs: 60_000, reason: 'not known' })),
            );
          }
        }
      }),
      ...owners
        .filter((_, i) => i % 3 === 0)
        .map(async (owner) => {
          const result = await insist((requests) => first.renew(requests), renewRequest(owner));
          expect(result.kind).toBe('renewed');
          takenBack.add(owner.key);
        }),
    ]);
    expect([...taken].filter(([, count]) => count > 1)).toEqual([]);
    for (const key of keys()) expect(taken.has(key) || takenBack.has(key)).toBe(true);
    const found = await first.find(owners);
    for (const record of found) {
      const isBack = takenBack.has(record?.key ?? '');
      expect(record?.state).toBe(isBack ? 'in_progress' : 'unknown');
      expect(record?.inquiries).toBe(isBack ? 0 : 1);
    }
  });

  it('reapers that meet new claims of expired keys delete no living record, and count what they deleted', async () => {
    const all = await stores(4);
    const [first] = all as [Store];
    const owners = await claimAll(first, { retentionMs: 1, replayMinMs: 1 });
    await first.finish(owners.map((owner) => finishRequest(owner, 'completed')));
    await new Promise((resolve) => setTimeout(resolve, 20));
    const winners = new Map<string, string>();
    let reaped = 0;
    await Promise.all([
      ...all.map(async (store) => {
        for (let i = 0; i < 30; i += 1) {
          const { count, byScope } = await store.reap(9);
          expect([...byScope.values()].reduce((sum, n) => sum + n, 0)).toBe(count);
          reaped += count;
        }
      }),
      ...keys()
        .filter((_, i) => i % 2 === 0)
        .map(async (key, i) => {
          const store = all[i % all.length] as Store;
          const request = claimRequest({ scope: SCOPE, key });
          const result = await insist((requests) => store.claim(requests), request);
          expect(result.kind).toBe('claimed');
          winners.set(key, request.claimId);
        }),
    ]);
    const found = await first.find(owners);
    let gone = 0;
    for (const [i, record] of found.entries()) {
      const winner = winners.get(`k${i}`);
      if (winner === undefined) gone += record === null ? 1 : 0;
      else expect(record).toMatchObject({ claimId: winner, state: 'in_progress' });
    }
    expect(reaped).toBeGreaterThanOrEqual(gone);
    expect(reaped).toBeLessThanOrEqual(KEYS);
    expect(gone).toBe(KEYS / 2);
  });

  it('erasing meets owners that finish: each end is applied or refused, and what is erased is told once', async () => {
    const all = await stores(3);
    const [first] = all as [Store];
    const owners = await claimAll(first);
    let erased = 0;
    let ended = 0;
    await Promise.all([
      ...owners.map(async (owner, i) => {
        const to = i % 3 === 0 ? 'retryable' : i % 3 === 1 ? 'completed' : 'failed';
        const store = all[i % all.length] as Store;
        const result = await insist((requests) => store.finish(requests), finishRequest(owner, to));
        if (result.kind === 'applied') ended += 1;
      }),
      ...all.map(async (store) => {
        for (let left = KEYS, i = 0; left > 0 && i < 500; i += 1) {
          const result = await store.erase(eraseRequest('t', 11));
          erased += result.erased;
          left = result.left;
        }
      }),
    ]);
    expect(ended).toBe(KEYS);
    expect(erased).toBe(KEYS);
    const rows = await first.audit({ acts: ['erase'], limit: 1_000 });
    expect(rows.length).toBe(KEYS);
    expect(new Set(rows.map(({ key }) => key)).size).toBe(KEYS);
    for (const record of await first.find(owners)) {
      expect(record).toMatchObject({ reason: 'erased', response: null, fingerprint: null });
    }
  });

  it('of several acts by hand at one moment one is done, and each one done has one row', async () => {
    const all = await stores(4);
    const [first] = all as [Store];
    const owners = await claimAll(first);
    await first.finish(owners.map((owner) => finishRequest(owner, 'unknown', { reconcileAfterMs: 0 })));
    const applied = new Map<string, number>();
    const acts: readonly ((store: Store, owner: FencedId) => Promise<readonly HandResult[]>)[] = [
      (store, owner) => store.settle([settleRequest(owner, 'completed')]),
      (store, owner) => store.settle([settleRequest(owner, 'retryable')]),
      (store, owner) => store.settle([settleRequest(owner, 'failed')]),
      (store, owner) => store.settle([settleRequest(owner, 'completed')]),
    ];
    await Promise.all(
      owners.flatMap((owner) =>
        acts.map(async (act, i) => {
          const result = await insist(() => act(all[i] as Store, owner), null);
          if (result.kind === 'applied') applied.set(owner.key, (applied.get(owner.key) ?? 0) + 1);
        }),
      ),
    );
    expect([...applied.values()].every((count) => count === 1)).toBe(true);
    expect(applied.size).toBe(KEYS);
    const rows = await first.audit({ acts: ['settle'], limit: 1_000 });
    expect(rows.length).toBe(KEYS);
    // Reopened and forgotten at one moment: whichever comes second meets what the first has left.
    const failed = (await first.find(owners)).flatMap((record) =>
      record !== null && record.state === 'failed' ? [record] : [],
    );
    let done = 0;
    await Promise.all(
      failed.flatMap((record) => [
        insist((requests) => (all[0] as Store).reopen(requests), handRequest(record)),
        insist((requests) => (all[1] as Store).forget(requests), {
          ...handRequest(record),
          state: record.state,
        }),
      ]),
    ).then((results) => {
      done = results.filter(({ kind }) => kind === 'applied').length;
    });
    const after = await first.audit({ acts: ['reopen', 'forget'], limit: 1_000 });
    expect(after.length).toBe(done);
  });

  it('however many sweep beside owners that renew, finish and leave, each end is told once and written once', async () => {
    const db = await database();
    const all: Store[] = [];
    for (let i = 0; i < 3; i += 1) all.push(await db.store({ pool: db.pool(), auditTransitions: true }));
    const [first] = all as [Store];
    const owners = await claimAll(first, { claimTtlMs: 30 });
    const told = new Map<string, number>();
    let finishes = 0;
    await Promise.all([
      ...all.map(async (store) => {
        for (let i = 0; i < 25; i += 1) {
          for (const { key, to } of await store.sweep(50)) {
            expect(to).toBe('unknown');
            told.set(key, (told.get(key) ?? 0) + 1);
          }
        }
      }),
      ...owners
        .filter((_, i) => i % 2 === 0)
        .map(async (owner) => {
          for (let i = 0; i < 3; i += 1)
            await insist((requests) => first.renew(requests), { ...renewRequest(owner), claimTtlMs: 30 });
          const end = finishRequest(owner, 'completed');
          if ((await insist((requests) => first.finish(requests), end)).kind === 'applied') finishes += 1;
        }),
    ]);
    const rows = (
      await Promise.all(
        owners.map((owner) => first.audit({ scope: owner.scope, key: owner.key, acts: ['transition'] })),
      )
    ).flat();
    const swept = [...told.values()].reduce((sum, count) => sum + count, 0);
    expect(rows.filter(({ to }) => to === 'unknown').length).toBe(swept);
    expect(rows.filter(({ to }) => to === 'completed').length).toBe(finishes);
    expect(finishes).toBe(KEYS / 2);
    expect(await claimed(first, { scope: SCOPE, key: 'another' })).toBeDefined();
  });
});
