/** How long an owner may believe that its claim lasts: from when its last sign of life was sent, by both clocks. */
import { describe, expect, test } from 'vitest';
import { RunningAttempt } from '../../src/engine/attempt.ts';
import type { Dispatch } from '../../src/engine/dispatch.ts';
import { createOwner, type Owner } from '../../src/engine/owner.ts';
import { createRecording } from '../../src/engine/recording.ts';
import { resolveSettings } from '../../src/core/settings.ts';
import { FINGERPRINT, ID } from '../../../testing/src/contract/context.ts';
import { type FakeWorld, fakeWorld } from '../../../testing/src/fake-world.ts';

const CLAIM_TTL_MS = 10_000;
/** How long the store's answer travels back, after it has granted what was asked. */
const WAY_BACK_MS = 3_000;

function ownerOn(world: FakeWorld, said: 'granted' | 'lost' = 'granted'): Owner {
  const answer = async <Result>(granted: Result, lost: Result): Promise<Result> => {
    await new Promise<void>((resolve) => void world.setTimer(WAY_BACK_MS, resolve));
    return said === 'granted' ? granted : lost;
  };
  const dispatch: Pick<Dispatch, 'renew' | 'checkpoint'> = {
    renew: () => answer({ kind: 'renewed' }, { kind: 'lost', record: null }),
    checkpoint: () => answer({ kind: 'applied' }, { kind: 'refused', record: null }),
  };
  const attempt = new RunningAttempt(
    ID,
    'pay',
    resolveSettings({ policy: 'standard', claimTtlMs: CLAIM_TTL_MS }, {}),
    { claimId: 'claim-1', attempt: 1 },
    { resumed: null, createdAt: 0, fingerprint: FINGERPRINT, sentWallAt: world.wallNow() },
    world.monotonicNow(),
  );
  const options = {
    world,
    callTimeMaxMs: 5_000,
    recordSizeMaxBytes: null,
    recording: createRecording(world, dispatch as Dispatch),
    contradicts: () => undefined,
    misuse: () => undefined,
    track: () => undefined,
  };
  return createOwner(attempt, { ...options, dispatch: dispatch as Dispatch });
}

const SIGNS: Readonly<Record<string, (owner: Owner, world: FakeWorld) => Promise<unknown>>> = {
  renewal: (owner, world) => owner.renew(world.monotonicNow() + 60_000),
  checkpoint: (owner) =>
    owner.checkpoint({
      ...ID,
      ...owner.attempt.fence,
      claimTtlMs: CLAIM_TTL_MS,
      recoveryPoint: 'reserve',
      steps: '',
      intentOpen: false,
    }),
};

describe.each(Object.entries(SIGNS))('A %s', (_name, send) => {
  test('that was granted lengthens the claim from when it was sent, not from when its answer came', async () => {
    const world = fakeWorld();
    const owner = ownerOn(world);
    await world.advance(4_000);
    expect(owner.claimLeftMs()).toBe(CLAIM_TTL_MS - 4_000);
    const sent = send(owner, world);
    await world.advance(WAY_BACK_MS);
    await sent;
    expect(owner.claimLeftMs()).toBe(CLAIM_TTL_MS - WAY_BACK_MS);
  });

  test('that was refused lengthens nothing', async () => {
    const world = fakeWorld();
    const owner = ownerOn(world, 'lost');
    const sent = send(owner, world);
    await world.advance(WAY_BACK_MS);
    await sent;
    expect(owner.claimLeftMs()).toBe(CLAIM_TTL_MS - WAY_BACK_MS);
  });
});

// F45
test('Whichever clock says that less is left is believed', async () => {
  const world = fakeWorld();
  const owner = ownerOn(world);
  await world.advance(1_000);
  world.stepWall(5_000);
  expect(owner.claimLeftMs()).toBe(CLAIM_TTL_MS - 6_000);
  world.stepWall(-9_000);
  expect(owner.claimLeftMs()).toBe(CLAIM_TTL_MS - 1_000);
});
