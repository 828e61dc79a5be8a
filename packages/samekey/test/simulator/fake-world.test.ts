import { describe, expect, it } from 'vitest';
import { systemWorld } from '../../src/system.ts';
import { createRandom, createTimeline, fakeWorld } from '../../../testing/src/index.ts';

function draw(seed: number): number[] {
  const random = createRandom(seed);
  return Array.from({ length: 5 }, () => random.next());
}

describe('fake world', () => {
  it('lets time pass only when told, and runs what is due in its order', async () => {
    const world = fakeWorld();
    const seen: number[] = [];
    for (const ms of [30, 10, 20]) world.setTimer(ms, () => void seen.push(world.monotonicNow()));
    await world.advance(20);
    expect(seen).toEqual([10, 20]);
    await world.advance(20);
    expect(seen).toEqual([10, 20, 30]);
    expect(world.monotonicNow()).toBe(40);
  });

  it('forgets a cancelled timer', async () => {
    const world = fakeWorld();
    let called = false;
    world.setTimer(10, () => (called = true)).cancel();
    await world.advance(100);
    expect(called).toBe(false);
  });

  it('holds back what is due while it is frozen, and delivers it after the thaw', async () => {
    const world = fakeWorld();
    const seen: string[] = [];
    world.setTimer(10, () => void seen.push('timer'));
    const cancelled = world.setTimer(10, () => void seen.push('cancelled'));
    world.freeze();
    await world.advance(50);
    world.deliver(() => void seen.push('reply'));
    cancelled.cancel();
    expect(seen).toEqual([]);
    world.thaw();
    await world.advance(0);
    expect(seen.toSorted()).toEqual(['reply', 'timer']);
  });

  it('does nothing any more once it is dead', async () => {
    const world = fakeWorld();
    let called = false;
    world.setTimer(10, () => (called = true));
    world.kill();
    world.thaw();
    await world.advance(100);
    expect([called, world.state]).toEqual([false, 'dead']);
  });

  it('gives two worlds of one timeline the same pace and nothing else', async () => {
    const timeline = createTimeline(createRandom(1));
    const a = fakeWorld({ name: 'a', timeline });
    const b = fakeWorld({ name: 'b', timeline, monotonicStart: 5_000, wallStart: 0 });
    await a.advance(100);
    expect([a.monotonicNow(), b.monotonicNow(), b.wallNow()]).toEqual([100, 5_100, 100]);
    expect([a.newClaimId(), a.newClaimId(), b.newClaimId()]).toEqual(['a.1', 'a.2', 'b.1']);
  });

  it('digests like the real one, unless it is asked to be quick', () => {
    const bytes = new TextEncoder().encode('body');
    const real = systemWorld();
    expect(fakeWorld().sha256(bytes)).toBe(real.sha256(bytes));
    expect(fakeWorld().hmacSha256(bytes, bytes)).toBe(real.hmacSha256(bytes, bytes));
    const quick = fakeWorld({ digest: 'fast' });
    expect(quick.sha256(bytes)).toBe(quick.sha256(bytes));
    expect(quick.sha256(bytes)).not.toBe(quick.sha256(bytes.subarray(1)));
  });

  it('draws the same from the same seed, and other things from its neighbour', () => {
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
    expect(createRandom(2 ** 40 + 7).next()).not.toBe(createRandom(7).next());
  });
});
