/** What was done by hand and what contradicted itself, newest first; and erasing a caller. */

import {
  type CSSResultGroup,
  css,
  html,
  LitElement,
  type PropertyDeclarations,
  type TemplateResult,
} from 'lit';
import type { Audit, AuditLine, EraseAnswer, Me } from '../api.ts';
import { faultNote, pill, strange } from './pieces.ts';
import { toRecord } from './view-route.ts';
import { ask } from './ask-server.ts';
import { Preview } from './preview.ts';
import { THEME } from './console-theme.ts';
import { ago, clock, harmless, textIn } from './readable.ts';

/** `samekey-audit`. */
export class AuditElement extends LitElement {
  static override properties: PropertyDeclarations = {
    me: { attribute: false },
    rows: { state: true },
    older: { state: true },
    now: { state: true },
    fault: { state: true },
    erased: { state: true },
  };
  static override styles: CSSResultGroup = [
    THEME,
    css`
      .lines li {
        padding: 0.625rem 0;
        border-top: 1px solid var(--line);
        overflow-wrap: anywhere;
      }
      .lines li:first-child {
        border-top: 0;
      }
      summary {
        cursor: pointer;
      }
      form {
        margin-top: 0.75rem;
      }
    `,
  ];

  declare me: Me;
  declare rows: readonly AuditLine[];
  declare older: string | null;
  declare now: number;
  declare fault: unknown;
  /** What became of the last one. */
  declare erased: EraseAnswer | null;
  readonly #preview = new Preview<Erasing, EraseAnswer>(() => this.requestUpdate());

  constructor() {
    super();
    this.rows = [];
    this.older = null;
    this.now = 0;
    this.fault = null;
    this.erased = null;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#read(true);
  }

  async #read(isAnew: boolean): Promise<void> {
    this.fault = null;
    try {
      const audit = await ask<Audit>('audit', isAnew || this.older === null ? {} : { before: this.older });
      this.rows = isAnew ? audit.rows : [...this.rows, ...audit.rows];
      this.older = audit.before;
      this.now = audit.now;
    } catch (error) {
      this.fault = error;
    }
  }

  override render(): TemplateResult {
    return html`<div class="stack">
      <h1 tabindex="-1">Audit</h1>
      ${this.fault === null ? '' : faultNote(this.fault)}
      <section class="card" aria-label="Rows">
        ${this.now > 0 && this.rows.length === 0 ? html`<p class="soft">Nobody has done anything by hand.</p>` : ''}
        <ul class="lines">
          ${this.rows.map((row) => this.#line(row))}
        </ul>
        ${this.older === null ? '' : html`<button @click=${() => void this.#read(false)}>More</button>`}
      </section>
      ${this.me.rights.includes('erase') ? this.#erase() : ''}
    </div>`;
  }

  #line({ act, from, to, actor, reason, at, scope, key, operation }: AuditLine): TemplateResult {
    const change = from === null && to === null ? '' : ` ${from ?? '–'} → ${to ?? '–'}`;
    return html`<li>
      <p>${pill(act === 'contradiction' ? 'unknown' : 'plain', act)}${change} by <strong>${strange(actor ?? 'nobody named')}</strong>
        <time class="soft small" title=${clock(at)}>${ago(at, this.now)}</time></p>
      <p>${reason === null ? '' : strange(reason)}</p>
      <p class="small soft">
        ${scope === '' ? strange(key) : html`<a href=${toRecord({ scope, key })}>${strange(key, 120)}</a>`}
        ${operation === null ? '' : strange(operation, 120)}
      </p>
    </li>`;
  }

  #erase(): TemplateResult {
    const { held, fault, isBusy } = this.#preview;
    const said = held?.shown ?? this.erased;
    return html`<details class="card">
      <summary>Erase a caller</summary>
      <form class="stack" @submit=${this.#onErase} @input=${this.#onInput}>
        <label class="field"><span>Caller, as records show it</span><input name="caller" required placeholder="acme/alice" autocomplete="off" /></label>
        <label class="field"><span>Reason, for the audit</span><input name="reason" required maxlength="1000" /></label>
        ${fault === null ? '' : faultNote(fault)}
        ${
          said === null
            ? ''
            : html`<div class="note ${held === null ? 'good' : ''}" role="status">
                ${said.lines.map((line) => html`<p>${harmless(line)}</p>`)}
              </div>`
        }
        <div class="row">
          ${
            held === null
              ? html`<button ?disabled=${isBusy}>See what will happen</button>`
              : html`<button class="danger" ?disabled=${isBusy}>Erase what they hold</button>`
          }
        </div>
      </form>
    </details>`;
  }

  readonly #onInput = (): void => {
    this.erased = null;
    this.#preview.drop();
  };

  readonly #onErase = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (this.#preview.held !== null) {
      await this.#preview.act(async (request) => {
        this.erased = await ask<EraseAnswer>('erase', request);
      });
      return this.#read(true);
    }
    const given = new FormData(event.target as HTMLFormElement);
    const request: Erasing = { caller: textIn(given, 'caller').trim(), reason: textIn(given, 'reason') };
    if (!this.#preview.isBusy) this.erased = null;
    await this.#preview.look(async () => ({
      request,
      shown: await ask<EraseAnswer>('preview-erase', request),
    }));
  };
}

interface Erasing {
  readonly caller: string;
  readonly reason: string;
}
