/** Plays rows of the state table: brings a record into a situation by the verbs alone, gives the command, compares. */

import assert from 'node:assert/strict';
import {
  NAME_EXPIRED,
  PHASES_CHANGED,
  POINTER_CLAIM,
  REOPEN_DELAY_MS,
  type RecordId,
  type SamekeyRecord,
} from 'samekey/internals/core/record';
import type {
  CheckpointRequest,
  ClaimRequest,
  FencedId,
  FinishRequest,
  SettleRequest,
  Store,
} from 'samekey/internals/store/store';
import {
  CLAIM_TTL_MS,
  claimRequest,
  describeResult,
  eraseRequest,
  FINGERPRINT,
  finishRequest,
  forgetAsSeen,
  handRequest,
  ID,
  only,
  RETENTION_MS,
  renewRequest,
  settleRequest,
  type WithinTransaction,
} from './context.ts';
import type { Row } from './state-table.ts';

/** What the table is run against: a store, or the bare machine dressed as one. */
export interface Bench {
  readonly store: Pick<
    Store,
    | 'claim'
    | 'renew'
    | 'checkpoint'
    | 'finish'
    | 'settle'
    | 'reopen'
    | 'forget'
    | 'erase'
    | 'sweep'
    | 'reap'
    | 'find'
    | 'takeUnknown'
    | 'postpone'
  >;
  advance(ms: number): void | Promise<void>;
  /** As of a store under test; absent where the store has none. */
  transaction?<T>(body: (within: WithinTransaction) => Promise<T>): Promise<T>;
}

/** The fence every arranged record has. */
export const OWN: FencedId = { ...ID, claimId: 'claim-own', attempt: 1 };

/** Brings a record into a situation by the verbs alone. */
export async function arrange(bench: Bench, situation: string, id: RecordId): Promise<void> {
  const { store } = bench;
  const own = { ...OWN, ...id };
  const finish = (to: FinishRequest['to']): Promise<unknown> => store.finish([finishRequest(own, to)]);
  if (situation === 'absent') return;
  const claim = claimRequest({
    ...id,
    claimId: own.claimId,
    whenClaimEnds: situation.endsWith('-resume') ? 'resume' : 'unknown',
    tombstoneMs: situation === 'tombstone' ? RETENTION_MS : 0,
    // The looser of two bounds counts: so it is the command's.
    attemptMax: 1,
  });
  assert.equal(describeResult(only(await store.claim([claim]))), 'claimed 1');
  const [first, second] = situation.split('-');
  if (first === 'over') await bench.advance(CLAIM_TTL_MS);
  else if (first === 'given') {
    await bench.advance(CLAIM_TTL_MS);
    await store.sweep(10);
  } else if (first === 'settled') {
    await finish('unknown');
    await store.settle([settleRequest(own, second as SettleRequest['to'])]);
  } else if (first === 'exhausted') {
    await finish('retryable');
    await store.claim([claimRequest({ ...id, attemptMax: 1 })]);
  } else if (first === 'reopened') {
    await finish('failed');
    await store.reopen([handRequest(own, 'mended')]);
  } else if (first === 'forgotten') {
    await finish('failed');
    await forgetAsSeen(store, own);
  } else if (first === 'erased') {
    await finish(second as FinishRequest['to']);
    await store.erase(eraseRequest(id.scope));
  } else if (first === 'stepped') {
    await store.checkpoint([checkpointRequest(own)]);
    await finish('retryable');
    if (second === 'unknown') await store.finish([finishRequest(own, 'unknown', { reason: PHASES_CHANGED })]);
  } else if (first === 'vacated') {
    await store.finish([finishRequest(own, 'retryable', { reason: NAME_EXPIRED })]);
  } else if (first === 'tombstone' || first === 'purgeable') {
    await finish('completed');
    await bench.advance(RETENTION_MS);
  } else if (first !== 'in_progress') await finish(situation as FinishRequest['to']);
  if (second === 'later') await bench.advance(REOPEN_DELAY_MS);
}

const CLAIMS: Readonly<Record<string, Partial<ClaimRequest>>> = {
  claim: {},
  'claim again with its own claimId': { claimId: OWN.claimId },
  'claim for another body': { fingerprint: { ...FINGERPRINT, digest: 'digest-of-another-body' } },
  'claim with a fingerprint made another way': { fingerprint: { label: 'v2', digest: 'other' } },
  'claim by older code': { readVersion: 0 },
  'claim by code that knows no steps': { takesSteps: false },
  'claim by a worker that knows no steps': { takesSteps: false, entry: 'take' },
  'claim where one attempt is allowed': { attemptMax: 1 },
  'claim for a pointer': { claimId: `${POINTER_CLAIM}second`, takesSteps: false },
};

/** Gives a command under a fence, and says in the table's words what came of it. */
export async function perform(
  { store }: Bench,
  command: string,
  id: RecordId,
  fence: FencedId = OWN,
): Promise<string> {
  const owner = { ...fence, ...id };
  const variant = CLAIMS[command];
  if (variant !== undefined) {
    return describeResult(only(await store.claim([claimRequest({ ...id, ...variant })])));
  }
  const [verb, to] = command.split(' ');
  switch (verb) {
    case 'renew':
      return describeResult(only(await store.renew([renewRequest(owner)])));
    case 'checkpoint':
      return describeResult(only(await store.checkpoint([checkpointRequest(owner)])));
    case 'finish':
      return describeResult(only(await store.finish([finishRequest(owner, to as FinishRequest['to'])])));
    case 'settle':
      return describeResult(only(await store.settle([settleRequest(owner, to as SettleRequest['to'])])));
    case 'reopen':
      return describeResult(only(await store.reopen([handRequest(owner, 'mended')])));
    case 'forget':
      return describeResult(only(await forgetAsSeen(store, owner)));
    case 'erase': {
      const { erased, left } = await store.erase(eraseRequest(id.scope));
      assert.ok(erased + left <= 1, 'the row is alone in its scope');
      return erased === 1 ? 'erased' : left === 1 ? 'left' : 'nothing';
    }
    case 'sweep': {
      const [swept] = await store.sweep(10);
      return swept === undefined ? 'nothing' : `swept ${swept.to}`;
    }
    case 'take': {
      const [taken] = await store.takeUnknown({ operations: null, leaseMs: 1_000, limit: 10 });
      return taken === undefined ? 'nothing' : `taken ${taken.inquiries}`;
    }
    case 'postpone':
      return describeResult(
        only(await store.postpone([{ ...owner, inquiries: 0, afterMs: 60_000, reason: null }])),
      );
    default:
      assert.equal(verb, 'reap', `unknown command ${command}`);
      return (await store.reap(10)).count === 0 ? 'nothing' : 'reaped';
  }
}

/** What an attempt has done so far, under a fence. */
function checkpointRequest(owner: FencedId): CheckpointRequest {
  return {
    ...owner,
    claimTtlMs: CLAIM_TTL_MS,
    recoveryPoint: 'reserve',
    steps: '{"v":1,"steps":[]}',
    intentOpen: false,
  };
}

/** Commands that an attempt may give inside its caller's transaction. The last one can be given nowhere else. */
export function isGivenWithin(command: string): boolean {
  return command.startsWith('finish') || command === 'checkpoint' || command === HAND_OVER;
}

export const HAND_OVER = 'hand over';

/** As {@link perform}, inside a transaction of the caller's, which rolls back what was refused. */
export async function performWithin(
  bench: Bench,
  command: string,
  id: RecordId,
  fence: FencedId = OWN,
  overrides: Partial<FinishRequest> = {},
): Promise<string> {
  const owner = { ...fence, ...id };
  const [verb, to] = command.split(' ');
  const refusal = new Error('refused, so it must be rolled back');
  let said = '';
  try {
    assert.ok(bench.transaction !== undefined, 'a store with transactions is needed here');
    await bench.transaction(async (within) => {
      if (verb === 'finish')
        said = describeResult(
          await within.finish(finishRequest(owner, to as FinishRequest['to'], overrides)),
        );
      else if (verb === 'checkpoint')
        said = describeResult(await within.checkpoint(checkpointRequest(owner)));
      else said = describeResult(await within.handOver(owner));
      if (said === 'refused') throw refusal;
    });
  } catch (error) {
    if (error !== refusal) throw error;
  }
  return said;
}

/** Runs one row and compares. */
export async function checkRow(
  bench: Bench,
  row: Row,
  id: RecordId,
  how: (bench: Bench, command: string, id: RecordId) => Promise<string> = perform,
): Promise<void> {
  const where = `${row.command} / ${row.situation}`;
  const before = await look(bench, id);
  assert.equal(await how(bench, row.command, id), row.result, where);
  const after = await look(bench, id);
  if (row.becomes === '=') assert.deepEqual(after, before, `${where} must change nothing`);
  else assert.equal(after?.state ?? 'absent', row.becomes, where);
}

/** The record, or null. */
export async function look({ store }: Bench, id: RecordId): Promise<SamekeyRecord | null> {
  return only(await store.find([id]));
}
