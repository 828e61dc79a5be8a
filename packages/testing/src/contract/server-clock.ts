/**
 * A server whose clock is set while processes use it (F117): ahead for a moment, ahead for good, and back. Nothing that is kept may go, nothing
 * that is held may stand for as long as the clock was off, and no living claim may be taken when the clock is believed at last.
 */

import assert from 'node:assert/strict';
import type { MessageStore, NewMessage } from 'samekey/internals/store/message';
import type { Store } from 'samekey/internals/store/store';
import {
  type AddTest,
  CLAIM_TTL_MS,
  claimed,
  claimRequest,
  finished,
  finishRequest,
  foundBecause,
  ID,
  only,
  recordOf,
  renewRequest,
  type StoreUnderTest,
} from './context.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const AHEAD_MS = 25 * HOUR_MS;
const LIFE = { retentionMs: DAY_MS, replayMinMs: DAY_MS };
const RESUMES = { ...LIFE, whenClaimEnds: 'resume' } as const;
const BYTES = new Uint8Array([1]);
const EVERY = { limit: 10, leaseMs: MINUTE_MS, operations: null };

export function serverClockTests(test: AddTest): void {
  test('a store of a server says whether its clock can be set under it', async (t) => {
    const { serverClock, shared } = t.store.capabilities;
    const isHeldBack = serverClock && shared && t.store.onClockOff !== undefined;
    assert.equal(
      t.step !== undefined,
      isHeldBack,
      'step() goes with a server’s clock that is not believed at once',
    );
  });

  // F117
  test('a clock that is 25 hours ahead for a moment ends and forgets nothing, whatever is asked in it', async (t) => {
    if (t.step === undefined) return;
    const states = ['completed', 'failed', 'retryable'] as const;
    for (const to of states) await finished(t.store, to, { ...LIFE, key: to });
    const owner = await claimed(t.store, { ...RESUMES, key: 'running' });
    await t.store.claim([
      claimRequest({ ...LIFE, key: 'accepted', entry: 'accept', input: BYTES, pendingTimeMaxMs: HOUR_MS }),
    ]);
    await finished(t.store, 'unknown', { ...LIFE, key: 'unknown' });
    const row = { ...ID, operation: null, attempt: 1, act: 'contradiction', from: null, to: null } as const;
    await t.store.note([{ ...row, reason: null, actor: null }]);
    const keys = [...states, 'running', 'accepted', 'unknown'];
    const before = await t.store.find(keys.map((key) => ({ ...ID, key })));

    await t.step(AHEAD_MS);
    for (const key of ['completed', 'failed']) await foundBecause(t.store, 'final', { ...LIFE, key });
    await foundBecause(t.store, 'in-progress', { ...RESUMES, key: 'running' });
    await foundBecause(t.store, 'pending', { ...LIFE, key: 'accepted', entry: 'accept', input: BYTES });
    assert.deepEqual(await t.store.sweep(10, { unknownMaxMs: HOUR_MS }), []);
    assert.equal((await t.store.reap(10)).count, 0);
    assert.deepEqual(await t.store.takeUnknown(EVERY), []);
    assert.equal(await t.store.pruneAudit({ olderThanMs: HOUR_MS, acts: ['contradiction'], limit: 10 }), 0);
    await t.step(-AHEAD_MS);

    assert.equal((await t.store.reap(10)).count, 0);
    assert.deepEqual(await t.store.find(keys.map((key) => ({ ...ID, key }))), before);
    assert.equal(only(await t.store.finish([finishRequest(owner, 'completed')])).kind, 'applied');
  });

  // F117: a claim made in the wrong second by a process that dies must not stand for 25 hours.
  test('what is written while the clock is ahead is over when it should be, and lives no shorter', async (t) => {
    if (t.step === undefined) return;
    const renewed = await claimed(t.store, { ...RESUMES, key: 'renewed' });
    const begun = await claimed(t.store, { ...LIFE, key: 'begun before' });
    await t.step(AHEAD_MS);
    await claimed(t.store, { ...RESUMES, key: 'made' });
    await t.store.renew([renewRequest(renewed)]);
    await t.store.claim([
      claimRequest({ ...LIFE, key: 'accepted', entry: 'accept', input: BYTES, pendingTimeMaxMs: MINUTE_MS }),
    ]);
    const unknown = await claimed(t.store, { ...LIFE, key: 'unknown' });
    await t.store.finish([finishRequest(unknown, 'unknown', { reconcileAfterMs: MINUTE_MS })]);
    await finished(t.store, 'completed', { ...LIFE, replayMinMs: 0, key: 'begun in it' });
    await t.store.finish([finishRequest(begun, 'completed')]);
    await t.step(-AHEAD_MS);

    for (const key of ['made', 'renewed']) await foundBecause(t.store, 'in-progress', { ...RESUMES, key });
    await t.advance(CLAIM_TTL_MS);
    for (const key of ['made', 'renewed'])
      assert.equal((await claimed(t.store, { ...RESUMES, key })).attempt, 2);
    assert.deepEqual(await t.store.takeUnknown(EVERY), []);
    await t.advance(MINUTE_MS - CLAIM_TTL_MS);
    assert.deepEqual(
      (await t.store.takeUnknown(EVERY)).map(({ key }) => key),
      ['unknown'],
    );
    const swept = (await t.store.sweep(10)).map(({ key, to }) => `${key} ${to}`);
    assert.ok(swept.includes('accepted failed'), swept.join(', '));
    for (const key of ['begun before', 'begun in it']) {
      const { createdAt, expiresAt } = await recordOf(t.store, { ...ID, key });
      assert.ok(expiresAt - createdAt >= DAY_MS + AHEAD_MS, 'its life is counted from the later clock');
    }
  });

  // F117
  test('messages are neither taken early nor held back by a clock that is ahead for a moment', async (t) => {
    if (t.step === undefined || !('messages' in t.store)) return;
    const { messages } = t.store as Store & { readonly messages: MessageStore };
    let leases = 0;
    const take = async (): Promise<readonly string[]> => {
      leases += 1;
      const asked = { topics: ['mail'], limit: 10, leaseMs: MINUTE_MS, suspectsMax: 10, deliveriesMax: 9 };
      const { taken } = await messages.take({ ...asked, leaseId: `lease-${leases}` });
      return taken.map(({ id }) => id).toSorted();
    };
    await messages.enqueue([message('leased', 0)]);
    assert.deepEqual(await take(), ['leased']);
    await messages.enqueue([message('later', HOUR_MS)]);
    await t.step(AHEAD_MS);
    await messages.enqueue([message('now', 0), message('soon', 2 * MINUTE_MS)]);
    assert.deepEqual(await take(), ['now']);
    await t.step(-AHEAD_MS);
    assert.deepEqual(await take(), []);
    // Both leases are over, the one that was taken in the wrong moment too.
    await t.advance(MINUTE_MS);
    assert.deepEqual(await take(), ['leased', 'now']);
    await t.advance(MINUTE_MS);
    assert.deepEqual((await take()).includes('soon'), true);
  });

  // F117
  test('a clock that is ahead is believed once it has kept pace for ten minutes, and takes no living claim then', async (t) => {
    if (t.step === undefined) return;
    const other = await another(t);
    await finished(t.store, 'completed', { ...LIFE, key: 'old' });
    await t.step(AHEAD_MS);
    await t.store.sweep(10);
    for (let minutes = 0; minutes < 9; minutes += 1) {
      await t.advance(MINUTE_MS);
      await t.store.sweep(10);
      await foundBecause(t.store, 'final', { ...LIFE, key: 'old' });
    }
    await t.advance(MINUTE_MS - 1);
    assert.equal((await t.store.reap(10)).count, 0);
    // The other process learns of it later: until then it writes by the time before.
    const living = await claimed(other, { ...RESUMES, key: 'living' });
    await t.advance(1);
    assert.equal((await t.store.reap(10)).count, 1);
    await foundBecause(t.store, 'in-progress', { ...RESUMES, key: 'living' });
    assert.deepEqual(await t.store.sweep(10), []);
    await other.sweep(10);
    await other.renew([renewRequest(living)]);
    await foundBecause(t.store, 'in-progress', { ...RESUMES, key: 'living' });
    const { createdAt, lockedUntil } = await recordOf(t.store, living);
    assert.ok(lockedUntil - createdAt > DAY_MS, 'its renewal goes by the clock');
    // Ten minutes later nobody writes by the time before any more.
    await t.advance(10 * MINUTE_MS + CLAIM_TTL_MS);
    assert.equal((await claimed(t.store, { ...RESUMES, key: 'living' })).attempt, 2);
  });

  // F117
  test('a clock that is set back holds nothing: claims, deadlines and delays end by what processes have measured', async (t) => {
    if (t.step === undefined) return;
    await claimed(t.store, { ...RESUMES, key: 'before' });
    await t.step(-AHEAD_MS);
    await claimed(t.store, { ...RESUMES, key: 'after' });
    await finished(t.store, 'completed', { ...LIFE, key: 'done' });
    await t.advance(CLAIM_TTL_MS);
    for (const key of ['before', 'after'])
      assert.equal((await claimed(t.store, { ...RESUMES, key })).attempt, 2);
    const newcomer = await another(t);
    await foundBecause(newcomer, 'final', { ...LIFE, key: 'done' });
    await t.advance(DAY_MS);
    assert.equal((await newcomer.reap(10)).count, 1);
  });

  // F117
  test('a server’s clock that is far off is told when somebody looks, and once', async (t) => {
    if (t.step === undefined) return;
    const told: number[] = [];
    const end = t.store.onClockOff?.((offMs) => told.push(Math.round(offMs / HOUR_MS)));
    await t.store.sweep(10);
    assert.deepEqual(told, []);
    for (let looks = 0; looks < 3; looks += 1) {
      if (looks === 0) await t.step(AHEAD_MS);
      await t.store.sweep(10);
    }
    assert.deepEqual(told, [25]);
    await t.step(-2 * AHEAD_MS);
    await t.store.sweep(10);
    assert.deepEqual(told, [25, -25]);
    end?.();
  });
}

function message(id: string, delayMs: number): NewMessage {
  return { id, topic: 'mail', group: null, payload: '{}', headers: null, delayMs, owner: null };
}

async function another(t: StoreUnderTest): Promise<Store> {
  return t.another === undefined ? assert.fail('a server’s store is shared') : t.another({ wallOffsetMs: 0 });
}
