/** Rings: of your own, and one whose keys change. */

import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { createSamekey, type SamekeyEvent } from '../../src/index.ts';
import { keyRing, type SealRing, sealed, sealKeysInUse } from '../../src/seal/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import type { SqliteStore } from '../../src/stores/sqlite/index.ts';
import { claimRequest, finished, finishRequest } from '../../../testing/src/contract/context.ts';
import { message } from '../../../testing/src/outbox/bench.ts';
import { ASYNC_RING, KEYS, RING } from './rings.ts';
import { database, instance, request } from './setup.ts';

const OLD_RING = keyRing({ current: 'k1', keys: { k1: KEYS.k1 } });

describe('a ring of your own', () => {
  it('that cannot seal makes the answer leave unstored, and it is stored once it can', async () => {
    let isDown = true;
    const ring: SealRing = {
      seal: (bytes, about) => (isDown ? Promise.reject(new Error('KMS is down')) : RING.seal(bytes, about)),
      open: (keyId, bytes, about) => RING.open(keyId, bytes, about),
    };
    const events: SamekeyEvent[] = [];
    const waiting: (() => void)[] = [];
    const recovered = new Promise<void>((done) => void waiting.push(done));
    const samekey = createSamekey({
      store: sealed(memoryStore(), ring) as Store,
      policy: 'payments',
      saveTimeMaxMs: 20,
      onEvent(event) {
        events.push(event);
        if (event.type === 'save-recovered') for (const done of waiting) done();
      },
    });
    expect(await samekey.run(request('k'), () => 'paid')).toMatchObject({ kind: 'executed', stored: false });
    isDown = false;
    await recovered;
    expect(await samekey.run(request('k'), () => 'no')).toMatchObject({ kind: 'replay', value: 'paid' });
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'store-error', verb: 'finish', applied: 'no' }),
    );
    await samekey.close();
  });

  it('that cannot open now makes nothing run', async () => {
    const clear = memoryStore();
    await instance(sealed(clear, RING)).run(request('k'), () => 'paid');
    const ring: SealRing = { ...ASYNC_RING, open: () => Promise.reject(new Error('KMS is down')) };
    let runs = 0;
    const outcome = await instance(sealed(clear, ring)).run(request('k'), () => (runs += 1));
    expect(outcome).toMatchObject({ kind: 'unavailable', because: 'unreadable' });
    expect(runs).toBe(0);
  });

  it('may name its keys as a KMS does', async () => {
    const keyId = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd.v2';
    const ring: SealRing = {
      seal: async (bytes, about) => ({ ...(await RING.seal(bytes, about)), keyId }),
      open: async (id, bytes, about) => (id === keyId ? RING.open('k2', bytes, about) : null),
    };
    const clear = memoryStore();
    const store = sealed(clear, ring) as Store;
    await finished(store, 'completed', { input: Uint8Array.of(7) });
    await finished(store, 'completed', { key: 'no-body' });
    const [record] = await store.list({});
    expect(record?.sealKeyId).toBe(keyId);
    expect(record?.unreadable).toBeUndefined();
  });
});

describe('rotation', () => {
  it('seals with the current key, opens with the one a row names, and counts what names it', async () => {
    const { clear } = await database();
    await finished(clear, 'completed', { key: 'clear' });
    const before = sealed(clear, OLD_RING) as unknown as SqliteStore;
    await finished(before, 'completed', { key: 'old' });
    const owner = claimRequest({ key: 'both', input: Uint8Array.of(1) });
    await before.claim([owner]);
    const store = sealed(clear, RING) as unknown as SqliteStore;
    await store.finish([finishRequest({ ...owner, attempt: 1 }, 'completed')]);
    await store.messages.enqueue([message()]);
    await clear.messages.enqueue([message()]);
    const records = await store.list({});
    expect(Object.fromEntries(records.map(({ key, sealKeyId }) => [key, sealKeyId]))).toEqual({
      clear: null,
      old: 'k1',
      both: 'k2',
    });
    expect(records.map(({ response }) => response?.status)).toEqual([201, 201, 201]);
    for (const each of [store, clear]) {
      expect(await sealKeysInUse(each)).toEqual({
        records: new Map([
          [null, 1],
          ['k1', 2],
          ['k2', 1],
        ]),
        messages: new Map([
          ['k2', 1],
          [null, 1],
        ]),
        isComplete: true,
      });
    }
  });

  it('is switched on in two deploys: first whoever may meet a seal can open it', async () => {
    const clear = memoryStore();
    const first = sealed(clear, RING, { sealsNew: false });
    const second = sealed(clear, RING);
    const input = Uint8Array.of(1);
    for (const [key, store] of Object.entries({ first, second }))
      await finished(store, 'completed', { key, input });
    for (const store of [first, second]) {
      const records = await store.find(['first', 'second'].map((key) => claimRequest({ key })));
      expect(records.map((record) => [record?.response?.status, record?.sealKeyId])).toEqual([
        [201, null],
        [201, 'k2'],
      ]);
      expect(records.map((record) => record?.input)).toEqual([input, input]);
    }
  });

  it('counts across pages, and says so when it could not', async () => {
    let now = 1_000;
    const clear = memoryStore({ now: () => now });
    const store = sealed(clear, RING) as Store;
    async function fill(prefix: string): Promise<void> {
      const requests = Array.from({ length: 900 }, (_, i) =>
        claimRequest({ key: `${prefix}-${i}`, input: Uint8Array.of(1) }),
      );
      await store.claim(requests);
    }
    for (const prefix of ['a', 'b', 'c']) {
      await fill(prefix);
      now += 1;
    }
    expect(await sealKeysInUse(store)).toMatchObject({ records: new Map([['k2', 2_700]]), isComplete: true });
    await fill('d');
    await fill('e');
    expect(await sealKeysInUse(store)).toMatchObject({ isComplete: false });
  });
});
