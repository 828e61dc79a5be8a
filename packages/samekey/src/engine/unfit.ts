/**
 * Which records this process's code did not fit (F109): once it has found that, it begins no further attempt of them,
 * until they hold something else. Others may fit them at any time.
 *
 * Invariant: bounded. What is forgotten here costs one attempt more, which finds the same and does nothing.
 */

import type { RunningAttempt } from './attempt.ts';
import { idText, type RecordId, type SamekeyRecord } from '../core/record.ts';

const UNFIT_MAX = 1_000;

/** The memory. */
export class Unfit {
  readonly #known: Map<string, string> = new Map();

  /** The attempt has stopped, because its code does not fit what it found. */
  note({ id, left, resumed }: Pick<RunningAttempt, 'id' | 'left' | 'resumed'>): void {
    const [oldest] = this.#known.size < UNFIT_MAX ? [] : this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(idText(id), held(left.steps, resumed?.proof));
  }

  has(id: RecordId): boolean {
    return this.#known.size > 0 && this.#known.has(idText(id));
  }

  /**
   * Whether the record holds the very same as then; forgotten if not. A word on its open effect makes another of it.
   */
  holdsFor(record: SamekeyRecord): boolean {
    if (this.#known.get(idText(record)) === held(record.steps, record.proof)) return true;
    this.#known.delete(idText(record));
    return false;
  }
}

function held(steps: string | null, proof: SamekeyRecord['proof'] | undefined): string {
  return `${proof === 'settled'} ${steps ?? ''}`;
}
