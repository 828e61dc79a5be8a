/** What happened to one record, the oldest first: equal lines folded, gaps named and not drawn, found by text. */

import { type CSSResultGroup, html, LitElement, type PropertyDeclarations, type TemplateResult } from 'lit';
import type { Moment, Whole } from '../api.ts';
import { THEME } from './console-theme.ts';
import { type Folded, foldedMoments } from './fold-moments.ts';
import { strange } from './pieces.ts';
import { ago, clock, count, span } from './readable.ts';
import { RECORD_STYLE } from './record-style.ts';

/** Shorter ones are told by the times alone. */
const GAP_MS = 60_000;
/** Fewer lines nobody has to search. */
const SEARCHED_MIN = 4;

/** `samekey-timeline`. */
export class TimelineElement extends LitElement {
  static override properties: PropertyDeclarations = {
    whole: { attribute: false },
    text: { state: true },
    isOnlyBad: { state: true },
  };
  static override styles: CSSResultGroup = [THEME, RECORD_STYLE];

  declare whole: Whole;
  declare text: string;
  declare isOnlyBad: boolean;

  constructor() {
    super();
    this.text = '';
    this.isOnlyBad = false;
  }

  override render(): TemplateResult {
    const { moments, now } = this.whole;
    const shown = foldedMoments(moments, { text: this.text, isOnlyBad: this.isOnlyBad });
    return html`<section class="card stack" aria-labelledby="timeline">
      <h2 id="timeline">What happened</h2>
      ${moments.length < SEARCHED_MIN ? '' : this.#search()}
      ${
        shown.length === 0
          ? html`<p class="soft" role="status">
              None of the ${count(moments.length)} lines ${this.isOnlyBad ? 'is a failure' : 'is shown'}${
                this.text === '' ? '' : html` with “${strange(this.text, 60)}” in it`
              }. All are there without the search.
            </p>`
          : ''
      }
      <ol class="timeline">
        ${shown.map((moment, i) => [gap(shown[i - 1], moment), line(moment, now)])}
      </ol>
      ${
        hasTransitions(moments)
          ? ''
          : html`<p class="small soft">
        Only what the record, its messages and its audit say. A store with <code>auditTransitions</code> keeps each change between, too.
      </p>`
      }
    </section>`;
  }

  #search(): TemplateResult {
    return html`<div class="row">
      <label class="field"
        ><span>Find in what happened</span
        ><input name="find" .value=${this.text} autocomplete="off" spellcheck="false" @input=${this.#onText}
      /></label>
      <label class="check"><input type="checkbox" .checked=${this.isOnlyBad} @change=${this.#onBad} /> only failures</label>
    </div>`;
  }

  readonly #onText = (event: Event): void => {
    this.text = (event.target as HTMLInputElement).value;
  };

  readonly #onBad = (event: Event): void => {
    this.isOnlyBad = (event.target as HTMLInputElement).checked;
  };
}

function hasTransitions(moments: readonly Moment[]): boolean {
  return moments.some(({ kind, title }) => kind === 'audit' && title.startsWith('transition'));
}

function line({ at, kind, title, detail, id, times, lastAt }: Folded, now: number): TemplateResult {
  return html`<li class=${kind}>
    <p>${strange(title)}${times === 1 ? '' : html` <strong>× ${count(times)}</strong>`}</p>
    ${detail === null || detail === '' ? '' : html`<p class="small soft">${strange(detail)}</p>`}
    ${id === null ? '' : html`<p class="small soft mono">${strange(id, 200)}</p>`}
    ${
      at === null
        ? html`<p class="small soft">its time is not kept</p>`
        : html`<p class="small soft">
            <time>${clock(at)}</time>, ${ago(at, now)}${lastAt === null ? '' : html`, the last <time>${clock(lastAt)}</time>`}
          </p>`
    }
  </li>`;
}

function gap(before: Folded | undefined, after: Folded): TemplateResult | '' {
  const from = before?.lastAt ?? before?.at ?? null;
  if (from === null || after.at === null || after.at - from < GAP_MS) return '';
  return html`<li class="gap">${span(after.at - from)} later</li>`;
}
