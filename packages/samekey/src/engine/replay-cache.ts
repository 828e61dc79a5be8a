/**
 * Final answers that this process has read a moment ago, so that the retries of one client do not ask the store each
 * time (contract §8.6). What it has only written is not kept: most keys are never seen again, and keeping each answer
 * for five seconds costs every request (some 17 µs, most of it in the collector) what the rare retry would save. A
 * store lets no key that was reopened or forgotten run before this trust has ended everywhere (F62).
 *
 * Invariants: only answers that the store holds as final, with their body · only for a request whose fingerprint is
 * equal, label and digest; everything else asks the store · trusted from when the store was *asked*, at most
 * `timeMaxMs`, and never past the record's expiry · bounded in bytes, the least recently used one goes first.
 *
 * Trust runs on the monotonic clock, which goes on while a process is stopped (SIGSTOP) but, on some systems, not while
 * the machine sleeps; so the wall clock is asked too, and whichever says "over" is believed.
 */

import { type Fingerprint, idText, type RecordId, type SamekeyRecord } from '../core/record.ts';
import { responseBytes, type StoredResponse } from '../core/response.ts';
import type { World } from '../core/world.ts';

/** A final answer, as it is replayed. */
export interface FinalAnswer {
  readonly response: StoredResponse;
  readonly attempt: number;
  readonly expiresAt: number;
}

/** When the store was asked: before it answered, so that what it said then is no older. */
export interface Asked {
  readonly monotonic: number;
  readonly wall: number;
}

/** Answers of one engine, or of one tiered store. */
export interface ReplayCache<Answer extends FinalAnswer = FinalAnswer> {
  /** The moment before a question; `put` wants it. */
  asking(): Asked;
  /** The answer to this very request, if it may still be trusted. */
  get(id: RecordId, fingerprint: Fingerprint): Answer | null;
  /** Keeps an answer whose record had `lifeLeftMs` left when the store was asked. */
  put(id: RecordId, fingerprint: Fingerprint, answer: Answer, asked: Asked, lifeLeftMs: number): void;
  /** The record turned out to be something else. */
  drop(id: RecordId): void;
  readonly bytes: number;
}

/** Bounds of the cache. */
export interface ReplayCacheOptions {
  readonly world: Pick<World, 'monotonicNow' | 'wallNow'>;
  /** Bytes kept at most, roughly; 0 keeps nothing. */
  readonly bytesMax: number;
  /** How long an answer is trusted, in milliseconds. */
  readonly timeMaxMs: number;
}

interface Entry<Answer> {
  readonly fingerprint: Fingerprint;
  readonly answer: Answer;
  readonly asked: Asked;
  readonly trustMs: number;
  readonly bytes: number;
}

/** What an entry costs beside its answer and its id. */
const ENTRY_BYTES = 512;

/** Makes an empty cache. */
export function createReplayCache<Answer extends FinalAnswer = FinalAnswer>({
  world,
  bytesMax,
  timeMaxMs,
}: ReplayCacheOptions): ReplayCache<Answer> {
  // In order of use: a hit moves its entry to the end.
  const entries = new Map<string, Entry<Answer>>();
  let bytes = 0;

  function remove(text: string): void {
    const entry = entries.get(text);
    if (entry === undefined) return;
    entries.delete(text);
    bytes -= entry.bytes;
  }

  function isOver({ asked, trustMs }: Entry<Answer>): boolean {
    return elapsedMs(world, asked) >= trustMs;
  }

  /** Makes room, and lets go of what nobody may be given any more. */
  function trim(): void {
    for (const [text, entry] of entries) {
      if (bytes <= bytesMax && !isOver(entry)) return;
      remove(text);
    }
  }

  function getOne(id: RecordId, fingerprint: Fingerprint): Answer | null {
    const text = idText(id);
    const entry = entries.get(text);
    if (entry === undefined) return null;
    if (isOver(entry)) {
      remove(text);
      return null;
    }
    const { label, digest } = entry.fingerprint;
    if (label !== fingerprint.label || digest !== fingerprint.digest) return null;
    entries.delete(text);
    entries.set(text, entry);
    return entry.answer;
  }

  function put(
    id: RecordId,
    fingerprint: Fingerprint,
    answer: Answer,
    asked: Asked,
    lifeLeftMs: number,
  ): void {
    const text = idText(id);
    remove(text);
    const { response } = answer;
    const size = ENTRY_BYTES + text.length + responseBytes(response);
    const trustMs = Math.min(timeMaxMs, lifeLeftMs);
    if (size > bytesMax || response.body === null) return;
    const kept = { ...answer, response: { ...response, body: ownBytes(response.body) } };
    const entry: Entry<Answer> = { fingerprint, answer: kept, asked, trustMs, bytes: size };
    if (isOver(entry)) return;
    entries.set(text, entry);
    bytes += size;
    trim();
  }

  return {
    get bytes() {
      return bytes;
    },
    asking: () => askingNow(world),
    get: (id, fingerprint) => (entries.size === 0 ? null : getOne(id, fingerprint)),
    put,
    drop(id) {
      if (entries.size > 0) remove(idText(id));
    },
  };
}

/** Keeps a record that was found final in the cache of an engine. */
export function keepRecord(
  cache: ReplayCache,
  { scope, key, fingerprint, response, attempt, expiresAt }: SamekeyRecord,
  asked: Asked,
  lifeLeftMs: number,
): void {
  // A record that is bound to no request would answer every one.
  if (fingerprint === null || response === null) return;
  cache.put({ scope, key }, fingerprint, { response, attempt, expiresAt }, asked, lifeLeftMs);
}

/** The moment before a question. */
export function askingNow(world: Pick<World, 'monotonicNow' | 'wallNow'>): Asked {
  return { monotonic: world.monotonicNow(), wall: world.wallNow() };
}

/** How long ago that was, in milliseconds, by whichever clock says more. */
export function elapsedMs(world: Pick<World, 'monotonicNow' | 'wallNow'>, asked: Asked): number {
  return Math.max(world.monotonicNow() - asked.monotonic, world.wallNow() - asked.wall);
}

/** Drivers give views into larger buffers, which a small answer would keep alive beyond what is counted. */
function ownBytes(body: Uint8Array): Uint8Array {
  return body.byteLength === body.buffer.byteLength ? body : new Uint8Array(body);
}
