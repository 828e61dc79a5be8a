/** Same fingerprint, new key: what a caller has sent several times under keys of its own for each. */

import {
  type CSSResultGroup,
  html,
  LitElement,
  type PropertyDeclarations,
  type PropertyValues,
  type TemplateResult,
} from 'lit';
import type { Minted } from '../api.ts';
import { ask } from './ask-server.ts';
import { THEME } from './console-theme.ts';
import { faultNote, RECORDS_STYLE, recordList, strange } from './pieces.ts';
import { ago, count } from './readable.ts';

/** `samekey-minted`. */
export class MintedElement extends LitElement {
  static override properties: PropertyDeclarations = {
    caller: { attribute: false },
    minted: { state: true },
    fault: { state: true },
  };
  static override styles: CSSResultGroup = [THEME, RECORDS_STYLE];

  declare caller: string;
  declare minted: Minted | null;
  declare fault: unknown;

  constructor() {
    super();
    this.caller = '';
    this.minted = null;
    this.fault = null;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('caller')) void this.#read();
  }

  async #read(): Promise<void> {
    const { caller } = this;
    this.minted = null;
    this.fault = null;
    try {
      const minted = await ask<Minted>('minted', { caller });
      if (caller === this.caller) this.minted = minted;
    } catch (error) {
      if (caller === this.caller) this.fault = error;
    }
  }

  override render(): TemplateResult {
    const { caller, minted, fault } = this;
    return html`<div class="stack">
      <h1 tabindex="-1">Same content, new key</h1>
      <p class="soft">
        Of ${strange(caller)}: requests with one fingerprint under several keys. A client that makes a key per try is not protected: each try runs.
      </p>
      ${fault === null ? '' : faultNote(fault)} ${minted === null ? (fault === null ? html`<p class="soft">Reading …</p>` : '') : said(minted)}
    </div>`;
  }
}

function said({ groups, looked, from, isCut, now }: Minted): TemplateResult {
  const reach = from === null ? '' : `, back to ${ago(from, now)}`;
  return html`<p class="small soft" role="status">${count(looked)} records looked at${reach}${isCut ? '; there may be more' : ''}.</p>
    ${
      groups.length === 0
        ? html`<p class="card soft">None: each content came under one key, or its fingerprint is not kept.</p>`
        : groups.map(
            ({ count: of, rows }) => html`<section class="card stack" aria-label="${of} keys">
              <p><strong>${count(of)} keys</strong> for one content${of > rows.length ? `; the newest ${rows.length}` : ''}</p>
              ${recordList(rows, now, '')}
            </section>`,
          )
    }`;
}
