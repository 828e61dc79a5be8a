/**
 * The pure machine against the state table. The table is text, kept where the store contract reads it too:
 * `src/testing/contract/state-table.ts`; a row that a store breaks is a row the machine is seen to keep here.
 */

import { describe, expect, it } from 'vitest';
import {
  claimRequest,
  FINGERPRINT,
  finishRequest,
  forgetAsSeen,
} from '../../../testing/src/contract/context.ts';
import {
  arrange,
  type Bench,
  checkRow,
  HAND_OVER,
  OWN,
  perform,
  performWithin,
} from '../../../testing/src/contract/state-bench.ts';
import { type Row, SITUATIONS, stateTableRows } from '../../../testing/src/contract/state-table.ts';
import {
  idText,
  isErased,
  isForgotten,
  isPurgeable,
  REOPEN_DELAY_MS,
  type RecordId,
  type SamekeyRecord,
} from '../../src/core/record.ts';
import {
  type Decision,
  decideCheckpoint,
  decideClaim,
  decideErase,
  decideFinish,
  decideForget,
  decideHandOver,
  decidePostpone,
  decideRenew,
  decideReopen,
  decideSettle,
  decideSweep,
  decideTakeUnknown,
  serverView,
  type View,
} from '../../src/store/machine/index.ts';
import { reapedOf } from '../../src/store/reaped.ts';

const ID: RecordId = { scope: 's', key: 'k' };
const PENDING = 'pending';

/** The machine dressed as a store of one record, which `put` sets. */
function machineBench(): Bench & { put(record: SamekeyRecord): void; get(): SamekeyRecord | null } {
  let record: SamekeyRecord | null = null;
  let now = Date.UTC(2030, 0);

  function step<Result>(decide: (view: View) => Decision<Result>): Result {
    const before = record;
    const { write, result } = decide(serverView(record, now));
    if (write !== undefined) record = write === null ? null : Object.freeze(write);
    checkWrite(before, write);
    return result;
  }

  return {
    put: (next) => {
      record = next;
    },
    get: () => record,
    advance: (ms) => {
      now += ms;
    },
    transaction: (body) =>
      body({
        finish: async (one) => step((view) => decideFinish(record, one, view)),
        checkpoint: async (one) => step((view) => decideCheckpoint(record, one, view)),
        handOver: async (one) => step((view) => decideHandOver(record, one, view)),
      }),
    store: {
      checkpoint: async (requests) =>
        requests.map((one) => step((view) => decideCheckpoint(record, one, view))),
      claim: async (requests) => requests.map((one) => step((view) => decideClaim(record, one, view))),
      renew: async (requests) => requests.map((one) => step((view) => decideRenew(record, one, view))),
      finish: async (requests) => requests.map((one) => step((view) => decideFinish(record, one, view))),
      settle: async (requests) => requests.map((one) => step((view) => decideSettle(record, one, view))),
      reopen: async (requests) => requests.map((one) => step((view) => decideReopen(record, one, view))),
      forget: async (requests) => requests.map((one) => step((view) => decideForget(record, one, view))),
      erase: async () => {
        if (record === null) return { erased: 0, left: 0 };
        const found = record;
        const result = step((view) => decideErase(found, null, view));
        return { erased: result === 'erased' ? 1 : 0, left: result === 'left' ? 1 : 0 };
      },
      find: async () => [record],
      sweep: async () => {
        const decision = record === null ? undefined : decideSweep(record, serverView(record, now));
        return decision === undefined ? [] : [step(() => decision)];
      },
      takeUnknown: async (request) => {
        const taken =
          record === null ? undefined : decideTakeUnknown(record, request, serverView(record, now));
        return taken === undefined ? [] : [step(() => ({ write: taken, result: taken }))];
      },
      postpone: async (requests) => requests.map((one) => step((view) => decidePostpone(record, one, view))),
      reap: async () => {
        if (record === null || !isPurgeable(record, now)) return reapedOf([]);
        const { scope } = record;
        record = null;
        return reapedOf([scope]);
      },
    },
  };
}

/** What holds for every write, whatever the command. */
function checkWrite(before: SamekeyRecord | null, after: SamekeyRecord | null | undefined): void {
  if (before === null || after === null || after === undefined) return;
  expect(idText(after)).toBe(idText(before));
  const newLife = after.attempt === 1 && after.claimId !== before.claimId;
  if (newLife || isForgotten(after) || isErased(after)) return;
  expect(after.attempt === before.attempt || after.attempt === before.attempt + 1).toBe(true);
  expect(after.claimId === before.claimId).toBe(after.attempt === before.attempt);
  expect(after.expiresAt).toBeGreaterThanOrEqual(before.expiresAt);
  expect(after.createdAt).toBe(before.createdAt);
  expect(after.reconcileAfter === null).toBe(after.state !== 'unknown');
  expect(after.finishedAt === null).toBe(after.state !== 'completed' && after.state !== 'failed');
}

/** Only a hand-over leads to `pending`, which not every store has; so it is put there. */
async function arrangeAny(bench: ReturnType<typeof machineBench>, situation: string): Promise<void> {
  await arrange(bench, situation === PENDING ? 'in_progress' : situation, ID);
  const record = bench.get();
  if (situation === PENDING && record !== null) bench.put({ ...record, state: 'pending' });
}

const rows = stateTableRows([...SITUATIONS, PENDING]);

describe('the state table', () => {
  for (const command of new Set(rows.map((row) => row.command))) {
    describe(command, () => {
      for (const row of rows.filter((one) => one.command === command)) {
        it(title(row), async () => {
          const bench = machineBench();
          await arrangeAny(bench, row.situation);
          await checkRow(bench, row, ID, row.command === HAND_OVER ? performWithin : perform);
        });
      }
    });
  }
});

function title({ situation, result, becomes }: Row): string {
  return `${situation}: answers "${result}" and ${becomes === '=' ? 'changes nothing' : `becomes ${becomes}`}`;
}

describe('the machine', () => {
  it('takes fences apart by claimId and by attempt', async () => {
    for (const fence of [
      { ...OWN, ...ID, claimId: 'other' },
      { ...OWN, ...ID, attempt: 2 },
    ]) {
      const bench = machineBench();
      await arrangeAny(bench, 'in_progress');
      const record = bench.get();
      expect(await bench.store.renew([{ ...fence, claimTtlMs: 1 }])).toEqual([{ kind: 'lost', record }]);
      expect(await bench.store.finish([finishRequest(fence, 'completed')])).toEqual([
        { kind: 'refused', record },
      ]);
      expect(await forgetAsSeen(bench.store, fence)).toEqual([{ kind: 'refused', record }]);
      expect(bench.get()).toBe(record);
    }
  });

  // F111, F118
  it('a pointer that was not laid to its end gives its place and no bound of attempts to whoever comes', async () => {
    const bench = machineBench();
    const half = claimRequest({
      claimId: 'pointer:first',
      whenClaimEnds: 'resume',
      attemptMax: Number.MAX_SAFE_INTEGER,
    });
    await bench.store.claim([half]);
    await bench.advance(half.claimTtlMs);
    expect((await bench.store.claim([{ ...half, claimId: 'pointer:second' }]))[0]?.kind).toBe('claimed');
    await bench.advance(half.claimTtlMs);
    expect((await bench.store.claim([claimRequest({ attemptMax: 3 })]))[0]?.kind).toBe('claimed');
    expect(bench.get()).toMatchObject({ attemptMax: 3, attempt: 1 });
  });

  // F111
  it('nor is its place bound to the request for which it was laid', async () => {
    const bench = machineBench();
    const half = claimRequest({ claimId: 'pointer:first', whenClaimEnds: 'resume' });
    const other = { ...half, claimId: 'pointer:second', fingerprint: { label: 'v1', digest: 'of another' } };
    await bench.store.claim([half]);
    expect(await bench.store.claim([other])).toMatchObject([{ kind: 'found', because: 'in-progress' }]);
    await bench.advance(half.claimTtlMs);
    expect(await bench.store.claim([other])).toMatchObject([{ kind: 'claimed', attempt: 1 }]);
    expect(bench.get()?.fingerprint).toEqual(other.fingerprint);
  });

  it('answers by precedence: newer format, spent claimId, expiry, label, digest, state', async () => {
    const bench = machineBench();
    await arrangeAny(bench, 'tombstone');
    const all = {
      ...ID,
      readVersion: 0,
      claimId: OWN.claimId,
      fingerprint: { label: 'v2', digest: 'other' },
    };
    const because = async (overrides: Partial<typeof all>): Promise<string> => {
      const [result] = await bench.store.claim([claimRequest({ ...all, ...overrides })]);
      return result?.kind === 'found' ? result.because : String(result?.kind);
    };
    const fresh = { readVersion: 1, claimId: 'fresh' };
    expect(await because({})).toBe('newer-format');
    expect(await because({ readVersion: 1 })).toBe('spent');
    expect(await because(fresh)).toBe('expired');
    await arrangeAnew(bench, 'completed');
    expect(await because(fresh)).toBe('other-label');
    expect(await because({ ...fresh, fingerprint: { ...FINGERPRINT, digest: 'other' } })).toBe('mismatch');
    expect(await because({ ...fresh, fingerprint: FINGERPRINT })).toBe('final');
  });
});

async function arrangeAnew(bench: ReturnType<typeof machineBench>, situation: string): Promise<void> {
  const record = bench.get();
  if (record !== null) await forgetAsSeen(bench.store, record);
  await bench.advance(REOPEN_DELAY_MS);
  await bench.store.reap(1);
  await arrangeAny(bench, situation);
}
