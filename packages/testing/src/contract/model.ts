/**
 * The model-based run: random commands, the same ones to the store and to the memory store (the oracle), with every result and
 * every record compared after each step. A few keys only, so that commands meet each other's records; stale and foreign
 * fences are given as often as right ones. A failure names its seed and the line that replays it.
 */

import assert from 'node:assert/strict';
import {
  idText,
  PHASES_CHANGED,
  REOPEN_DELAY_MS,
  type RecordId,
  type State,
} from 'samekey/internals/core/record';
import type {
  ClaimRequest,
  FencedId,
  FinishRequest,
  SettleRequest,
  Store,
} from 'samekey/internals/store/store';
import { memoryStore } from 'samekey/internals/stores/memory/index';
import {
  type AddTest,
  CLAIM_TTL_MS,
  claimRequest,
  eraseRequest,
  FINGERPRINT,
  finishRequest,
  handRequest,
  RETENTION_MS,
  type StoreHarness,
  type StoreUnderTest,
  settleRequest,
} from './context.ts';
import { createRandom, type Random } from './random.ts';

const STEPS = 150;
/** How often the audits are compared. */
const AUDIT_STEPS = 10;
const FIXED_SEEDS = 12;
const FRESH_SEEDS = 3;
/** Those of the caller `s2` are erased now and then. */
const IDS: readonly RecordId[] = ['s1', 's2', 's2|POST /payments'].flatMap((scope) =>
  ['a', 'A', 'b'].map((key) => ({ scope, key })),
);

/** Histories over which the audit of transitions is compared too. */
const AUDITED_SEEDS = 5;

export function modelTests(test: AddTest, harness: StoreHarness): void {
  const replayed = Number(globalThis.process?.env['SAMEKEY_TEST_SEED'] ?? Number.NaN);
  const fixed = Array.from({ length: FIXED_SEEDS }, (_, i) => i + 1);
  const fresh = Array.from({ length: FRESH_SEEDS }, () => Math.floor(Math.random() * 2 ** 31));
  const seeds = Number.isNaN(replayed) ? [...fixed, ...fresh] : [replayed];
  // A test each: how long one takes is the store's affair, and a slow machine ends no test that has thousands of calls before it.
  for (const seed of seeds) {
    test(`it does what the memory store does, over the random histories of seed ${seed}`, async (t) =>
      run(t, seed, harness.name, false));
  }
  if (harness.auditsTransitions !== true) return;
  for (const seed of seeds.slice(0, AUDITED_SEEDS)) {
    test(`it audits each change of state as the memory store does, over the random histories of seed ${seed}`, async () => {
      const t = await harness.create({ auditTransitions: true });
      try {
        await run(t, seed, harness.name, true);
      } finally {
        await t.close();
      }
    });
  }
}

async function run(t: StoreUnderTest, seed: number, name: string, auditTransitions: boolean): Promise<void> {
  // Both start at the time of the store's first record, which every store keeps in whole milliseconds.
  const probe = claimRequest({ scope: 'probe', key: 'probe', claimId: `probe-${seed}` });
  await t.store.claim([probe]);
  let now = (await t.store.find([probe]))[0]?.createdAt ?? 0;
  const oracle = memoryStore({ now: () => now, auditTransitions });
  await oracle.claim([probe]);
  const random = createRandom(seed);
  const fences = new Map<RecordId, FencedId[]>();
  const history: string[] = [];
  try {
    for (let step = 0; step < STEPS; step += 1) {
      const command = nextCommand(random, fences, step);
      history.push(command.text);
      if (command.advanceMs !== undefined) {
        now += command.advanceMs;
        await t.advance(command.advanceMs);
        continue;
      }
      assert.deepEqual(
        comparable(await command.give(t.store)),
        comparable(await command.give(oracle)),
        command.text,
      );
      assert.deepEqual(
        comparable(await t.store.find(IDS)),
        comparable(await oracle.find(IDS)),
        `records after ${command.text}`,
      );
      if (step % AUDIT_STEPS === 0 || step === STEPS - 1) await compareAudits(t.store, oracle, command.text);
    }
  } catch (error) {
    throw new Error(
      `The store "${name}" and the memory store went apart at step ${history.length} of seed ${seed}.\n` +
        `Replay: SAMEKEY_TEST_SEED=${seed}, and the tests with "random histories" in their titles.\n` +
        `Last commands:\n  ${history.slice(-8).join('\n  ')}`,
      { cause: error },
    );
  }
}

async function compareAudits(store: Store, oracle: Store, when: string): Promise<void> {
  assert.deepEqual(await auditOf(store), await auditOf(oracle), `audit after ${when}`);
}

/** In one call the order is the store's, and so are the numbers and the order of a row's members. */
async function auditOf(store: Store): Promise<string[]> {
  const rows = await store.audit({ limit: 1_000 });
  return rows
    .map((row) =>
      JSON.stringify(Object.entries({ ...row, seq: '' }).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    )
    .toSorted();
}

interface Command {
  readonly text: string;
  readonly advanceMs?: number;
  give(store: Store): Promise<unknown>;
}

/** Right, stale and made-up fences of one id. */
function fenceOf(random: Random, fences: Map<RecordId, FencedId[]>, id: RecordId): FencedId {
  const known = fences.get(id) ?? [];
  const fence = random.chance(0.7) ? known.at(-1) : random.pick(known);
  return fence ?? { ...id, claimId: 'claim-made-up', attempt: 1 + random.below(2) };
}

function nextCommand(random: Random, fences: Map<RecordId, FencedId[]>, step: number): Command {
  const ids = random.some(IDS, 3);
  const owners = ids.map((id) => fenceOf(random, fences, id));
  const say = (verb: string, detail: unknown = ''): string =>
    `${step}. ${verb} ${ids.map(({ scope, key }) => `${scope}/${key}`).join(' ')} ${JSON.stringify(detail)}`;
  switch (random.below(14)) {
    case 0:
    case 1:
    case 2: {
      const requests = ids.map((id, i) => {
        const claimId = random.chance(0.1) ? (owners[i] as FencedId).claimId : `claim-${step}-${i}`;
        // Whether it is granted or not: later commands try its fence, with attempts that may be right.
        const known = fences.get(id) ?? [];
        known.push({ ...id, claimId, attempt: 1 + random.below(3) });
        if (random.chance(0.8)) known.push({ ...id, claimId, attempt: 1 });
        fences.set(id, known);
        return claimRequest({
          ...id,
          claimId,
          claimTtlMs: random.pick([CLAIM_TTL_MS, 1_000]) ?? CLAIM_TTL_MS,
          whenClaimEnds: random.chance(0.5) ? 'unknown' : 'resume',
          tombstoneMs: random.chance(0.3) ? 5_000 : 0,
          attemptMax: random.chance(0.2) ? 2 : 10,
          fingerprint: random.chance(0.1) ? { ...FINGERPRINT, digest: 'other' } : FINGERPRINT,
          formatVersion: random.chance(0.05) ? 2 : 1,
          takesSteps: random.chance(0.6),
          ...entryOf(random),
        });
      });
      return { text: say('claim', requests), give: (store) => store.claim(requests) };
    }
    case 3:
      return {
        text: say('renew', owners),
        give: (store) => store.renew(owners.map((owner) => ({ ...owner, claimTtlMs: 2_000 }))),
      };
    case 4:
    case 5:
    case 6: {
      const requests = owners.map((owner) => {
        const to =
          random.pick<FinishRequest['to']>(['completed', 'failed', 'retryable', 'unknown']) ?? 'failed';
        const extendMs = random.chance(0.2) ? 1_000 : 0;
        return finishRequest(owner, to, {
          extendMs,
          reason: to === 'unknown' && random.chance(0.3) ? PHASES_CHANGED : null,
          handedOver: random.chance(0.1),
          unbindFingerprint: to === 'retryable' && random.chance(0.5),
        });
      });
      return { text: say('finish', requests), give: (store) => store.finish(requests) };
    }
    case 7: {
      const to = random.pick<SettleRequest['to']>(['completed', 'failed', 'retryable']) ?? 'failed';
      const claimEndedForMs = random.chance(0.5) ? 0 : CLAIM_TTL_MS;
      const requests = owners.map((owner) => ({ ...settleRequest(owner, to), claimEndedForMs }));
      return { text: say('settle', requests), give: (store) => store.settle(requests) };
    }
    case 8: {
      if (random.chance(0.5)) {
        const requests = owners.map((owner) => handRequest(owner));
        return { text: say('reopen', requests), give: (store) => store.reopen(requests) };
      }
      const requests = owners.map((owner) => ({
        ...handRequest(owner),
        state: random.pick<State>(['completed', 'failed', 'retryable']) ?? 'failed',
      }));
      return { text: say('forget', requests), give: (store) => store.forget(requests) };
    }
    case 9:
      if (random.chance(0.1)) {
        return { text: `${step}. erase s2`, give: (store) => store.erase(eraseRequest('s2')) };
      }
      return random.chance(0.5)
        ? nextSweep(random, step)
        : { text: `${step}. reap`, give: (store) => store.reap(100) };
    case 10: {
      const requests = owners.map((owner) => ({
        ...owner,
        claimTtlMs: 2_000,
        recoveryPoint: random.pick([null, 'booked', 'paid']) ?? null,
        steps: random.chance(0.2) ? null : JSON.stringify([{ step }]),
        ...(random.chance(0.5) ? { renewals: random.pick([0, 1, 2]) ?? 0 } : {}),
        intentOpen: random.chance(0.3),
        isSameIntent: random.chance(0.3),
      }));
      return { text: say('checkpoint', requests), give: (store) => store.checkpoint(requests) };
    }
    case 11: {
      if (random.chance(0.5)) {
        const leaseMs = random.pick([500, 2_000]) ?? 500;
        const operations = random.pick([null, ['POST /payments'], ['another']]) ?? null;
        const request = { operations, leaseMs, limit: 100 };
        return {
          text: `${step}. take ${JSON.stringify(request)}`,
          give: async (store) => byId(await store.takeUnknown(request)),
        };
      }
      const requests = owners.map((owner) => ({
        ...owner,
        inquiries: random.below(3),
        afterMs: random.pick([null, 0, 1_000]) ?? null,
        reason: null,
      }));
      return { text: say('postpone', requests), give: (store) => store.postpone(requests) };
    }
    case 12:
      return {
        text: `${step}. count, list, due`,
        give: async (store) => [
          await store.count(),
          byId(await store.list({})),
          byId(await store.due({ operations: ['POST /payments'], limit: 100 })),
        ],
      };
    default: {
      const advanceMs = random.pick([1, 999, 1_000, 2_000, REOPEN_DELAY_MS, CLAIM_TTL_MS, RETENTION_MS]) ?? 1;
      return { text: `${step}. advance ${advanceMs}`, advanceMs, give: async () => undefined };
    }
  }
}

function nextSweep(random: Random, step: number): Command {
  const unknownMaxMs = random.pick([1_000, RETENTION_MS, 10 * RETENTION_MS]) ?? RETENTION_MS;
  return {
    text: `${step}. sweep ${unknownMaxMs}`,
    give: async (store) => byId(await store.sweep(100, { unknownMaxMs })),
  };
}

/** Mostly plain claims; some bring an input, some only note the request, some are a worker's. */
function entryOf(random: Random): Pick<ClaimRequest, 'entry' | 'input'> {
  const entry = random.pick<ClaimRequest['entry']>(['run', 'run', 'run', 'accept', 'take']) ?? 'run';
  const input = entry === 'accept' || random.chance(0.2) ? new Uint8Array([0, 1, 255]) : null;
  return { entry, input };
}

/** Whatever the result, without what the oracle has not: which key its records are sealed by, how long they may be trusted. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'trustLeftMs')
      .map(([name, each]) => [name, name === 'sealKeyId' ? null : comparable(each)]),
  );
}

/** Stores choose their own order among equals. */
function byId<T extends RecordId>(rows: readonly T[]): T[] {
  return rows.toSorted((a, b) => (idText(a) < idText(b) ? -1 : 1));
}
