/** What a sealed store keeps from whoever reads the database, and what it does when it cannot open what stands there. */

import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type NewMessage, type StoreWithMessages } from '../../src/store/message.ts';
import { type HotStore, type LifecycleStore, type OperatorStore, type Store } from '../../src/store/store.ts';
import { createSamekey, reply, type SamekeyEvent } from '../../src/index.ts';
import { createOutbox } from '../../src/outbox/index.ts';
import { internalsOf } from '../../src/samekey.ts';
import { keyRing, type SealRing, sealed, type UnreadableFound } from '../../src/seal/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import type { SqliteStore } from '../../src/stores/sqlite/index.ts';
import { claimRequest, FINGERPRINT, finished, finishRequest } from '../../../testing/src/contract/context.ts';
import { message, take as takeMessages } from '../../../testing/src/outbox/bench.ts';
import { fromSqlite } from '../../src/tx/sqlite/index.ts';
import { pushDue } from '../../src/ways/completer.ts';
import { KEYS, RING } from './rings.ts';
import { accept, database, instance, request, SCOPE } from './setup.ts';

const OLD_RING = keyRing({ current: 'k1', keys: { k1: KEYS.k1 } });
const NEW_ONLY = keyRing({ current: 'k2', keys: { k2: KEYS.k2 } });
const MARK = 'the-customers-secret';
describe('what stands in the database', () => {
  it('says nothing of answers, headers, inputs, steps and messages; the same without a seal says all', async () => {
    for (const isSealed of [false, true]) {
      const { clear, bytes } = await database();
      const store = isSealed ? sealed(clear, RING) : clear;
      const samekey = createSamekey({
        store,
        policy: 'standard',
        transactions: fromSqlite(store as SqliteStore),
      });
      const outbox = createOutbox({ store });
      await samekey.run(request('k'), () =>
        reply(200, { body: `body-${MARK}` }, [['X-Of', `header-${MARK}`]]),
      );
      const pay = samekey.deferred(
        samekey.phased({
          name: 'phased',
          run: async (_input: unknown, attempt) => {
            await attempt.phase('one', async (tx) => {
              await outbox.enqueue(tx, {
                topic: 'mail',
                payload: `payload-${MARK}`,
                headers: { trace: `line-${MARK}` },
              });
              return `step-${MARK}`;
            });
            return reply(200, `late-${MARK}`);
          },
        }),
      );
      await pay.run({ scope: SCOPE, key: 'p', input: `input-${MARK}` });
      const pushed = await pushDue({ ...internalsOf(samekey), store }, 10);
      expect(pushed.map(({ outcome }) => outcome.kind)).toEqual(['executed']);
      const parts = ['body', 'header', 'payload', 'line', 'step', 'late', 'input'];
      const found = parts.filter((part) => bytes().includes(`${part}-${MARK}`));
      expect(found, isSealed ? 'sealed' : 'clear').toEqual(isSealed ? [] : parts);
      // And it is all there for whoever has the key.
      expect(await samekey.run(request('k'), () => 'again')).toMatchObject({
        kind: 'replay',
        value: { body: `body-${MARK}` },
      });
    }
  });

  it('is other bytes each time the same is sealed', async () => {
    const clear = memoryStore();
    const store = sealed(clear, RING);
    for (const key of ['a', 'b']) await finished(store, 'completed', { key });
    const [first, second] = await clear.list({});
    expect(Buffer.from(first?.response?.body ?? [])).not.toEqual(Buffer.from(second?.response?.body ?? []));
    expect(first?.response?.body?.length).toBe(second?.response?.body?.length);
  });
});

describe('a seal that does not open', () => {
  it('an answer that was moved to another key is not given, nothing runs, and it is told', async () => {
    const { db, clear } = await database();
    const events: SamekeyEvent[] = [];
    const found: UnreadableFound[] = [];
    const onUnreadable = (each: UnreadableFound) => void found.push(each);
    const samekey = instance(sealed(clear, RING, { onUnreadable }), (event) => events.push(event));
    for (const key of ['mine', 'yours']) await samekey.run(request(key), () => `for ${key}`);
    db.exec(`CREATE TABLE other AS SELECT * FROM samekey_records;
      UPDATE samekey_records SET response_body = (SELECT response_body FROM other WHERE other.key <> samekey_records.key),
        response_headers = (SELECT response_headers FROM other WHERE other.key <> samekey_records.key)`);
    let runs = 0;
    const outcome = await samekey.run(request('mine'), () => (runs += 1));
    expect(outcome).toMatchObject({ kind: 'unavailable', because: 'unreadable' });
    expect(runs).toBe(0);
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'record-unreadable',
        cause: 'broken-seal',
        part: 'response',
        keyId: 'k2',
      }),
    );
    expect(found).toContainEqual(
      expect.objectContaining({ id: { scope: expect.any(String), key: 'mine' }, operation: 'pay' }),
    );
  });

  it('a bit that was turned, a status that was changed and a body that was replaced are noticed', async () => {
    const clear = memoryStore();
    const store = sealed(clear, RING);
    const owner = await finished(store, 'completed');
    const [row] = await clear.find([owner]);
    const response = row?.response as NonNullable<NonNullable<typeof row>['response']>;
    const turned = new Uint8Array(response.body ?? []);
    turned[turned.length - 1] = (turned.at(-1) ?? 0) ^ 1;
    for (const tampered of [
      { ...response, body: turned },
      { ...response, status: 402 },
      { ...response, body: null },
      { ...response, body: new TextEncoder().encode('{"id":2}') },
      { ...response, body: turned.subarray(0, 14) },
    ]) {
      const behind = { ...clear, find: async () => [{ ...row, response: tampered }] } as unknown as Store;
      const [seen] = await sealed(behind, RING).find([owner]);
      expect(seen?.response).toBeNull();
      expect(seen?.unreadable?.cause).toBe('broken-seal');
    }
  });

  it('a missing key answers as a store that cannot, until the key is back', async () => {
    const { clear } = await database();
    const before = instance(sealed(clear, OLD_RING));
    await before.run(request('k'), () => 'paid');
    const events: SamekeyEvent[] = [];
    const without = instance(sealed(clear, NEW_ONLY), (event) => events.push(event));
    let runs = 0;
    for (let i = 0; i < 3; i += 1) {
      const outcome = await without.run(request('k'), () => (runs += 1));
      expect(outcome).toMatchObject({ kind: 'unavailable', because: 'unreadable', retryAfterMs: 5_000 });
    }
    expect(runs).toBe(0);
    expect(events.filter(({ type }) => type === 'record-unreadable')).toHaveLength(3);
    // Another request under the key is still another request.
    expect((await without.run({ ...request('k'), fingerprint: 'other' }, () => 'no')).kind).toBe('mismatch');
    const [record] = await sealed(clear, NEW_ONLY).list({});
    // Whoever asks the store itself for its key is not told "final" either.
    const asked = await sealed(clear, NEW_ONLY).claim([
      claimRequest({
        scope: record?.scope ?? '',
        key: 'k',
        fingerprint: record?.fingerprint ?? FINGERPRINT,
      }),
    ]);
    expect(asked).toMatchObject([{ kind: 'found', because: 'unreadable' }]);
    expect(record).toMatchObject({
      state: 'completed',
      response: null,
      unreadable: { keyId: 'k1', cause: 'missing-key' },
    });
    expect(await instance(sealed(clear, RING)).run(request('k'), () => 'no')).toMatchObject({
      kind: 'replay',
      value: 'paid',
    });
  });

  it('an attempt whose earlier steps cannot be read is given back, and no further one is begun in vain', async () => {
    const { clear } = await database();
    let steps = 0;
    let fails = true;
    function operation(ring: SealRing) {
      const store = sealed(clear, ring);
      const samekey = createSamekey({ store, transactions: fromSqlite(store) });
      return samekey.phased({
        name: 'pay',
        run: async (_input: null, attempt) => {
          await attempt.phase('book', () => Promise.resolve((steps += 1)));
          if (fails) throw new Error('stopped here');
          return reply(200, 'done');
        },
      });
    }
    const ask = { scope: SCOPE, key: 'k', input: null };
    await expect(operation(OLD_RING).run(ask)).rejects.toThrow('stopped here');
    fails = false;
    const without = operation(NEW_ONLY);
    for (let i = 0; i < 20; i += 1) {
      expect(await without.run(ask)).toMatchObject({ kind: 'unavailable', because: 'unreadable' });
    }
    const [record] = await clear.list({});
    expect(record).toMatchObject({ state: 'retryable', attempt: 2, proof: 'declared', reason: 'unreadable' });
    expect(await operation(RING).run(ask)).toMatchObject({ kind: 'executed', value: 'done', attempt: 3 });
    expect(steps).toBe(1);
  });

  it('an unclear COMMIT whose record cannot be read now is not taken for one that was rolled back', async () => {
    const { clear, db } = await database();
    db.exec('CREATE TABLE orders (id TEXT)');
    let isDown = false;
    const ring: SealRing = {
      seal: (bytes, about) => RING.seal(bytes, about),
      open(keyId, bytes, about) {
        if (isDown) throw new Error('KMS is down');
        return RING.open(keyId, bytes, about);
      },
    };
    const store = sealed(clear, ring);
    const samekey = createSamekey({
      store,
      // A library that does not look at the answer to COMMIT: the record is read to know.
      transactions: { ...fromSqlite(store), tellsCommit: false },
    });
    let runs = 0;
    const order = samekey.transactional({
      name: 'order',
      claimTtlMs: 1_000,
      run: async (_input: null, attempt) => {
        runs += 1;
        attempt.tx.exec("INSERT INTO orders VALUES ('o')");
        isDown = true;
        return reply(201, 'ordered');
      },
    });
    const ask = { scope: SCOPE, key: 'k', input: null };
    expect((await order.run(ask)).kind).toBe('unknown');
    expect(await order.run(ask)).toMatchObject({ kind: 'unavailable', because: 'unreadable' });
    isDown = false;
    expect(await order.run(ask)).toMatchObject({ kind: 'replay', value: 'ordered' });
    expect(runs).toBe(1);
  });

  it('work for workers is left where it is, and does not keep out what can be read', async () => {
    const clear = memoryStore();
    await sealed(clear, OLD_RING).claim(['a', 'b', 'c'].map(accept));
    const without = sealed(clear, NEW_ONLY);
    await without.claim([accept('d')]);
    const due = { operations: ['POST /payments'], limit: 2 };
    const page = await without.due(due);
    expect(page.map(({ unreadable }) => unreadable?.part)).toEqual(['input', 'input']);
    const next = await without.due({ ...due, after: page[1] ?? null });
    expect(next.map(({ key, unreadable }) => [key, unreadable?.part])).toEqual([
      ['c', 'input'],
      ['d', undefined],
    ]);
    expect(await sealed(clear, RING).due({ ...due, limit: 9 })).toHaveLength(4);
  });

  it('an unknown outcome that cannot be read is taken as such, and is due again after its lease', async () => {
    let now = 0;
    const clear = memoryStore({ now: () => now });
    const owner = { ...claimRequest({ input: Uint8Array.of(1) }), attempt: 1 };
    await sealed(clear, OLD_RING).claim([owner]);
    await clear.finish([finishRequest(owner, 'unknown', { reconcileAfterMs: 0 })]);
    const take = { operations: null, leaseMs: 1_000, limit: 10 };
    expect(await sealed(clear, NEW_ONLY).takeUnknown(take)).toMatchObject([
      { input: null, unreadable: { part: 'input', cause: 'missing-key' } },
    ]);
    expect(await sealed(clear, RING).takeUnknown(take)).toEqual([]);
    now += 1_000;
    expect(await sealed(clear, RING).takeUnknown(take)).toMatchObject([{ input: Uint8Array.of(1) }]);
  });

  it('a message that cannot be read is not delivered and not counted, and comes when the key is back', async () => {
    const { clear } = await database();
    const { messages } = sealed(clear, OLD_RING) as unknown as StoreWithMessages;
    const news: NewMessage = message({ headers: '{"a":"b"}' });
    await messages.enqueue([news]);
    const found: UnreadableFound[] = [];
    const without = sealed(clear, NEW_ONLY, { onUnreadable: (each) => found.push(each) });
    expect(await takeMessages(without.messages)).toEqual([]);
    expect(found).toMatchObject([
      { id: null, messageId: news.id, operation: 'mail', part: 'payload', keyId: 'k1' },
    ]);
    const [row] = await without.messages.list({});
    expect(row).toMatchObject({
      state: 'ready',
      started: 0,
      payload: 'null',
      unreadable: { cause: 'missing-key' },
    });
    expect(row?.dueAt).toBeGreaterThan(row?.createdAt ?? 0);
    const [listed] = await sealed(clear, RING).messages.list({});
    expect(listed).toMatchObject({ payload: news.payload, headers: news.headers });
  });
});

describe('the seam', () => {
  /** All verbs: one that is missing here does not compile. */
  const VERBS: Readonly<
    Record<keyof HotStore | keyof LifecycleStore | keyof OperatorStore, 'sealed' | 'carries none'>
  > = {
    claim: 'sealed',
    renew: 'sealed',
    finish: 'sealed',
    checkpoint: 'sealed',
    find: 'sealed',
    sweep: 'carries none',
    due: 'sealed',
    takeUnknown: 'sealed',
    postpone: 'sealed',
    reap: 'carries none',
    settle: 'sealed',
    reopen: 'sealed',
    forget: 'sealed',
    erase: 'carries none',
    list: 'sealed',
    count: 'carries none',
    audit: 'carries none',
    note: 'carries none',
    pruneAudit: 'carries none',
  };

  it('all else is that of the store behind it: hints, refusals, capabilities but for the size', async () => {
    const { clear } = await database();
    const hints = { watch: () => () => undefined, changed: () => undefined };
    const store = sealed({ ...clear, hints }, RING);
    expect(store.hints).toBe(hints);
    expect(store.name).toBe('sqlite');
    expect(Object.keys(store)).toEqual(expect.arrayContaining(Object.keys(clear)));
    const { recordSizeMaxBytes } = clear.capabilities;
    expect(store.capabilities).toEqual({
      ...clear.capabilities,
      recordSizeMaxBytes: (recordSizeMaxBytes ?? 0) - 1_024,
    });
    await clear.transaction(async () => {
      expect(() => store.refuseCaller?.()).toThrow(expect.objectContaining({ code: 'ERR_SAMEKEY_STORE' }));
    });
  });

  it('each verb that carries something sealed is put around, and no other', () => {
    const clear = memoryStore();
    const store = sealed(clear, RING);
    for (const [verb, how] of Object.entries(VERBS) as [keyof typeof VERBS, string][]) {
      expect(store[verb] === clear[verb] ? 'carries none' : 'sealed', verb).toBe(how);
    }
  });
});

describe('options', () => {
  it.each([
    ['a short key', () => keyRing({ current: 'a', keys: { a: randomBytes(31) } }), '31 bytes'],
    [
      'a key that is text',
      () => keyRing({ current: 'a', keys: { a: 'x'.repeat(32) as never } }),
      'of type string',
    ],
    ['a current key that is missing', () => keyRing({ current: 'b', keys: { a: randomBytes(32) } }), '"b"'],
    ['an odd id', () => keyRing({ current: 'a.b', keys: { 'a.b': randomBytes(32) } }), '1–40 letters'],
    ['no store', () => sealed({} as Store, RING), 'needs a store'],
    ['no ring', () => sealed(memoryStore(), {} as SealRing), 'needs a ring'],
    ['two seals', () => sealed(sealed(memoryStore(), RING) as Store, RING), 'sealed already'],
    ['an unknown option', () => sealed(memoryStore(), RING, { onunreadable: 1 } as never), 'onunreadable'],
  ])('refuses %s', (_what, make, words) => {
    expect(make).toThrow(
      expect.objectContaining({ code: 'ERR_SAMEKEY_OPTIONS', message: expect.stringContaining(words) }),
    );
  });
});
