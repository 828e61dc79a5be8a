/** Getting the right to run: fresh keys, repeats, races, other scopes. */

import assert from 'node:assert/strict';
import { FORMAT_VERSION } from 'samekey/internals/core/record';
import {
  type AddTest,
  CLAIM_TTL_MS,
  claimed,
  claimRequest,
  FINGERPRINT,
  finished,
  finishRequest,
  foundBecause,
  ID,
  only,
  RETENTION_MS,
  recordOf,
  renewRequest,
} from './context.ts';

export function claimTests(test: AddTest): void {
  test('a fresh key is claimed as attempt 1, with every field of the request kept', async ({ store }) => {
    const request = claimRequest({ tombstoneMs: 7, replayMinMs: 11, whenClaimEnds: 'resume' });
    const result = only(await store.claim([request]));
    const record = await recordOf(store);
    const { createdAt } = record;
    assert.deepEqual(result, {
      kind: 'claimed',
      attempt: 1,
      createdAt,
      expiresAt: createdAt + RETENTION_MS,
      resumed: null,
    });
    assert.deepEqual(record, {
      ...ID,
      operation: request.operation,
      state: 'in_progress',
      attempt: 1,
      claimId: request.claimId,
      lockedUntil: createdAt + CLAIM_TTL_MS,
      claimTtlMs: CLAIM_TTL_MS,
      renewals: 0,
      whenClaimEnds: 'resume',
      fingerprint: FINGERPRINT,
      proof: null,
      reason: null,
      response: null,
      formatVersion: FORMAT_VERSION,
      sealKeyId: null,
      reconcileAfter: null,
      inquiries: 0,
      createdAt,
      finishedAt: null,
      expiresAt: createdAt + RETENTION_MS,
      replayMinMs: 11,
      attemptMax: 10,
      tombstoneMs: 7,
      recoveryPoint: null,
      steps: null,
      intentAt: null,
      input: null,
    });
  });

  // F15: the claim was committed, its reply lost, and driver or caller ask again.
  test('a claim repeated with its own claimId is the same attempt, and no claim anew', async ({ store }) => {
    const request = claimRequest();
    const first = only(await store.claim([request]));
    const record = await recordOf(store);
    assert.deepEqual(only(await store.claim([request])), first);
    assert.deepEqual(await recordOf(store), record);
  });

  test('a repeated claim that resumes still tells of the attempt before', async ({ store }) => {
    await finished(store, 'retryable');
    const request = claimRequest();
    const first = only(await store.claim([request]));
    assert.equal(first.kind === 'claimed' && first.attempt, 2);
    assert.equal(only(await store.claim([request])).kind, 'claimed');
  });

  // F112: a second format, made for the test. Code that reads both and still writes the first meets records of the second.
  test('what is read and what is written have versions of their own', async (t) => {
    const [first, both, second] = [
      { formatVersion: 1, readVersion: 1 },
      { formatVersion: 1, readVersion: 2 },
      { formatVersion: 2, readVersion: 2 },
    ];
    const fence = await claimed(t.store, second);
    await foundBecause(t.store, 'newer-format', first);
    await foundBecause(t.store, 'in-progress', both);
    await t.store.finish([finishRequest(fence, 'retryable', { proof: 'declared' })]);
    await foundBecause(t.store, 'newer-format', first);
    // The next attempt is of code that writes the first: what is left in the second stays that.
    const next = await claimed(t.store, both);
    assert.equal((await recordOf(t.store)).formatVersion, 2);
    await t.store.finish([finishRequest(next, 'completed')]);
    for (const code of [both, second]) await foundBecause(t.store, 'final', code);
    await foundBecause(t.store, 'newer-format', first);
  });

  test('a claim that arrives after its attempt was given up takes nothing', async (t) => {
    const late = claimRequest({ whenClaimEnds: 'resume' });
    await t.store.claim([late]);
    await t.advance(CLAIM_TTL_MS);
    const second = await claimed(t.store);
    assert.equal((await foundBecause(t.store, 'in-progress', late)).record.claimId, second.claimId);
    await t.store.finish([finishRequest(second, 'completed')]);
    await foundBecause(t.store, 'final', late);
    await foundBecause(t.store, 'spent', { claimId: second.claimId });
  });

  test('the next attempt keeps first use and retention, and says what became of the one before', async (t) => {
    const first = await claimed(t.store);
    const { createdAt, expiresAt } = await recordOf(t.store);
    await t.store.finish([finishRequest(first, 'retryable', { reason: 'sold out', proof: 'declared' })]);
    const resumedUntil = (await recordOf(t.store)).expiresAt;
    await t.advance(1_000);
    const result = only(await t.store.claim([claimRequest({ retentionMs: 1, claimTtlMs: 3_000 })]));
    assert.deepEqual(result, {
      kind: 'claimed',
      attempt: 2,
      createdAt,
      expiresAt: resumedUntil,
      resumed: {
        proof: 'declared',
        reason: 'sold out',
        steps: null,
        intentAgeMs: null,
        intentAgeMaxMs: null,
      },
    });
    const record = await recordOf(t.store);
    assert.ok(record.expiresAt >= expiresAt, 'the retention is never shortened');
    assert.equal(record.claimTtlMs, 3_000);
    assert.equal(record.renewals, 0);
  });

  // F12: another body is told so while the first is still in flight.
  test('a different request is refused before it is told that the first is in progress', async ({
    store,
  }) => {
    await claimed(store);
    const record = await recordOf(store);
    const other = { fingerprint: { ...FINGERPRINT, digest: 'digest-of-another-body' } };
    assert.deepEqual((await foundBecause(store, 'mismatch', other)).record, record);
  });

  test('a correctable refusal unbinds the fingerprint, and the next claim binds its own', async ({
    store,
  }) => {
    const owner = await claimed(store);
    await store.finish([finishRequest(owner, 'retryable', { unbindFingerprint: true })]);
    assert.equal((await recordOf(store)).fingerprint, null);
    const corrected = { ...FINGERPRINT, digest: 'digest-of-the-corrected-body' };
    await claimed(store, { fingerprint: corrected });
    assert.deepEqual((await recordOf(store)).fingerprint, corrected);
  });

  // F1, F4: nobody is told to wait longer than the claim, and nobody takes over before it is over.
  test('a living claim says what it has left, to its last millisecond', async (t) => {
    await claimed(t.store, { whenClaimEnds: 'resume' });
    assert.equal((await foundBecause(t.store, 'in-progress')).claimLeftMs, CLAIM_TTL_MS);
    await t.advance(CLAIM_TTL_MS - 1);
    assert.equal((await foundBecause(t.store, 'in-progress')).claimLeftMs, 1);
    await t.advance(1);
    assert.equal((await claimed(t.store)).attempt, 2);
  });

  // F86
  test('whoever meets an attempt is told its age, from its own claim', async (t) => {
    const owner = await claimed(t.store);
    assert.equal((await foundBecause(t.store, 'in-progress')).ageMs, 0);
    await t.advance(CLAIM_TTL_MS - 1);
    assert.equal((await foundBecause(t.store, 'in-progress')).ageMs, CLAIM_TTL_MS - 1);
    await t.store.renew([renewRequest(owner)]);
    await t.advance(1_000);
    const { ageMs } = await foundBecause(t.store, 'in-progress');
    assert.ok(ageMs >= 1_000 + CLAIM_TTL_MS / 3 && ageMs <= CLAIM_TTL_MS + 999, `${ageMs} ms`);
    await t.store.finish([finishRequest(owner, 'retryable')]);
    await t.advance(2_000);
    await claimed(t.store);
    await t.advance(3_000);
    assert.equal((await foundBecause(t.store, 'in-progress')).ageMs, 3_000);
  });

  // F86
  test('whoever meets a request that waits for a worker is told how long it has waited', async (t) => {
    const noted = { entry: 'accept', input: new Uint8Array([1]) } as const;
    await t.store.claim([claimRequest(noted)]);
    await t.advance(4_000);
    assert.equal((await foundBecause(t.store, 'pending', noted)).ageMs, 4_000);
  });

  test('a renewed claim lives on from its renewal', async (t) => {
    const owner = await claimed(t.store);
    for (let renewals = 1; renewals <= 3; renewals += 1) {
      await t.advance(CLAIM_TTL_MS - 1);
      assert.equal(only(await t.store.renew([renewRequest(owner)])).kind, 'renewed');
      const { claimLeftMs, record } = await foundBecause(t.store, 'in-progress');
      assert.equal(claimLeftMs, CLAIM_TTL_MS);
      assert.equal(record.renewals, renewals);
    }
  });

  test('attempts are counted, and the last one allowed is the last', async ({ store }) => {
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const owner = await claimed(store, { attemptMax: 3 });
      assert.equal(owner.attempt, attempt);
      await store.finish([finishRequest(owner, 'retryable')]);
    }
    const { record } = await foundBecause(store, 'exhausted', { attemptMax: 3 });
    assert.equal(record.state, 'failed');
    assert.equal(record.reason, 'attempts-exhausted');
    assert.deepEqual(await recordOf(store), record);
  });

  // F9, F11: claims of many callers at the same moment.
  test('of many claims at once one is granted, and the others are told of it', async ({ store }) => {
    const requests = Array.from({ length: 50 }, () => claimRequest());
    const results = await Promise.all(requests.map(async (request) => only(await store.claim([request]))));
    assert.equal(results.filter(({ kind }) => kind === 'claimed').length, 1);
    const winner = requests[results.findIndex(({ kind }) => kind === 'claimed')];
    for (const result of results) {
      if (result.kind === 'found') assert.equal(result.record.claimId, winner?.claimId);
    }
  });

  // F13: it looked before the first one finished, and acts afterwards.
  test('a duplicate that acts after the first has finished gets its answer', async ({ store }) => {
    const duplicate = claimRequest();
    const owner = await claimed(store);
    await foundBecause(store, 'in-progress', duplicate);
    await store.finish([finishRequest(owner, 'completed')]);
    assert.deepEqual((await foundBecause(store, 'final', duplicate)).record, await recordOf(store));
  });

  // F25, F35 and what databases are known to fold: case, accents, trailing spaces.
  test('keys and scopes that differ in a byte are different', async ({ store }) => {
    const ids = ['a', 'A', 'a ', ' a', 'á', 'a\u0301', 'ａ', 'a\t'].flatMap((text) => [
      { scope: text, key: 'k' },
      { scope: 's', key: text },
    ]);
    for (const id of ids) await claimed(store, id);
    const records = await store.find(ids);
    assert.deepEqual(
      records.map((record) => record && { scope: record.scope, key: record.key }),
      ids,
    );
  });

  // F10, F30: scope and key are two values, not one joined text.
  test('a scope and a key cannot be mistaken for another split of the same text', async ({ store }) => {
    await finished(store, 'completed', { scope: 'a:b', key: 'c' });
    await claimed(store, { scope: 'a', key: 'b:c' });
    await claimed(store, { scope: 'a:', key: 'b:c' });
    assert.equal((await recordOf(store, { scope: 'a:b', key: 'c' })).state, 'completed');
  });
}
