/** Play, pause, one step on and back, any step. */

import {
  type CSSResultGroup,
  css,
  html,
  LitElement,
  type PropertyDeclarations,
  type TemplateResult,
} from 'lit';
import { GoEvent } from './stage-element.ts';
import { THEME } from './theme.ts';

/** Asked for by whoever wants it to play, or to stop playing. */
class ToggleEvent extends Event {
  constructor() {
    super('toggle-play', { bubbles: true, composed: true });
  }
}

/** `samekey-controls`. */
export class ControlsElement extends LitElement {
  static override properties: PropertyDeclarations = {
    step: { type: Number },
    count: { type: Number },
    playing: { type: Boolean },
    said: { type: String },
  };
  static override styles: CSSResultGroup = [
    THEME,
    css`
      :host {
        display: flex;
        align-items: center;
        gap: 0.5rem 0.75rem;
      }
      .buttons {
        display: flex;
        gap: 0.25rem;
      }
      button {
        min-width: 2.75rem;
        height: 2.75rem;
        padding: 0 0.75rem;
        border: 1px solid var(--line);
        border-radius: 10px;
        background: var(--card);
      }
      button:hover:not(:disabled) {
        background: var(--sunk);
      }
      button:disabled {
        color: var(--soft);
        cursor: default;
      }
      .play {
        min-width: 6.5rem;
        background: var(--ink);
        border-color: var(--ink);
        color: var(--card);
        font-weight: 600;
      }
      .play:hover:not(:disabled) {
        background: var(--claim);
        border-color: var(--claim);
      }
      svg {
        width: 18px;
        height: 18px;
        vertical-align: -4px;
        fill: currentColor;
      }
      .scrub {
        flex: 1;
        min-width: 0;
        display: flex;
        align-items: center;
        gap: 0.75rem;
      }
      input {
        flex: 1;
        min-width: 0;
        height: 2.75rem;
        accent-color: var(--claim);
      }
      @media (max-width: 420px) {
        .play {
          min-width: 2.75rem;
        }
        .play span {
          position: absolute;
          clip-path: inset(50%);
        }
      }
      .of {
        font-size: 0.8125rem;
        color: var(--soft);
        font-variant-numeric: tabular-nums;
        white-space: nowrap;
      }
    `,
  ];

  declare step: number;
  declare count: number;
  declare playing: boolean;
  declare said: string;

  constructor() {
    super();
    this.step = 0;
    this.count = 1;
    this.playing = false;
    this.said = '';
  }

  override render(): TemplateResult {
    const { step, count, playing } = this;
    const last = count - 1;
    const word = playing ? 'Pause' : step === last ? 'Again' : 'Play';
    return html`
      <div class="buttons">
        <button class="play" @click=${() => this.dispatchEvent(new ToggleEvent())}>${playing ? PAUSE : PLAY} <span>${word}</span></button>
        <button aria-label="One step back" ?disabled=${step === 0} @click=${() => this.#go(step - 1)}>${BACK}</button>
        <button aria-label="One step on" ?disabled=${step === last} @click=${() => this.#go(step + 1)}>${ON}</button>
      </div>
      <div class="scrub">
        <input
          type="range"
          aria-label="Step"
          aria-valuetext="Step ${step + 1} of ${count}: ${this.said}"
          min="0"
          max=${last}
          .value=${String(step)}
          @input=${(event: Event) => this.#go(Number((event.target as HTMLInputElement).value))}
        />
        <span class="of">${step + 1} / ${count}</span>
      </div>
    `;
  }

  #go(step: number): void {
    this.dispatchEvent(new GoEvent(step));
  }
}

const icon = (path: string): TemplateResult =>
  html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d=${path}></path></svg>`;
const PLAY = icon('M7 4v16l13-8z');
const PAUSE = icon('M6 4h4v16H6zM14 4h4v16h-4z');
const BACK = icon('M17 4v16L6 12z');
const ON = icon('M7 4v16l11-8z');
