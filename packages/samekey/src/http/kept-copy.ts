/**
 * The copy of an answer that is kept while the answer streams through, for its record: whole or not at all (F81).
 *
 * Invariants: never larger than `responseSizeMaxBytes` nor than what the instance's budget gives · the bytes are its
 * own: a source may use its memory again · once dropped it keeps nothing and holds no room.
 */

import type { Attempt } from '../engine/attempt.ts';
import type { Emit } from '../engine/events.ts';
import type { KeptBytes } from '../engine/kept-bytes.ts';

/** What a copy needs to know. */
interface KeptCopyOptions {
  readonly responseSizeMaxBytes: number;
  readonly budget: KeptBytes;
  /** Called once when the budget had no room. */
  readonly onNoRoom: () => void;
}

/** One copy. */
export class KeptCopy {
  readonly #options: KeptCopyOptions;
  #chunks: Uint8Array[] | null = [];
  #size = 0;

  constructor(options: KeptCopyOptions) {
    this.#options = options;
  }

  /** Whether everything that was added is still kept. */
  get isKept(): boolean {
    return this.#chunks !== null;
  }

  /** Keeps a copy of these bytes; false when the answer is not kept, now or any more. */
  add(bytes: Uint8Array): boolean {
    if (this.#chunks === null) return false;
    const { responseSizeMaxBytes, budget, onNoRoom } = this.#options;
    const fits = this.#size + bytes.byteLength <= responseSizeMaxBytes;
    if (!fits || !budget.take(bytes.byteLength)) {
      this.drop();
      if (fits) onNoRoom();
      return false;
    }
    this.#chunks.push(Uint8Array.from(bytes));
    this.#size += bytes.byteLength;
    return true;
  }

  /** Everything that was added; null when it was not kept. */
  bytes(): Uint8Array | null {
    if (this.#chunks === null) return null;
    const all = new Uint8Array(this.#size);
    let at = 0;
    for (const chunk of this.#chunks) {
      all.set(chunk, at);
      at += chunk.byteLength;
    }
    return all;
  }

  /** Forgets it and gives its room back. */
  drop(): void {
    if (this.#chunks === null) return;
    this.#chunks = null;
    this.#options.budget.free(this.#size);
    this.#size = 0;
  }
}

/** The event that an answer is streamed without being kept, because other streams have taken the room. */
export function tellNoRoom(emit: Emit, { scope, key, operation, number }: Attempt): void {
  emit?.({ type: 'stream-not-kept', id: { scope, key }, operation, attempt: number });
}
