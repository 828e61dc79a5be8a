/** The simulator is worth what it finds: each bug that is planted must be found within so many histories. */

import { describe, expect, it } from 'vitest';
import { isStoreError, StoreError } from '../../src/core/errors.ts';
import { decideClaim, decideFinish, decideSweep } from '../../src/core/machine.ts';
import type { Store } from '../../src/core/store.ts';
import { simulate } from '../../src/testing/index.ts';
import { type Bug, plantedStore } from './planted-store.ts';

const HISTORIES_MAX = 400;

const BUGS: Readonly<Record<string, Bug>> = {
  'a finish without its fence': {
    finish: (record, request, view) =>
      decideFinish(
        record,
        record === null ? request : { ...request, claimId: record.claimId, attempt: record.attempt },
        view,
      ),
  },
  'a completion accepted after the fence moved': {
    finish: (record, request, view) =>
      record !== null && record.attempt > request.attempt
        ? decideFinish(record, { ...request, claimId: record.claimId, attempt: record.attempt }, view)
        : decideFinish(record, request, view),
  },
  'a claim that reads and then writes': { readThenWriteMs: 3 },
  'a fingerprint compared only once the first request has ended': {
    claim: (record, request, view) =>
      decideClaim(record?.state === 'in_progress' ? { ...record, fingerprint: null } : record, request, view),
  },
  'a plain attempt run again because its claim ended': {
    claim: (record, request, view) =>
      decideClaim(record === null ? null : { ...record, whenClaimEnds: 'resume' }, request, view),
  },
  'a sweeper that does not see renewals': {
    sweep: (record, view) =>
      decideSweep(record, { ...view, claimOver: view.now > record.createdAt + record.claimTtlMs }),
  },
  'a claimId that is good twice': {
    claim: (record, request, view) =>
      decideClaim(
        record !== null && record.claimId === request.claimId && record.state !== 'in_progress'
          ? { ...record, claimId: 'another', state: 'retryable' }
          : record,
        request,
        view,
      ),
  },
  'a key looked up without its scope': { idOf: ({ key }) => key },
};

async function asFailure<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw isStoreError(error) ? new StoreError(error.message, { applied: 'no' }) : error;
  }
}

/** Takes every lost reply for "it did not happen". */
function forgetful(connection: Store): Store {
  return { ...connection, claim: (requests) => asFailure(connection.claim(requests)) };
}

async function historiesUntilFound(
  options: Omit<Parameters<typeof simulate>[0], 'seed'>,
): Promise<number | null> {
  for (let seed = 1; seed <= HISTORIES_MAX; seed += 1) {
    if ((await simulate({ ...options, seed })).violations.length > 0) return seed;
  }
  return null;
}

describe('planted bugs', () => {
  for (const [name, bug] of Object.entries(BUGS)) {
    it(`finds ${name}`, async () => {
      expect(await historiesUntilFound({ store: plantedStore(bug) })).not.toBeNull();
    });
  }

  it('finds a lost reply taken for a failure', async () => {
    expect(await historiesUntilFound({ client: forgetful })).not.toBeNull();
  });

  it('finds nothing in a store without a bug', async () => {
    expect(await historiesUntilFound({ store: plantedStore({}) })).toBeNull();
  });
});
