/** Reads captions out, with the browser's own voice, for whoever switches it on. Nothing is fetched for it. */

import { html, type ReactiveController, type ReactiveControllerHost, type TemplateResult } from 'lit';

/** What is read out. */
export interface Read extends ReactiveControllerHost {
  /** The words that stand there now. */
  readonly words: string;
}

/** Longer than the slowest voice takes: some never say that they have ended. */
const CHARACTER_MAX_MS = 150;

/** A reader of one element. */
export class Reader implements ReactiveController {
  // Types say that each browser has a voice.
  readonly #voice = (globalThis as { speechSynthesis?: SpeechSynthesis }).speechSynthesis;
  readonly #host: Read;
  #isOn = false;
  #said = '';
  #ended: Promise<unknown> = Promise.resolve();

  constructor(host: Read) {
    this.#host = host;
    host.addController(this);
  }

  /** Resolves when it has said what stands there; at once when it is silent. */
  get ended(): Promise<unknown> {
    return this.#ended;
  }

  /** Where it is switched on; nothing where there is no voice. */
  get toggle(): TemplateResult | '' {
    if (this.#voice === undefined) return '';
    return html`<label>
      <input
        type="checkbox"
        .checked=${this.#isOn}
        @change=${() => {
          this.#isOn = !this.#isOn;
          this.#host.requestUpdate();
        }}
      />
      Read out
    </label>`;
  }

  hostUpdated(): void {
    this.#say(this.#isOn ? this.#host.words : '');
  }

  hostDisconnected(): void {
    this.#say('');
  }

  /** Says it once, instead of what is being said. */
  #say(words: string): void {
    const voice = this.#voice;
    if (voice === undefined || words === this.#said) return;
    this.#said = words;
    voice.cancel();
    this.#ended = Promise.resolve();
    if (words === '') return;
    const spoken = new SpeechSynthesisUtterance(words);
    spoken.lang = 'en';
    this.#ended = new Promise((resolve) => {
      for (const end of ['end', 'error']) spoken.addEventListener(end, resolve);
      setTimeout(resolve, words.length * CHARACTER_MAX_MS);
    });
    voice.speak(spoken);
  }
}
