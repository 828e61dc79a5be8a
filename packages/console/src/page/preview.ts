/**
 * What was previewed, and may be done. One for all acts.
 *
 * Invariants: what is done is the very request whose preview stands on the page, and nothing that was typed, chosen or
 * read after it · whatever changes takes the preview away, also one that is still under way · while something is under
 * way, another Enter does nothing.
 */

/** A request, and what was said of it. */
export interface Held<Request, Shown> {
  readonly request: Request;
  readonly shown: Shown;
}

/** Holds at most one. */
export class Preview<Request, Shown> {
  held: Held<Request, Shown> | null = null;
  fault: unknown = null;
  isBusy = false;
  readonly #changed: () => void;
  #turn = 0;

  /** `changed` is called for each change. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** What it was of has changed. */
  readonly drop = (): void => {
    this.#turn += 1;
    this.held = null;
    this.fault = null;
    this.#changed();
  };

  /** Asks what would happen. What comes after a change belongs to nothing, and is dropped. */
  async look(find: () => Promise<Held<Request, Shown>>): Promise<void> {
    if (this.isBusy) return;
    this.drop();
    const turn = this.#turn;
    await this.#alone(async () => {
      try {
        const held = await find();
        if (turn === this.#turn) this.held = held;
      } catch (error) {
        if (turn === this.#turn) this.fault = error;
      }
    });
  }

  /** Does what was shown, once: the preview is gone with it, so that it takes another look to do it again. */
  async act(perform: (request: Request) => Promise<void>): Promise<void> {
    const { held } = this;
    if (this.isBusy || held === null) return;
    this.drop();
    await this.#alone(async () => {
      try {
        await perform(held.request);
      } catch (error) {
        // Whatever was typed meanwhile: of what was done somebody must hear.
        this.fault = error;
      }
    });
  }

  async #alone(work: () => Promise<void>): Promise<void> {
    this.isBusy = true;
    this.#changed();
    await work();
    this.isBusy = false;
    this.#changed();
  }
}
