/** Dead letters: which they are, what became of their requests, and delivering or dropping many at once. */

import {
  type CSSResultGroup,
  css,
  html,
  LitElement,
  type PropertyDeclarations,
  type PropertyValues,
  type TemplateResult,
} from 'lit';
import type { BulkAnswer, BulkJob, BulkRow, Letter, Letters, Me } from '../api.ts';
import { faultNote, pill, strange } from './pieces.ts';
import { toJob, toRecord } from './view-route.ts';
import { ask } from './ask-server.ts';
import { type Held, Preview } from './preview.ts';
import { THEME } from './console-theme.ts';
import { ago, count, countedAgo, ENDS, textIn } from './readable.ts';

type Verb = 'requeue' | 'drop';

/** What was tried dry: whatever has died since is none of it. */
interface Tried {
  readonly verb: Verb;
  readonly topic: string;
  readonly ids: readonly string[];
}

/** `samekey-letters`. */
export class LettersElement extends LitElement {
  static override properties: PropertyDeclarations = {
    me: { attribute: false },
    topic: { attribute: false },
    page: { state: true },
    letters: { state: true },
    chosen: { state: true },
    done: { state: true },
    fault: { state: true },
    isRead: { state: true },
    refused: { state: true },
    isBeginning: { state: true },
  };
  static override styles: CSSResultGroup = [
    THEME,
    css`
      td:first-child {
        width: 2rem;
      }
      td p + p {
        margin-top: 0.125rem;
      }
      @media (max-width: 52rem) {
        thead {
          display: none;
        }
        tr {
          display: grid;
          grid-template-columns: 2rem minmax(0, 1fr);
          padding: 0.625rem 0;
          border-bottom: 1px solid var(--line);
        }
        td {
          border: 0;
          padding: 0.125rem 0;
          grid-column: 2;
        }
        td:first-child {
          grid-column: 1;
          grid-row: 1 / span 4;
        }
      }
    `,
  ];

  declare me: Me;
  declare topic: string;
  declare page: Letters | null;
  declare letters: readonly Letter[];
  /** Ids; null: all of the topic. */
  declare chosen: ReadonlySet<string> | null;
  /** What became of those that were done last, and of which topic they were. */
  declare done: { readonly topic: string; readonly answer: BulkAnswer } | null;
  /** Of reading; that of an act stays beside it. */
  declare fault: unknown;
  /** Whether the letters are those of the topic. */
  declare isRead: boolean;
  /** Of a job that did not begin. */
  declare refused: unknown;
  declare isBeginning: boolean;
  readonly #preview = new Preview<Tried, BulkAnswer>(() => this.requestUpdate());
  #turn = 0;

  constructor() {
    super();
    this.topic = '';
    this.page = null;
    this.letters = [];
    this.chosen = new Set();
    this.done = null;
    this.fault = null;
    this.isRead = false;
    this.refused = null;
    this.isBeginning = false;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('topic')) return;
    this.chosen = new Set();
    this.letters = [];
    this.isRead = false;
    this.refused = null;
    this.#forgetTry();
    void this.#read(true);
  }

  async #read(isAnew: boolean): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    this.fault = null;
    try {
      const after = isAnew ? 0 : (this.page?.after ?? 0);
      const page = await ask<Letters>('letters', { after, topic: this.topic });
      if (turn !== this.#turn) return;
      this.isRead = true;
      this.letters = isAnew ? page.letters : [...this.letters, ...page.letters];
      this.page = page;
    } catch (error) {
      if (turn === this.#turn) this.fault = error;
    }
  }

  override render(): TemplateResult {
    const { page, letters, fault } = this;
    return html`<div class="stack">
      <h1 tabindex="-1">Dead letters</h1>
      <p class="soft">Messages that were given up. Mend the cause first; then deliver them again, under the same downstream key.</p>
      ${fault === null ? '' : faultNote(fault)}
      ${page === null ? html`<p class="soft">Reading …</p>` : html`${this.#topics(page)} ${this.#bulk()} ${this.#table(letters, page)}`}
    </div>`;
  }

  #topics({ topics, topicsAt, now }: Letters): TemplateResult {
    if (topicsAt === null)
      return html`<p class="small soft">How many there are of which topic is not counted yet.</p>`;
    if (topics.length === 0) return html``;
    return html`<nav class="row" aria-label="Topics">
      <a href="#/letters" aria-current=${this.topic === '' ? 'page' : 'false'}>all</a>
      ${topics.map(
        ({ topic, count: of }) =>
          html`<a href="#/letters?${new URLSearchParams({ topic }).toString()}" aria-current=${this.topic === topic ? 'page' : 'false'}
            >${strange(topic)} (${count(of)})</a
          >`,
      )}
      <span class="small soft">${countedAgo(topicsAt, now)}</span>
    </nav>`;
  }

  #table(letters: readonly Letter[], { now, after }: Letters): TemplateResult {
    if (!this.isRead) return html`<p class="card soft">Reading …</p>`;
    if (letters.length === 0)
      return html`<p class="card soft">
        ${this.me.keepsMessages ? 'None. No message was given up.' : 'This store keeps no messages.'}
      </p>`;
    return html`<section class="card stack" aria-label="Dead letters">
      <table>
        <thead>
          <tr>
            <th scope="col"><span class="hidden">chosen</span></th>
            <th scope="col">message</th>
            <th scope="col">its request</th>
            <th scope="col">deliveries</th>
          </tr>
        </thead>
        <tbody>
          ${letters.map((letter) => this.#line(letter, now))}
        </tbody>
      </table>
      ${after === null ? '' : html`<button @click=${() => void this.#read(false)}>More</button>`}
    </section>`;
  }

  #line(letter: Letter, now: number): TemplateResult {
    const { id, topic, lastError, owner, requestWords, started, finished, proven, dueAt } = letter;
    const isChosen = this.chosen === null || this.chosen.has(id);
    return html`<tr>
      <td>
        <input type="checkbox" aria-label="Choose ${id}" .checked=${isChosen} @change=${() => this.#toggle(id)} />
      </td>
      <td>
        <p>${pill('dead', 'dead')} <strong>${strange(topic)}</strong> <span class="soft">${ago(dueAt, now)}</span></p>
        <p class="mono small">${strange(id)}</p>
        <p class="small soft">${strange(lastError ?? 'no error was told', 300)}</p>
      </td>
      <td>${owner === null ? requestWords : html`<a href=${toRecord(owner)}>${requestWords}</a>`}</td>
      <td class="small soft">${started} begun, ${finished} ended, ${proven} proven without effect</td>
    </tr>`;
  }

  #bulk(): TemplateResult {
    const { me, chosen, done } = this;
    const { held, fault, isBusy } = this.#preview;
    if (this.letters.length === 0 && done === null && fault === null && !isBusy) return html``;
    const wanted = (held?.shown.counts.would ?? 0) > 0 ? (held?.request.verb ?? null) : null;
    const answer = held?.shown ?? done?.answer ?? null;
    const isOther = held === null && done !== null && done.topic !== this.topic;
    const rights = (['requeue', 'drop'] as const).filter((right) => me.rights.includes(right));
    if (rights.length === 0)
      return html`<p class="small soft">This console was opened without the rights <code>requeue, drop</code>: it can be looked at only.</p>`;
    const what = chosen === null ? 'all' : chosen.size === 0 ? 'the chosen ones' : count(chosen.size);
    const isNone = chosen?.size === 0;
    return html`<form class="card stack" @submit=${this.#onSubmit}>
      <div class="row">
        <label class="check"
          ><input type="checkbox" .checked=${chosen === null} @change=${this.#onAll} /> All${
            this.topic === '' ? '' : html` of ${strange(this.topic)}`
          }, also those not shown</label
        >
      </div>
      <div class="row">
        ${rights.map(
          (verb) =>
            html`<button type="button" class=${verb === 'drop' ? 'danger' : ''} ?disabled=${isBusy || isNone || this.isBeginning} @click=${() => void this.#try(verb)}>
              ${verb === 'requeue' ? `Deliver ${what} again` : `Drop ${what}`} …
            </button>`,
        )}
      </div>
      ${chosen === null ? html`<p class="small soft">All of them are a job: a dry run first, which changes nothing.</p>` : ''}
      ${fault === null ? '' : faultNote(fault)} ${this.refused === null ? '' : faultNote(this.refused)}
      ${isOther ? html`<p>Of ${done.topic === '' ? 'all topics' : strange(done.topic)}:</p>` : ''}
      ${answer === null ? '' : this.#said(answer)}
      ${
        wanted === null
          ? ''
          : html`<label class="field"><span>Reason, for the audit</span><input name="reason" required maxlength="1000" /></label>
              ${wanted === 'drop' ? html`<p class="note danger">A message of its own is still owed to whoever it was for, and is never sent then.</p>` : ''}
              <div class="row">
                <button class=${wanted === 'drop' ? 'danger' : 'main'} ?disabled=${isBusy}>
                  ${wanted === 'requeue' ? 'Deliver them again' : 'Drop them'}
                </button>
              </div>`
      }
    </form>`;
  }

  #said({ rows, counts }: BulkAnswer): TemplateResult {
    const said = Object.entries(counts).map(
      ([end, number]) => `${count(number ?? 0)} ${ENDS[end as BulkRow['end']]}`,
    );
    const others = rows.filter(({ end }) => end !== 'done' && end !== 'would');
    return html`<div class="note" role="status">
      <p><strong>${said.length === 0 ? 'None.' : `${said.join(', ')}.`}</strong></p>
      ${
        others.length === 0
          ? ''
          : html`<ul>
              ${others.slice(0, 100).map(({ id, end, why }) => html`<li><code>${strange(id)}</code> ${ENDS[end]}: ${why}</li>`)}
            </ul>`
      }
    </div>`;
  }

  #toggle(id: string): void {
    const chosen = new Set(this.chosen ?? this.letters.map((letter) => letter.id));
    if (!chosen.delete(id)) chosen.add(id);
    this.chosen = chosen;
    this.#forgetTry();
  }

  readonly #onAll = (event: Event): void => {
    this.chosen = (event.target as HTMLInputElement).checked ? null : new Set();
    this.#forgetTry();
  };

  #forgetTry(): void {
    // What is being done right now says what became of it, wherever somebody has gone.
    if (!this.#preview.isBusy) this.done = null;
    this.#preview.drop();
  }

  async #try(verb: Verb): Promise<void> {
    if (!this.#preview.isBusy) this.done = null;
    const { topic, chosen } = this;
    if (chosen === null) await this.#beginJob(verb, topic);
    else await this.#preview.look(() => tried(verb, topic, [...chosen]));
  }

  /** All of a topic may be more than one call takes: a job can be left, and found again. */
  async #beginJob(verb: Verb, topic: string): Promise<void> {
    if (this.isBeginning) return;
    this.isBeginning = true;
    this.refused = null;
    try {
      const job = await ask<BulkJob>('bulk-try', { request: { act: verb }, filter: { topic } });
      // Somebody may have gone elsewhere; the job is found again there.
      if (topic === this.topic && this.isConnected) location.hash = toJob(job.id);
    } catch (error) {
      if (topic === this.topic) this.refused = error;
    }
    this.isBeginning = false;
  }

  readonly #onSubmit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (this.#preview.held === null || this.#preview.isBusy) return;
    const reason = textIn(new FormData(event.target as HTMLFormElement), 'reason');
    await this.#preview.act((request) => this.#do(request, reason));
    this.chosen = new Set();
    await this.#read(true);
  };

  async #do({ verb, topic, ids }: Tried, reason: string): Promise<void> {
    this.done = null;
    this.done = { topic, answer: await ask<BulkAnswer>(verb, { ids, topic, reason }) };
  }
}

/** What would become of each. */
async function tried(verb: Verb, topic: string, chosen: readonly string[]): Promise<Held<Tried, BulkAnswer>> {
  const shown = await ask<BulkAnswer>(`preview-${verb}`, { ids: chosen, topic });
  const ids = shown.rows.filter(({ end }) => end === 'would').map(({ id }) => id);
  return { request: { verb, topic, ids }, shown };
}
