/** One record: what it is, what can be done, what happened, and an outline of what it holds. */

import {
  type CSSResultGroup,
  html,
  LitElement,
  type PropertyDeclarations,
  type PropertyValues,
  type TemplateResult,
} from 'lit';
import type { Id, Me, Revealed, Whole } from '../api.ts';
import { faultNote, pill, strange } from './pieces.ts';
import { RECORD_STYLE } from './record-style.ts';
import { contentOf } from './record-content.ts';
import { toRecords } from './view-route.ts';
import { ask } from './ask-server.ts';
import { THEME } from './console-theme.ts';
import { ago, clock, textIn } from './readable.ts';

/** `samekey-record`. */
export class RecordElement extends LitElement {
  static override properties: PropertyDeclarations = {
    target: { attribute: false },
    me: { attribute: false },
    whole: { state: true },
    fault: { state: true },
    revealed: { state: true },
    revealFault: { state: true },
    isRevealing: { state: true },
  };
  static override styles: CSSResultGroup = [THEME, RECORD_STYLE];

  declare target: Id;
  declare me: Me;
  declare whole: Whole | null;
  declare fault: unknown;
  declare revealed: Revealed | null;
  declare revealFault: unknown;
  /** One row of the audit for one look. */
  declare isRevealing: boolean;
  /** What is answered of an earlier target, or to an earlier question, comes too late. */
  #turn = 0;

  constructor() {
    super();
    this.target = { scope: '', key: '' };
    this.whole = null;
    this.fault = null;
    this.revealed = null;
    this.revealFault = null;
    this.isRevealing = false;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('target')) return;
    this.whole = null;
    this.revealed = null;
    this.revealFault = null;
    void this.#read();
  }

  async #read(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    this.fault = null;
    try {
      const whole = await ask<Whole>('record', this.target);
      if (turn === this.#turn) this.whole = whole;
    } catch (error) {
      if (turn === this.#turn) this.fault = error;
    }
  }

  override render(): TemplateResult {
    const { whole, fault } = this;
    if (whole === null)
      return html`<div class="stack"><h1 tabindex="-1">Record</h1>${fault === null ? html`<p class="soft">Reading …</p>` : faultNote(fault)}</div>`;
    const { row, meaning, why, next, now } = whole;
    return html`<div class="stack">
      <header class="stack head">
        <div class="row">${pill(row.state)} <span class="soft">${strange(row.operation)}</span></div>
        <h1 tabindex="-1" class="mono">${strange(row.key, 300)}</h1>
        <p class="soft">
          of <a href=${toRecords({ caller: row.caller })}>${strange(row.caller)}</a> · first used
          <time title=${clock(row.createdAt)}>${ago(row.createdAt, now)}</time> · <span class="mono">#${row.keyHash}</span>
        </p>
        <p><strong class="meaning">${meaning}.</strong> ${why === null ? '' : html`Why: ${strange(why)}.`}</p>
        ${next === null ? '' : html`<p class="note">${next}</p>`}
      </header>
      <div class="columns">
        <div class="stack">
          <samekey-act .whole=${whole} .me=${this.me} @acted=${() => void this.#read()}></samekey-act>
          <section class="card stack" aria-labelledby="facts">
            <h2 id="facts">Facts</h2>
            <dl>
              ${whole.facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${strange(value)}</dd></div>`)}
            </dl>
          </section>
        </div>
        <div class="stack">
          <samekey-timeline .whole=${whole}></samekey-timeline>
          ${contentOf(whole, {
            revealed: this.revealed,
            fault: this.revealFault,
            isBusy: this.isRevealing,
            mayReveal: this.me.rights.includes('reveal'),
            onReveal: this.#onReveal,
          })}
        </div>
      </div>
    </div>`;
  }

  readonly #onReveal = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (this.isRevealing) return;
    const reason = textIn(new FormData(event.target as HTMLFormElement), 'reason');
    const { target } = this;
    this.revealFault = null;
    this.isRevealing = true;
    try {
      const revealed = await ask<Revealed>('reveal', { ...target, reason });
      // What one record holds is never shown on the page of another.
      if (target !== this.target) return;
      this.revealed = revealed;
      // It has one more row of the audit now.
      await this.#read();
    } catch (error) {
      if (target === this.target) this.revealFault = error;
    }
    this.isRevealing = false;
  };
}
