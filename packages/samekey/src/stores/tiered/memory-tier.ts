/**
 * Final records in this process: the replay cache of an engine, with the whole record, for several instances on one
 * store.
 *
 * Invariant: what comes out says how long it may still be trusted, so that whoever keeps it further adds no trust of
 * his own.
 */

import type { Fingerprint, RecordId, SamekeyRecord } from '../../core/record.ts';
import { type Asked, createReplayCache, elapsedMs, type FinalAnswer } from '../../engine/replay-cache.ts';
import type { Checked } from './options.ts';
import type { Trusted } from './shared-tier.ts';

/** The tier. */
interface MemoryTier {
  get(id: RecordId, fingerprint: Fingerprint): Trusted | null;
  /** Keeps what was true when it was asked for. */
  put(found: Trusted, asked: Asked): void;
  drop(id: RecordId): void;
}

interface Kept extends FinalAnswer {
  /** Without its answer, which stands beside it. */
  readonly record: SamekeyRecord;
  readonly asked: Asked;
  readonly lifeLeftMs: number;
  readonly trustLeftMs: number;
}

/** Inputs and steps would lie here for nothing: no replay reads them. Small ones do no harm. */
const BESIDE_BYTES_MAX = 4_096;

/** Makes it; null with 0 bytes. */
export function createMemoryTier({ memoryBytesMax, trustMs, world }: Checked): MemoryTier | null {
  if (memoryBytesMax === 0) return null;
  const cache = createReplayCache<Kept>({ world, bytesMax: memoryBytesMax, timeMaxMs: trustMs });
  return {
    get(id, fingerprint) {
      const kept = cache.get(id, fingerprint);
      if (kept === null) return null;
      const sinceMs = Math.ceil(elapsedMs(world, kept.asked));
      const lifeLeftMs = kept.lifeLeftMs - sinceMs;
      const trustLeftMs = kept.trustLeftMs - sinceMs;
      const record = Object.freeze({ ...kept.record, response: kept.response });
      return lifeLeftMs > 0 && trustLeftMs > 0 ? { record, lifeLeftMs, trustLeftMs } : null;
    },
    put({ record, lifeLeftMs, trustLeftMs }, asked) {
      const { fingerprint, response, attempt, expiresAt } = record;
      if (fingerprint === null || response === null) return;
      if ((record.input?.length ?? 0) + (record.steps?.length ?? 0) > BESIDE_BYTES_MAX) return;
      const kept = { response, attempt, expiresAt, asked, lifeLeftMs, trustLeftMs };
      cache.put(
        record,
        fingerprint,
        { ...kept, record: { ...record, response: null } },
        asked,
        Math.min(lifeLeftMs, trustLeftMs),
      );
    },
    drop: (id) => cache.drop(id),
  };
}
