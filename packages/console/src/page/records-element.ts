/** Search and list. What has no index is looked for from the newest back, as far as somebody asks. */

import {
  type CSSResultGroup,
  css,
  html,
  LitElement,
  type PropertyDeclarations,
  type PropertyValues,
  type TemplateResult,
} from 'lit';
import type { List, Me, Row } from '../api.ts';
import { faultNote, RECORDS_STYLE, recordList } from './pieces.ts';
import { type Filter, NO_FILTER, toMinted, toRecords } from './view-route.ts';
import { ask } from './ask-server.ts';
import { THEME } from './console-theme.ts';
import { clock, count, STATES, textIn } from './readable.ts';

/** `samekey-records`. */
export class RecordsElement extends LitElement {
  static override properties: PropertyDeclarations = {
    filter: { attribute: false },
    me: { attribute: false },
    rows: { state: true },
    cursor: { state: true },
    looked: { state: true },
    passedOver: { state: true },
    now: { state: true },
    fault: { state: true },
    isBusy: { state: true },
    isCut: { state: true },
  };
  static override styles: CSSResultGroup = [
    THEME,
    RECORDS_STYLE,
    css`
      form {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr));
        gap: 0.75rem;
        align-items: end;
      }
    `,
  ];

  declare filter: Filter;
  declare me: Me;
  declare rows: readonly Row[];
  declare cursor: string | null;
  declare looked: number;
  /** Milliseconds of which not all records can be shown. */
  declare passedOver: readonly number[];
  declare now: number;
  declare fault: unknown;
  declare isBusy: boolean;
  declare isCut: boolean;
  /** Answers to an earlier search come too late. */
  #search = 0;

  constructor() {
    super();
    this.filter = NO_FILTER;
    this.rows = [];
    this.cursor = null;
    this.looked = 0;
    this.passedOver = [];
    this.now = 0;
    this.fault = null;
    this.isBusy = false;
    this.isCut = false;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('filter')) return;
    this.rows = [];
    this.looked = 0;
    this.passedOver = [];
    this.cursor = null;
    void this.#read();
  }

  async #read(): Promise<void> {
    this.#search += 1;
    const search = this.#search;
    this.isBusy = true;
    this.fault = null;
    const cursor = this.cursor === null ? {} : { cursor: this.cursor };
    try {
      const list = await ask<List>('records', { ...this.filter, ...cursor });
      if (search !== this.#search) return;
      this.rows = [...this.rows, ...list.rows];
      this.looked += list.looked;
      if (list.passedOver !== null) this.passedOver = [...this.passedOver, list.passedOver];
      this.cursor = list.cursor;
      this.isCut = list.isCut;
      this.now = list.now;
    } catch (error) {
      if (search === this.#search) this.fault = error;
    }
    if (search === this.#search) this.isBusy = false;
  }

  override render(): TemplateResult {
    const { filter, rows, cursor, looked, isBusy, fault } = this;
    const state = filter.states.join(',');
    return html`<div class="stack">
      <h1 tabindex="-1">Records</h1>
      <form class="card" @submit=${this.#onSubmit}>
        <label class="field"><span>Key</span><input name="key" .value=${filter.key} autocomplete="off" spellcheck="false" /></label>
        <label class="field"
          ><span>Caller</span
          ><input name="caller" .value=${filter.caller} autocomplete="off" spellcheck="false" placeholder="acme/alice"
        /></label>
        <label class="field"
          ><span>Operation</span><input name="operation" .value=${filter.operation} placeholder="POST /payments"
        /></label>
        <label class="field"
          ><span>State</span>
          <select name="states" .value=${state}>
            <option value="" ?selected=${state === ''}>any</option>
            ${Object.entries(STATES).map(([each, words]) => html`<option value=${each} ?selected=${state === each}>${words}</option>`)}
          </select></label
        >
        ${
          this.me.keepsReferences
            ? html`<label class="field"
                ><span>Downstream key, or the provider’s id</span
                ><input name="reference" .value=${filter.reference} autocomplete="off" spellcheck="false" placeholder="pi_3Nk…"
              /></label>`
            : ''
        }
        <button class="main">Search</button>
      </form>
      ${fault === null ? '' : faultNote(fault)}
      ${
        filter.caller === ''
          ? ''
          : html`<p><a href=${toMinted(filter.caller)}>Same content under new keys, of this caller</a></p>`
      }
      <samekey-bulk-form .filter=${filter} .me=${this.me}></samekey-bulk-form>
      <section class="card stack" aria-label="Found">
        ${recordList(rows, this.now, isBusy ? 'Looking …' : this.#nothing())}
        ${
          this.passedOver.length === 0
            ? ''
            : html`<p class="note danger" role="alert">
                Not all are here. Of ${this.passedOver.map((at) => clock(at)).join(', ')} there are 1,000 records or more of one
                millisecond, and what is beyond the first 1,000 cannot be listed: name the caller or the key.
              </p>`
        }
        ${this.isCut ? html`<p class="note">There may be more: say of which operation or caller.</p>` : ''}
        <div class="row spread">
          <span class="small soft" role="status">
            ${isBusy ? 'Looking …' : `${count(rows.length)} shown, ${count(looked)} looked at`}
          </span>
          ${
            cursor === null
              ? ''
              : html`<button ?disabled=${isBusy} @click=${() => void this.#read()}>
                  ${rows.length === 0 ? 'Look further back' : 'More'}
                </button>`
          }
        </div>
      </section>
    </div>`;
  }

  /** Why a list is empty. */
  #nothing(): string {
    if (this.filter.reference !== '')
      return 'Nothing leads from it to a record: no call has carried it or noted it, the record has expired, it is of another caller, or its operation calls nobody under a key.';
    if (this.cursor !== null)
      return `None among the newest ${count(this.looked)} records. A key together with its caller is found at once.`;
    return 'There is none: it was never stored here, has expired and been deleted, or belongs to another caller or database.';
  }

  readonly #onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = new FormData(event.target as HTMLFormElement);
    const text = (name: string): string => textIn(given, name).trim();
    const states = text('states');
    const filter = {
      key: text('key'),
      caller: text('caller'),
      operation: text('operation'),
      reference: text('reference'),
    };
    const to = toRecords({ ...filter, states: states === '' ? [] : [states] });
    if (location.hash === to) this.filter = { ...this.filter };
    else location.hash = to;
  };
}
