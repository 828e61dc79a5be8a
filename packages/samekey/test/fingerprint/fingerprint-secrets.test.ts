/** Secrets of an instance: for `run`, operations and routes, switched on and rotated while records of before live. */

import { createHash, createHmac, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { idempotent } from '../../src/adapters/fetch/index.ts';
import { createSamekey, type FingerprintSecrets, type Samekey, singleTenant } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import type { Store } from '../../src/store/store.ts';

const S1 = randomBytes(32);
const S2 = randomBytes(16);
const NONE = undefined;
const KNOWN: FingerprintSecrets = { current: null, keys: { s1: S1 } };
const FIRST: FingerprintSecrets = { current: 's1', keys: { s1: S1 } };
const SECOND: FingerprintSecrets = { current: 's2', keys: { s1: S1, s2: S2 } };
const FORGOTTEN: FingerprintSecrets = { current: 's2', keys: { s2: S2 } };

function instance(store: Store, fingerprintSecrets: FingerprintSecrets | undefined): Samekey {
  return createSamekey({ store, policy: 'standard', ...(fingerprintSecrets && { fingerprintSecrets }) });
}

/** What a request with a value meets, without HTTP and over it. */
const WAYS: Readonly<Record<string, (samekey: Samekey, value: number) => Promise<string>>> = {
  async run(samekey, value) {
    const request = { operation: 'pay', scope: singleTenant(), key: 'k', fingerprint: { value } };
    const outcome = await samekey.run(request, () => 'done');
    return outcome.kind === 'unavailable' ? outcome.because : outcome.kind;
  },
  async 'a route'(samekey, value) {
    const fingerprint = { omit: ['at'], formerly: [{ omit: ['time'] }] };
    const handler = idempotent(samekey, { scope: singleTenant(), operation: 'pay', fingerprint }, async () =>
      Response.json('done'),
    );
    const headers = { 'Idempotency-Key': '"k"', 'Content-Type': 'application/json' };
    const body = JSON.stringify({ value });
    const answer = await handler(new Request('http://x/pay', { method: 'POST', headers, body }));
    if (answer.status === 503) return 'other-label';
    if (answer.status === 422) return 'mismatch';
    return answer.headers.has('idempotency-replayed') ? 'replay' : 'executed';
  },
};

describe.each(Object.entries(WAYS))('%s', (_name, ask) => {
  it.each([
    ['switching on', NONE, FIRST],
    ['switching off again', KNOWN, KNOWN],
    ['meeting what a process has made that is a deploy ahead', FIRST, KNOWN],
    ['rotating', FIRST, SECOND],
  ])('%s: a retry replays, and another request is told apart', async (_what, before, after) => {
    const store = memoryStore();
    expect(await ask(instance(store, before), 1)).toBe('executed');
    expect(await ask(instance(store, after), 1)).toBe('replay');
    expect(await ask(instance(store, after), 2)).toBe('mismatch');
  });

  it.each([
    ['without its secret', FIRST, NONE],
    ['with another secret only', FIRST, FORGOTTEN],
  ])('%s a record is not compared: 503, whatever is sent, and nothing runs', async (_what, before, after) => {
    const store = memoryStore();
    expect(await ask(instance(store, before), 1)).toBe('executed');
    for (const value of [1, 2]) expect(await ask(instance(store, after), value)).toBe('other-label');
    expect(await ask(instance(store, SECOND), 1)).toBe('replay');
  });

  it('the record names the secret, and its digest cannot be made without', async () => {
    const digests = new Set<string>();
    for (const secrets of [KNOWN, FIRST, FORGOTTEN]) {
      const store = memoryStore();
      await ask(instance(store, secrets), 1);
      const [record] = await store.list({});
      const name = record?.fingerprint?.label.split('.').at(-1);
      expect(name === secrets.current).toBe(secrets.current !== null);
      digests.add(record?.fingerprint?.digest ?? '');
    }
    expect(digests.size).toBe(3);
  });
});

it('the digest of a value is HMAC-SHA-256 where there is a secret, SHA-256 where there is none', async () => {
  const text = Buffer.from(`\u0001{"value":1}`);
  for (const [secrets, digest] of [
    [NONE, createHash('sha256').update(text).digest('base64url')],
    [FIRST, createHmac('sha256', S1).update(text).digest('base64url')],
  ] as const) {
    const store = memoryStore();
    await WAYS['run']?.(instance(store, secrets), 1);
    expect((await store.list({}))[0]?.fingerprint?.digest).toBe(digest);
  }
});

it('a route with secrets of its own keeps to them', async () => {
  const store = memoryStore();
  const own = { current: 'own', keys: { own: S2 } };
  const handler = idempotent(
    instance(store, FIRST),
    { scope: singleTenant(), operation: 'pay', fingerprint: { secrets: own } },
    async () => Response.json('done'),
  );
  await handler(new Request('http://x/pay', { method: 'POST', headers: { 'Idempotency-Key': '"k"' } }));
  expect((await store.list({}))[0]?.fingerprint?.label).toMatch(/\.own$/);
});

it('operations are compared under the secret that their record names', async () => {
  const store = memoryStore();
  const define = (secrets: FingerprintSecrets) =>
    instance(store, secrets).plain({ name: 'pay', run: async ({ amount }: { amount: number }) => amount });
  const request = { scope: singleTenant(), key: 'k', input: { amount: 1 } };
  expect((await define(FIRST).run(request)).kind).toBe('executed');
  expect((await define(SECOND).run(request)).kind).toBe('replay');
  expect((await define(SECOND).run({ ...request, input: { amount: 2 } })).kind).toBe('mismatch');
});

it.each([
  ['a current secret that is not there', { current: 'x', keys: { s1: S1 } }],
  ['a short secret', { current: null, keys: { s1: randomBytes(15) } }],
  ['an odd name', { current: 'a.b', keys: { 'a.b': S1 } }],
  ['a name that is inherited', { current: 'constructor', keys: {} }],
])('refuses %s at once', (_what, secrets) => {
  expect(() => instance(memoryStore(), secrets)).toThrow(
    expect.objectContaining({ code: 'ERR_SAMEKEY_OPTIONS' }),
  );
});
