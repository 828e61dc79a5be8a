/** Plays: one step after the other, each for as long as its words take to read. Stands still while nobody sees it. */

import type { ReactiveController, ReactiveControllerHost } from 'lit';

/** What is played. */
export interface Played extends ReactiveControllerHost {
  /** The words of the step that is shown; null at the end. */
  readonly caption: string | null;
  /** How long a step is shown, whatever its words; null: as long as they take to read. */
  readonly paceMs: number | null;
  /** Resolves when the words have been read out; at once where nobody reads them. */
  readonly said: Promise<unknown>;
  next(): void;
}

const SHOWN_MIN_MS = 1_100;
const CHARACTER_MS = 26;
const SPEEDS: readonly number[] = [0.5, 1, 2, 4];

/** A player of one element. */
export class Player implements ReactiveController {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turn = 0;
  #speed = 1;
  #isPlaying = false;
  #isSeen = true;
  readonly #host: Played & Element;
  readonly #seen = new IntersectionObserver(([entry]) => {
    this.#isSeen = entry?.isIntersecting ?? true;
    this.#plan();
  });
  readonly #onVisibility = (): void => this.#plan();

  constructor(host: Played & Element) {
    this.#host = host;
    host.addController(this);
  }

  get isPlaying(): boolean {
    return this.#isPlaying;
  }

  get speed(): number {
    return this.#speed;
  }

  play(): void {
    this.#isPlaying = true;
    this.#plan();
    this.#host.requestUpdate();
  }

  pause(): void {
    this.#isPlaying = false;
    this.#turn += 1;
    clearTimeout(this.#timer);
    this.#host.requestUpdate();
  }

  faster(): void {
    this.#speed = SPEEDS[(SPEEDS.indexOf(this.#speed) + 1) % SPEEDS.length] ?? 1;
    this.#plan();
    this.#host.requestUpdate();
  }

  hostConnected(): void {
    this.#seen.observe(this.#host);
    document.addEventListener('visibilitychange', this.#onVisibility);
  }

  hostDisconnected(): void {
    this.pause();
    this.#seen.disconnect();
    document.removeEventListener('visibilitychange', this.#onVisibility);
  }

  #plan(): void {
    clearTimeout(this.#timer);
    const turn = (this.#turn += 1);
    if (!this.#isPlaying || !this.#isSeen || document.visibilityState === 'hidden') return;
    const { caption, paceMs } = this.#host;
    if (caption === null) return this.pause();
    const ms = (paceMs ?? Math.max(SHOWN_MIN_MS, caption.length * CHARACTER_MS)) / this.#speed;
    this.#timer = setTimeout(() => {
      void this.#host.said.then(() => {
        if (turn !== this.#turn) return;
        this.#host.next();
        this.#plan();
      });
    }, ms);
  }
}
