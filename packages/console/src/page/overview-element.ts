/** The first screen: what nobody knows and what is stuck first, then how much there is of everything. */

import {
  type CSSResultGroup,
  css,
  html,
  LitElement,
  type PropertyDeclarations,
  type TemplateResult,
} from 'lit';
import type { OperationCount, Overview } from '../api.ts';
import { faultNote, pill, RECORDS_STYLE, recordList, strange } from './pieces.ts';
import { toRecords } from './view-route.ts';
import { ask, listen } from './ask-server.ts';
import { THEME } from './console-theme.ts';
import { ago, count, countedAgo, STATES } from './readable.ts';

/** `samekey-overview`. */
export class OverviewElement extends LitElement {
  static override properties: PropertyDeclarations = {
    overview: { state: true },
    fault: { state: true },
    isLive: { state: true },
  };
  static override styles: CSSResultGroup = [
    THEME,
    RECORDS_STYLE,
    css`
      .counts {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr));
        gap: 0.625rem;
      }
      .counts a {
        color: inherit;
        text-decoration: none;
        padding: 0.75rem 0.875rem;
      }
      .counts a:hover {
        background: var(--sunk);
      }
      .counts strong {
        display: block;
        font-size: 1.5rem;
        line-height: 1.3;
        font-variant-numeric: tabular-nums;
      }
      td:first-child {
        min-width: 9rem;
      }
      .alarm strong {
        color: var(--danger);
      }
      .live::before {
        content: '';
        display: inline-block;
        width: 0.5rem;
        height: 0.5rem;
        border-radius: 50%;
        background: var(--soft);
        margin-inline-end: 0.375rem;
      }
      .live.on::before {
        background: var(--good);
      }
    `,
  ];

  declare overview: Overview | null;
  declare fault: unknown;
  declare isLive: boolean;
  #stop: (() => void) | undefined;

  constructor() {
    super();
    this.overview = null;
    this.fault = null;
    this.isLive = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#read();
    this.#stop = listen(
      (overview) => {
        this.overview = overview;
      },
      (isLive) => {
        this.isLive = isLive;
      },
    );
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stop?.();
  }

  async #read(): Promise<void> {
    try {
      this.overview = await ask<Overview>('overview');
    } catch (error) {
      this.fault = error;
    }
  }

  override render(): TemplateResult {
    const { overview } = this;
    const title = html`<div class="row spread">
      <h1 tabindex="-1">What needs somebody</h1>
      <span class="live small soft ${this.isLive ? 'on' : ''}">${this.isLive ? 'live' : 'not live'}</span>
    </div>`;
    if (overview === null)
      return html`<div class="stack">${title} ${this.fault === null ? html`<p class="soft">Reading …</p>` : faultNote(this.fault)}</div>`;
    const { unknown, stuck, now, dead, deadAt } = overview;
    const letters = dead.reduce((sum, each) => sum + each.count, 0);
    return html`<div class="stack">
      ${title}
      <section class="card stack" aria-labelledby="unknown">
        <div class="row spread">
          <h2 id="unknown">Nobody knows how these ended</h2>
          <a href=${toRecords({ states: ['unknown'] })}>All unknown ones</a>
        </div>
        ${recordList(unknown, now, 'None. Every outcome is known.')}
      </section>
      <section class="card stack" aria-labelledby="stuck">
        <h2 id="stuck">Stuck: their claims are over, and nobody has ended them</h2>
        ${recordList(stuck, now, `None among the newest ${count(overview.looked)} records.`)}
      </section>
      ${
        deadAt === null
          ? html`<section class="card" aria-label="Dead letters">
              <p>Dead letters are not counted yet: <a href="#/letters">look at dead letters</a>.</p>
            </section>`
          : letters === 0
            ? ''
            : html`<section class="card row spread" aria-label="Dead letters">
              <p>
              ${pill('dead', `${count(letters)} dead`)} messages were given up.
              <span class="small soft">${countedAgo(deadAt, now)}</span>
            </p>
              <a href="#/letters">Look at dead letters</a>
            </section>`
      }
      ${this.#counts(overview)} ${operations(overview)}
    </div>`;
  }

  #counts({ counts, now }: Overview): TemplateResult {
    if (counts === null)
      return html`<section class="card" aria-label="Counts"><p class="soft">All records are being counted …</p></section>`;
    return html`<section class="stack" aria-labelledby="counts">
      <div class="row spread">
        <h2 id="counts">All records, by state</h2>
        <span class="small soft">counted ${ago(counts.at, now)}</span>
      </div>
      <div class="counts">
        ${['unknown', 'in_progress', 'pending', 'retryable', 'failed', 'completed'].map((state) => {
          const all = counts.byState[state] ?? 0;
          const isAlarm = state === 'unknown' && all > 0;
          return html`<a class="card ${isAlarm ? 'alarm' : ''}" href=${toRecords({ states: [state] })}>
            <strong>${count(all)}</strong> ${STATES[state]}
          </a>`;
        })}
      </div>
    </section>`;
  }
}

function number(one: OperationCount, name: 'unknown' | 'stuck' | 'running' | 'pending'): TemplateResult {
  return html`<td class="number">${one[name] === 0 ? '–' : count(one[name])}</td>`;
}

function operations({ operations: all, looked, isCut }: Overview): TemplateResult {
  if (all.length === 0) return html``;
  return html`<section class="card stack" aria-labelledby="operations">
    <h2 id="operations">Open ones, by operation</h2>
    <div class="scroll" tabindex="0" role="group" aria-label="Open ones, by operation">
      <table>
        <thead>
          <tr>
            <th scope="col">operation</th>
            <th scope="col" class="number">unknown</th>
            <th scope="col" class="number">stuck</th>
            <th scope="col" class="number">running</th>
            <th scope="col" class="number">pending</th>
          </tr>
        </thead>
        <tbody>
          ${all.map(
            (one) => html`<tr>
              <td>${strange(one.operation, 120)}</td>
              ${number(one, 'unknown')} ${number(one, 'stuck')} ${number(one, 'running')} ${number(one, 'pending')}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <p class="small soft">
      ${isCut ? 'The newest 1,000 unknown ones' : 'All unknown ones'}; the others among the newest ${count(looked)} records.
    </p>
  </section>`;
}
