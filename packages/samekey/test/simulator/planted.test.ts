/** The simulator is worth what it finds: each bug that is planted must be found within so many histories. */

import { afterAll, describe, expect, it } from 'vitest';
import { isStoreError, StoreError } from '../../src/core/errors.ts';
import {
  CLAIM_ENDED,
  decideClaim,
  decideErase,
  decideFinish,
  decideRenew,
  decideSweep,
} from '../../src/store/machine/index.ts';
import type { Fence, SamekeyRecord } from '../../src/core/record.ts';
import type { Store } from '../../src/store/store.ts';
import { simulate, type SimulateOptions, type Violation } from '../../../testing/src/index.ts';
import { type Bug, plantedStore } from './planted-store.ts';

/** Every bug is found within so many histories; most within thirty. */
const HISTORIES_MAX = 500;
const OUTSIDE_MAX = 3_000;
/** The search is bounded by histories. Its time is the machine's: some take seconds when it has nothing else to do, and a minute when it has. */
const SEARCH_TIME_MAX_MS = 600_000;

/** The request under the fence of whatever stands there. */
function fenced<Request extends Fence>(record: SamekeyRecord, request: Request): Request {
  return { ...request, claimId: record.claimId, attempt: record.attempt };
}

const BUGS: Readonly<Record<string, Bug>> = {
  'a finish without its fence': {
    finish: (record, request, view) =>
      decideFinish(record, record === null ? request : fenced(record, request), view),
  },
  'a completion accepted after the fence moved': {
    finish: (record, request, view) =>
      record !== null && record.attempt > request.attempt
        ? decideFinish(record, fenced(record, request), view)
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
  'an erased record that keeps its fence': {
    erase(record, request, view) {
      const { write, result } = decideErase(record, request, view);
      return { write: write && { ...write, claimId: record.claimId }, result };
    },
  },
  'an erased key that expires': {
    erase(record, request, view) {
      const { write, result } = decideErase(record, request, view);
      return { write: write && { ...write, expiresAt: record.expiresAt }, result };
    },
  },
  'a key looked up without its scope': { idOf: ({ key }) => key },
  'attempt numbers compared without claimIds': {
    finish: (record, request, view) =>
      decideFinish(record, record?.attempt === request.attempt ? fenced(record, request) : request, view),
  },
  'a finish that writes over what a person decided': {
    finish: (record, request, view) =>
      decideFinish(record?.proof === 'settled' ? { ...record, state: 'unknown' } : record, request, view),
  },
  'a second finish that writes over the first': {
    finish: (record, request, view) =>
      decideFinish(
        record?.state === 'completed' ? { ...record, state: 'in_progress' } : record,
        request,
        view,
      ),
  },
  'a renewal that takes back what its owner called unknown': {
    renew: (record, request, view) =>
      decideRenew(record?.state === 'unknown' ? { ...record, reason: CLAIM_ENDED } : record, request, view),
  },
  'a renewal that takes back what had ended': {
    renew: (record, request, view) =>
      decideRenew(
        record?.state === 'retryable' ? { ...record, state: 'in_progress' } : record,
        request,
        view,
      ),
  },
  'an unknown outcome that runs again': {
    claim: (record, request, view) =>
      decideClaim(record?.state === 'unknown' ? { ...record, state: 'retryable' } : record, request, view),
  },
  'a retention that begins again with every attempt': {
    claim: (record, request, view) => {
      const { write, result } = decideClaim(record, request, view);
      if (write === null || write === undefined || record === null) return { write, result };
      return { write: { ...write, expiresAt: Math.min(write.expiresAt, view.now + 2_000) }, result };
    },
  },
  'a stored answer that is cut': {
    finish: (record, request, view) => {
      const { write, result } = decideFinish(record, request, view);
      const body = write?.response?.body?.subarray(0, 5);
      if (write?.response === null || write?.response === undefined || body === undefined)
        return { write, result };
      return { write: { ...write, response: { ...write.response, body } }, result };
    },
  },
  'a tombstone that runs': {
    claim: (record, request, view) =>
      decideClaim(record === null ? null : { ...record, tombstoneMs: 0 }, request, view),
  },
};

/** Those that callers are harmed by, and not only the record. */
const HARMFUL: readonly string[] = [
  'a finish without its fence',
  'a completion accepted after the fence moved',
  'a claim that reads and then writes',
  'a fingerprint compared only once the first request has ended',
  'a plain attempt run again because its claim ended',
  'a claimId that is good twice',
  'a key looked up without its scope',
  'attempt numbers compared without claimIds',
  'a renewal that takes back what its owner called unknown',
  'an unknown outcome that runs again',
  'a stored answer that is cut',
  'a tombstone that runs',
];

async function asFailure<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw isStoreError(error) ? new StoreError(error.message, { applied: 'no' }) : error;
  }
}

/** Ways to misunderstand a lost reply. */
const CLIENTS: Readonly<Record<string, (connection: Store) => Store>> = {
  'a lost reply to a claim taken for a failure': (connection) => ({
    ...connection,
    claim: (requests) => asFailure(connection.claim(requests)),
  }),
  'a lost reply to a claim taken for a success': (connection) => ({
    ...connection,
    claim: (requests) =>
      connection
        .claim(requests)
        .catch(() =>
          requests.map(() => ({ kind: 'claimed', attempt: 1, createdAt: 0, expiresAt: 0, resumed: null })),
        ),
  }),
  'a lost reply to a finish taken for a failure, and the key opened again': (connection) => ({
    ...connection,
    finish: (requests) =>
      connection.finish(requests).catch(() =>
        connection.finish(
          requests.map((request) => ({
            ...request,
            to: 'retryable',
            proof: 'policy',
            reason: 'save-failed',
            response: null,
          })),
        ),
      ),
  }),
  'a lost reply to a finish taken for a success': (connection) => ({
    ...connection,
    finish: (requests) =>
      connection.finish(requests).catch(() => requests.map(() => ({ kind: 'applied', expiresAt: 0 }))),
  }),
  'a locked row taken for a free one': (connection) => ({
    ...connection,
    claim: async (requests) =>
      (await connection.claim(requests)).map((result) =>
        result.kind === 'busy'
          ? { kind: 'claimed', attempt: 1, createdAt: 0, expiresAt: 0, resumed: null }
          : result,
      ),
  }),
};

/** The first seed that violates something, and how it was seen. */
async function firstFound(
  options: Omit<SimulateOptions, 'seed'>,
  seenFrom?: Violation['seen'],
): Promise<{ readonly seed: number; readonly what: string } | null> {
  const most = seenFrom === undefined ? HISTORIES_MAX : OUTSIDE_MAX;
  for (let seed = 1; seed <= most; seed += 1) {
    const { violations } = await simulate({ ...options, seed });
    const violation = violations.find(({ seen }) => seenFrom === undefined || seen === seenFrom);
    if (violation !== undefined) return { seed, what: `${violation.seen}: ${violation.what}` };
  }
  return null;
}

describe('planted bugs', () => {
  const found: string[] = [];
  afterAll(() => console.log(found.join('\n')));

  async function expectFound(
    name: string,
    options: Omit<SimulateOptions, 'seed'>,
    seenFrom?: Violation['seen'],
  ): Promise<void> {
    const first = await firstFound(options, seenFrom);
    found.push(`${name}: ${first === null ? 'NOT FOUND' : `seed ${first.seed}, ${first.what}`}`);
    expect(first).not.toBeNull();
  }

  for (const [name, bug] of Object.entries(BUGS))
    it(`finds ${name}`, () => expectFound(name, { store: plantedStore(bug) }), SEARCH_TIME_MAX_MS);

  // Where nobody looks into the records: by what callers were told, and by the ledger of effects.
  for (const name of HARMFUL)
    it(
      `sees ${name} from outside`,
      () => expectFound(name, { store: plantedStore(BUGS[name] ?? {}) }, 'outside'),
      SEARCH_TIME_MAX_MS,
    );

  for (const [name, client] of Object.entries(CLIENTS))
    it(`finds ${name}`, () => expectFound(name, { client }), SEARCH_TIME_MAX_MS);

  it(
    'finds nothing in a store without a bug',
    async () => {
      expect(await firstFound({ store: plantedStore({}) })).toBeNull();
    },
    SEARCH_TIME_MAX_MS,
  );
});
