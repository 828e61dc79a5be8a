/** Keys that a user's transaction reserves by a lock, and records that are written whole at its end. */

import assert from 'node:assert/strict';
import type { ClaimRequest, FinishResult } from 'samekey/internals/store/store';
import type { Reserved, TransactionalStore, Within } from 'samekey/internals/store/transaction';
import {
  type AddTest,
  ANSWER,
  claimed,
  claimRequest,
  finishRequest,
  ID,
  only,
  recordOf,
  type StoreUnderTest,
} from './context.ts';

const TIME_MAX_MS = 30_000;

export function reservationTests(test: AddTest): void {
  test('it reserves keys in transactions if it says so, and has none of that if not', async (t) => {
    const { transactionLock, transactions } = t.store.capabilities;
    assert.equal('reservations' in t.store, transactionLock);
    if (!transactions) return assert.equal(transactionLock, false);
    await t.transaction?.(async (within) => {
      assert.equal('reserve' in within, transactionLock);
      assert.equal('record' in within, transactionLock);
    });
  });

  // F12
  test('who asks is told of an equal request, of another, and of what cannot be compared; and all is free afterwards', async (under) => {
    const t = reserving(under);
    if (t === null) return;
    const claim = claimRequest();
    const { label } = claim.fingerprint;
    const asked = [
      claim,
      { ...claim, fingerprint: { label, digest: 'of-another-body' } },
      { ...claim, fingerprint: { label: 'made-otherwise', digest: claim.fingerprint.digest } },
      { ...claim, key: 'another-key' },
    ];
    const all = async (): Promise<readonly string[]> => {
      const together = await t.store.reservations(asked);
      for (const [i, one] of asked.entries())
        assert.equal(only(await t.store.reservations([one])), together[i]);
      return together;
    };
    assert.deepEqual(await t.store.reservations([]), []);
    assert.deepEqual(await all(), ['free', 'free', 'free', 'free']);
    const stopped = new Error('stop');
    await assert.rejects(
      t.transaction(async (within) => {
        assert.equal(await reserve(within, claim), 'reserved');
        assert.deepEqual(await all(), ['same', 'other', 'same', 'free']);
        assert.deepEqual(await t.store.find([ID]), [null]);
        throw stopped;
      }),
      (error) => error === stopped,
    );
    assert.deepEqual(await all(), ['free', 'free', 'free', 'free']);
  });

  test('of two transactions one has the key, and the other waits for nobody', async (under) => {
    const t = reserving(under);
    if (t === null || !t.store.capabilities.shared) return;
    await t.transaction(async (first) => {
      assert.equal(await reserve(first, claimRequest()), 'reserved');
      for (const digest of ['an-equal-body', 'of-another-body']) {
        const claim = claimRequest({ fingerprint: { label: claimRequest().fingerprint.label, digest } });
        const met: Reserved = await t.transaction(async (second) => reserve(second, claim));
        assert.equal(met, 'taken');
      }
      assert.equal(
        await t.transaction(async (second) => reserve(second, claimRequest({ key: 'another-key' }))),
        'reserved',
      );
    });
  });

  test('its record is what a claim and a finish would have made', async (under) => {
    const t = reserving(under);
    if (t === null) return;
    const claim = claimRequest({ tombstoneMs: 5_000, attemptMax: 3, replayMinMs: 7_000 });
    const beside = { ...claim, key: 'claimed', claimId: 'claim-beside' };
    for (const [to, extendMs] of [
      ['completed', 0],
      ['failed', 60_000],
    ] as const) {
      const end = { reason: to === 'failed' ? 'status-402' : null, extendMs };
      const [own, other] = [
        { ...claim, key: `own-${to}`, claimId: `own-${to}` },
        { ...beside, key: `other-${to}`, claimId: `other-${to}` },
      ];
      const written: FinishResult = await t.transaction(async (within) => {
        assert.equal(await reserve(within, own), 'reserved');
        return within.record({ claim: own, end: finishRequest({ ...own, attempt: 1 }, to, end) });
      });
      assert.equal(written.kind, 'applied');
      const owner = await claimed(t.store, other);
      await t.store.finish([finishRequest(owner, to, end)]);
      const mine: Plain = await recordOf(t.store, own);
      const theirs: Plain = await recordOf(t.store, other);
      assert.equal(written.kind === 'applied' ? written.expiresAt : 0, mine.expiresAt);
      assert.deepEqual(mine.response, ANSWER);
      assert.deepEqual(plain(mine), plain(theirs));
      // Both were written within moments of each other.
      for (const name of ['createdAt', 'finishedAt', 'expiresAt', 'lockedUntil'] as const)
        assert.ok(Math.abs(Number(mine[name]) - Number(theirs[name])) < 10_000, name);
      assert.equal(only(await t.store.claim([{ ...own, claimId: 'a-retry' }])).kind, 'found');
    }
  });

  test('its record may wait for the worker of a message, as one that was handed over', async (under) => {
    const t = reserving(under);
    if (t === null) return;
    const claim = claimRequest();
    const written = await t.transaction(async (within) => {
      await reserve(within, claim);
      return within.record({ claim, end: null });
    });
    assert.equal(written.kind, 'applied');
    const other = await claimed(t.store, { key: 'claimed' });
    await t.transaction(async (within) => void (await within.handOver(other)));
    const [mine, theirs] = [await recordOf(t.store), await recordOf(t.store, other)];
    assert.deepEqual([mine.state, mine.lockedUntil], ['pending', theirs.lockedUntil]);
    assert.deepEqual(plain(mine), plain(theirs));
    const end = { ...finishRequest({ ...claim, attempt: 1 }, 'completed'), handedOver: true };
    assert.equal(only(await t.store.finish([end])).kind, 'applied');
  });

  test('where somebody was first it writes nothing, and shows what stands there', async (under) => {
    const t = reserving(under);
    if (t === null) return;
    const claim = claimRequest();
    const end = finishRequest({ ...claim, attempt: 1 }, 'completed');
    const met = await t
      .transaction(async (within) => {
        assert.equal(await reserve(within, claim), 'reserved');
        // As a process does that reserves before its transaction.
        await claimed(t.store, { claimId: 'of-another-form' });
        return within.record({ claim, end });
      })
      .catch((error: unknown) => error);
    const stands = await recordOf(t.store);
    assert.deepEqual([stands.state, stands.claimId], ['in_progress', 'of-another-form']);
    // Where transactions see what was there when they began, its end is refused instead.
    if (met instanceof Error) assert.equal(t.store.transactionFault(met), 'again');
    else assert.deepEqual(met, { kind: 'refused', record: stands });
    const known = await t.transaction(async (within) => reserve(within, claimRequest({ claimId: 'later' })));
    assert.deepEqual([known, ...(await t.store.reservations([claim]))], ['known', 'known']);
  });
}

type Reserving = Within & Required<Pick<Within, 'reserve' | 'record'>>;

/** A store that reserves keys. */
interface ReservingStore {
  readonly store: StoreUnderTest['store'] &
    Required<Pick<TransactionalStore, 'reservations' | 'transactionFault'>>;
  transaction<T>(body: (within: Reserving) => Promise<T>): Promise<T>;
}

function reserving(t: StoreUnderTest): ReservingStore | null {
  return t.store.capabilities.transactionLock ? (t as unknown as ReservingStore) : null;
}

async function reserve(within: Reserving, claim: ClaimRequest): Promise<Reserved> {
  return within.reserve(claim, TIME_MAX_MS);
}

type Plain = Awaited<ReturnType<typeof recordOf>>;

/** Without what is of each: its key, its claim, its moments. */
function plain({
  key: _key,
  claimId: _claimId,
  createdAt: _createdAt,
  finishedAt: _finishedAt,
  expiresAt: _expiresAt,
  lockedUntil: _lockedUntil,
  sealKeyId: _sealKeyId,
  ...rest
}: Plain): Partial<Plain> {
  return rest;
}
