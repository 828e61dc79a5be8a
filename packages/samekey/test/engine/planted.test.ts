/** The engine contract is worth what it finds: it fails on every store with one of these bugs in it, and on none without. */

import { describe, expect, it } from 'vitest';
import { decideClaim, decideFinish, decideRenew } from '../../src/store/machine/index.ts';
import type { SamekeyRecord } from '../../src/core/record.ts';
import type { Store } from '../../src/store/store.ts';
import { engineContract } from '../../../testing/src/engine-contract.ts';
import { type Bug, plantedStore } from '../simulator/planted-store.ts';

/** What the store does wrong, in its decisions. */
const BUGS: Readonly<Record<string, Bug>> = {
  'a finish without its fence': {
    finish: (record, request, view) =>
      decideFinish(
        record,
        record === null ? request : { ...request, claimId: record.claimId, attempt: record.attempt },
        view,
      ),
  },
  'a claim that ends while it lives': {
    claim: (record, request, view) =>
      decideClaim(record, request, { ...view, claimOver: true, claimLeftMs: 0 }),
  },
  'a claim that never ends': {
    claim: (record, request, view) =>
      decideClaim(record, request, { ...view, claimOver: false, claimLeftMs: 5_000 }),
  },
  'an unknown outcome that runs again': {
    claim: (record, request, view) =>
      decideClaim(record?.state === 'unknown' ? { ...record, state: 'retryable' } : record, request, view),
  },
  'a body that is not compared': {
    claim: (record, request, view) =>
      decideClaim(record, { ...request, fingerprint: record?.fingerprint ?? request.fingerprint }, view),
  },
  'a key that lives for ever': {
    claim: (record, request, view) => decideClaim(record, request, { ...view, now: 0 }),
  },
  'a key that is found whatever its letter case': {
    idOf: ({ scope, key }) => `${scope} ${key.toLowerCase()}`,
  },
  'a key that is found whatever its tenant': { idOf: ({ key }) => key },
  'a renewal that is refused': {
    renew: (record, request, view) => decideRenew(record, { ...request, claimId: 'nobody' }, view),
  },
  'attempts that are not counted': {
    claim: (record, request, view) => decideClaim(record, { ...request, attemptMax: 1_000 }, view),
  },
  'a late settlement that expires at once': {
    claim: (record, request, view) =>
      decideClaim(
        record?.proof === 'settled' ? { ...record, expiresAt: record.createdAt } : record,
        request,
        view,
      ),
  },
};

/** What the store does wrong with the answers it keeps. */
const ANSWERS: Readonly<Record<string, (record: SamekeyRecord) => Partial<SamekeyRecord>>> = {
  'headers as a map': ({ response }) => ({
    response: response && { ...response, headers: Object.entries(Object.fromEntries(response.headers)) },
  }),
  'bodies as text': ({ response }) => ({
    response: response && {
      ...response,
      body: response.body && new TextEncoder().encode(new TextDecoder().decode(response.body)),
    },
  }),
  'bodies cut at 1 MiB': ({ response }) => ({
    response: response && { ...response, body: response.body?.slice(0, 1 << 20) ?? null },
  }),
  'trailers lost': ({ response }) => ({
    response: response && { status: response.status, headers: response.headers, body: response.body },
  }),
};

function keepsWrongly(store: Store, change: (record: SamekeyRecord) => Partial<SamekeyRecord>): Store {
  return {
    ...store,
    claim: async (requests) =>
      (await store.claim(requests)).map((result) =>
        result.kind === 'found'
          ? { ...result, record: { ...result.record, ...change(result.record) } }
          : result,
      ),
  };
}

/** The titles of the contract's tests that fail on a store. */
async function failing(make: (now: () => number) => Store): Promise<string[]> {
  const tests: { readonly title: string; readonly body: () => Promise<void> }[] = [];
  engineContract(
    { describe: (_title, body) => body(), it: (title, body) => void tests.push({ title, body }) },
    {
      name: 'planted',
      async create() {
        let now = Date.UTC(2030, 0);
        return {
          store: make(() => now),
          advance: (ms) => {
            now += ms;
          },
          close: async () => undefined,
        };
      },
    },
  );
  const failed: string[] = [];
  for (const { title, body } of tests) await body().catch(() => failed.push(title));
  return failed;
}

function planted(bug: Bug): (now: () => number) => Store {
  return (now) =>
    plantedStore(bug)({
      now,
      monotonicNow: () => 0,
      setTimer: () => ({ cancel: () => undefined }),
    });
}

describe('planted bugs', () => {
  it.each(Object.entries(BUGS))('the engine contract fails on %s', async (_name, bug) => {
    expect(await failing(planted(bug))).not.toEqual([]);
  });

  it.each(Object.entries(ANSWERS))('the engine contract fails on %s', async (_name, change) => {
    expect(await failing((now) => keepsWrongly(planted({})(now), change))).not.toEqual([]);
  });

  it('the engine contract holds for the store without a bug', async () => {
    expect(await failing(planted({}))).toEqual([]);
  });
});
