import { describe, expect, it } from 'vitest';
import type { Fingerprint, RecordId, SamekeyRecord } from '../../src/core/record.ts';
import {
  createReplayCache,
  type FinalAnswer,
  keepRecord,
  type ReplayCache,
} from '../../src/engine/replay-cache.ts';
import { response } from '../../src/core/response.ts';
import type { World } from '../../src/core/world.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';

const ID: RecordId = { scope: 's', key: 'k' };
const BOUND: Fingerprint = { label: 'v1', digest: 'd' };
const DAY_MS = 86_400_000;

function answer(body = 'paid', expiresAt = 1): FinalAnswer {
  return { response: response(201, [['x-a', '1']], body), attempt: 1, expiresAt };
}

function cache(options: { world?: World; bytesMax?: number } = {}): ReplayCache {
  return createReplayCache({ world: fakeWorld(), bytesMax: 1_000_000, timeMaxMs: 5_000, ...options });
}

describe('the replay cache', () => {
  it('answers an equal request with what was kept, to the byte', () => {
    const kept = cache();
    kept.put(ID, BOUND, answer(), kept.asking(), DAY_MS);
    expect(kept.get(ID, { ...BOUND })).toEqual(answer());
    expect(kept.get({ ...ID, key: 'K' }, BOUND)).toBeNull();
    expect(kept.get({ ...ID, scope: 'S' }, BOUND)).toBeNull();
  });

  it('knows nothing about a request with another digest or another label: the store decides', () => {
    const kept = cache();
    kept.put(ID, BOUND, answer(), kept.asking(), DAY_MS);
    expect(kept.get(ID, { ...BOUND, digest: 'e' })).toBeNull();
    expect(kept.get(ID, { ...BOUND, label: 'v2' })).toBeNull();
    expect(kept.get(ID, BOUND)).not.toBeNull();
  });

  it('trusts an answer from when the store was asked, not from when it answered', async () => {
    const world = fakeWorld();
    const kept = cache({ world });
    const asked = kept.asking();
    await world.advance(3_000);
    kept.put(ID, BOUND, answer(), asked, DAY_MS);
    await world.advance(1_999);
    expect(kept.get(ID, BOUND)).not.toBeNull();
    await world.advance(1);
    expect(kept.get(ID, BOUND)).toBeNull();
    kept.put(ID, BOUND, answer(), asked, DAY_MS);
    expect(kept.bytes).toBe(0);
  });

  it('a hit does not lengthen the trust', async () => {
    const world = fakeWorld();
    const kept = cache({ world });
    kept.put(ID, BOUND, answer(), kept.asking(), DAY_MS);
    for (let i = 0; i < 4; i += 1) {
      await world.advance(1_249);
      expect(kept.get(ID, BOUND)).not.toBeNull();
    }
    await world.advance(4);
    expect(kept.get(ID, BOUND)).toBeNull();
  });

  it('never outlives the record', async () => {
    const world = fakeWorld();
    const kept = cache({ world });
    kept.put(ID, BOUND, answer(), kept.asking(), 700);
    await world.advance(699);
    expect(kept.get(ID, BOUND)).not.toBeNull();
    await world.advance(1);
    expect(kept.get(ID, BOUND)).toBeNull();
  });

  it('does not trust a monotonic clock that stood still while the machine slept', () => {
    let wall = 1_000_000;
    const kept = cache({ world: { ...fakeWorld(), monotonicNow: () => 0, wallNow: () => wall } });
    kept.put(ID, BOUND, answer(), kept.asking(), DAY_MS);
    wall += 4_999;
    expect(kept.get(ID, BOUND)).not.toBeNull();
    wall += 1;
    expect(kept.get(ID, BOUND)).toBeNull();
  });

  it('stays within its bytes, and lets go of what was used longest ago', () => {
    const kept = cache({ bytesMax: 3_000 });
    for (const key of ['a', 'b', 'c']) {
      kept.put({ ...ID, key }, BOUND, answer('x'.repeat(400)), kept.asking(), DAY_MS);
    }
    kept.get({ ...ID, key: 'a' }, BOUND);
    kept.put({ ...ID, key: 'd' }, BOUND, answer('x'.repeat(400)), kept.asking(), DAY_MS);
    expect(kept.bytes).toBeLessThanOrEqual(3_000);
    const left = ['a', 'b', 'c', 'd'].filter((key) => kept.get({ ...ID, key }, BOUND) !== null);
    expect(left).toEqual(['a', 'c', 'd']);
    kept.put({ ...ID, key: 'large' }, BOUND, answer('x'.repeat(3_000)), kept.asking(), DAY_MS);
    expect(kept.get({ ...ID, key: 'large' }, BOUND)).toBeNull();
    expect(kept.get({ ...ID, key: 'a' }, BOUND)).not.toBeNull();
  });

  it('counts what it lets go of', async () => {
    const world = fakeWorld();
    const kept = cache({ world });
    kept.put(ID, BOUND, answer(), kept.asking(), DAY_MS);
    kept.put(ID, BOUND, answer('longer than before'), kept.asking(), DAY_MS);
    const { bytes } = kept;
    kept.drop(ID);
    expect([bytes > 0, kept.bytes]).toEqual([true, 0]);
    for (const key of ['a', 'b']) kept.put({ ...ID, key }, BOUND, answer(), kept.asking(), DAY_MS);
    await world.advance(5_000);
    kept.put(ID, BOUND, answer('longer than before'), kept.asking(), DAY_MS);
    expect(kept.bytes).toBe(bytes);
  });

  it('keeps nothing with 0 bytes, no answer without its body, and no record that is bound to no request', () => {
    const none = cache({ bytesMax: 0 });
    none.put(ID, BOUND, answer(), none.asking(), DAY_MS);
    expect(none.get(ID, BOUND)).toBeNull();
    const kept = cache();
    const bodiless = { ...answer(), response: { ...answer().response, body: null } };
    kept.put(ID, BOUND, bodiless, kept.asking(), DAY_MS);
    expect(kept.bytes).toBe(0);
    const record = { ...ID, ...answer(), fingerprint: null } as unknown as SamekeyRecord;
    keepRecord(kept, record, kept.asking(), DAY_MS);
    expect(kept.bytes).toBe(0);
  });

  it('does not keep a large buffer alive for a small answer', () => {
    const kept = cache();
    const large = new Uint8Array(64 * 1024).fill(7);
    const { response: small } = answer();
    const body = large.subarray(10, 14);
    kept.put(ID, BOUND, { ...answer(), response: { ...small, body } }, kept.asking(), DAY_MS);
    const replayed = kept.get(ID, BOUND)?.response.body;
    expect(replayed).toEqual(body);
    expect(replayed?.buffer.byteLength).toBe(4);
  });
});
