/** Buttons for the demo's payments API, its ledger, and the records of its store as they change. */

import { type CSSResultGroup, html, LitElement, type PropertyDeclarations, type TemplateResult } from 'lit';
import {
  faultOf,
  type LiveAnswer,
  type LiveLedger,
  type LiveRecord,
  type LiveRequest,
  type LiveState,
  type LiveTry,
  readJson,
  sendLive,
} from './live-api.ts';
import { LIVE_STYLE } from './live-style.ts';
import { THEME } from './theme.ts';

const LOOK_MS = 700;
const ANSWERS_MAX = 3;

/** `samekey-live`. */
class LiveElement extends LitElement {
  static override properties: PropertyDeclarations = {
    tries: { state: true },
    ledger: { state: true },
    records: { state: true },
    answers: { state: true },
    isChaos: { state: true },
    isGone: { state: true },
    round: { state: true },
  };
  static override styles: CSSResultGroup = [THEME, LIVE_STYLE];

  declare tries: readonly LiveTry[];
  declare ledger: LiveLedger | null;
  declare records: readonly LiveRecord[];
  /** By the place of what was tried; the newest first. */
  declare answers: ReadonlyMap<number, readonly (LiveAnswer | 'waits')[]>;
  declare isChaos: boolean;
  declare isGone: boolean;
  /** Keys are new in each round. */
  declare round: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.tries = [];
    this.ledger = null;
    this.records = [];
    this.answers = new Map();
    this.isChaos = false;
    this.isGone = false;
    this.round = 1;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#look();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  override render(): TemplateResult {
    return html`<div class="page">
      <header>
        <p class="brand">Samekey</p>
        <p>The demo on this machine</p>
        <a href="/">See what happens, step by step</a>
      </header>
      <main>
        <h1>Pay, and pay again</h1>
        <p class="lead">
          Each button sends a request to the payments API that runs on this machine. Send it as often as you like: the
          ledger on this page says what the provider has charged. Under chaos a payment may be answered 409 or 503: send
          it again, and the API finds out.
        </p>
        <div class="switches">
          <label>
            <input type="checkbox" .checked=${this.isChaos} @change=${this.#onChaos} />
            Chaos: the provider fails for about every second payment
          </label>
          <button class="quiet" @click=${this.#onRound}>Start over with new keys</button>
        </div>
        ${this.isGone ? html`<p class="note" role="alert">The demo does not answer. Start it again with npm start.</p>` : ''}
        <div class="columns">
          <div class="stack">${this.tries.map((one, i) => this.#try(one, i))}</div>
          <div class="stack books">${this.#ledger()} ${this.#records()}</div>
        </div>
      </main>
    </div>`;
  }

  #try({ title, see, command, request }: LiveTry, at: number): TemplateResult | '' {
    if (request === null) return '';
    const answers = this.answers.get(at) ?? [];
    return html`<article class="card try">
      <div>
        <h2>${title}</h2>
        <p>You will see: ${see}.</p>
      </div>
      <button aria-label="Send: ${title}" @click=${() => void this.#send(request, at)}>Send</button>
      <div class="more">
        <div aria-live="polite">${answers.map(answerShown)}</div>
        <details>
          <summary>As a line for the shell</summary>
          <pre>${command}</pre>
        </details>
      </div>
    </article>`;
  }

  #ledger(): TemplateResult {
    const { ledger } = this;
    if (ledger === null)
      return html`<section class="card"><p class="note">The ledger is being read.</p></section>`;
    const { intents, charges, oneChargePerIntent } = ledger;
    return html`<section class="card">
      <h2 class="small">What the provider has charged</h2>
      <div class="sums">
        <span><strong>${intents}</strong> payments meant</span>
        <span><strong>${charges}</strong> charges</span>
        ${
          oneChargePerIntent
            ? html`<span class="pill good">one charge for each</span>`
            : html`<span class="pill claim">not all are charged yet, or one twice</span>`
        }
      </div>
    </section>`;
  }

  #records(): TemplateResult {
    const charges = new Map(
      this.ledger?.latest.map((one) => [`${one.operation} ${one.intent}`, one.charges]),
    );
    return html`<section class="card">
      <h2 class="small">The records in the demo’s own store</h2>
      ${
        this.records.length === 0
          ? html`<p class="note">There is none yet. Send a payment.</p>`
          : html`<div class="table" tabindex="0" role="group" aria-label="Records">
              <table>
                <thead>
                  <tr>
                    <th scope="col">key</th>
                    <th scope="col">state</th>
                    <th scope="col">attempt</th>
                    <th scope="col">step or reason</th>
                    <th scope="col">answer</th>
                    <th scope="col">charges</th>
                  </tr>
                </thead>
                <tbody>
                  ${this.records.map((record) => row(record, charges.get(`${record.operation} ${record.key}`)))}
                </tbody>
              </table>
            </div>`
      }
    </section>`;
  }

  async #send(request: LiveRequest, at: number): Promise<void> {
    const key = this.round === 1 ? request.key : `${request.key}-${this.round}`;
    const fault = this.isChaos ? faultOf(key) : null;
    const own = {
      ...request,
      key,
      body: fault === null ? request.body : { ...request.body, provider: fault },
    };
    const sent = Array.from({ length: request.times }, () => sendLive(own));
    this.#put(at, [...sent.map(() => 'waits' as const), ...(this.answers.get(at) ?? [])]);
    void this.#look();
    const came = await Promise.all(sent);
    const others = (this.answers.get(at) ?? []).filter((answer) => answer !== 'waits');
    this.#put(at, [...came, ...others]);
    void this.#look();
  }

  #put(at: number, answers: readonly (LiveAnswer | 'waits')[]): void {
    this.answers = new Map([...this.answers, [at, answers.slice(0, ANSWERS_MAX)]]);
  }

  /** Looks at ledger and records, and again later. */
  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    if (document.visibilityState === 'visible') {
      try {
        if (this.tries.length === 0) this.tries = await readJson('/demo/tries');
        const { ledger, records } = await readJson<LiveState>('/demo/state');
        this.ledger = ledger;
        this.records = records;
        this.isGone = false;
      } catch {
        this.isGone = true;
      }
    }
    clearTimeout(this.#timer);
    if (this.isConnected) this.#timer = setTimeout(() => void this.#look(), LOOK_MS);
  }

  readonly #onChaos = (event: Event): void => {
    this.isChaos = (event.target as HTMLInputElement).checked;
    // The faults travel in the request, and a retry must be the same request.
    this.#onRound();
  };

  readonly #onRound = (): void => {
    this.round += 1;
    this.answers = new Map();
  };
}

const TONES: Readonly<Record<string, string>> = {
  completed: 'good',
  in_progress: 'claim',
  pending: 'claim',
  unknown: 'money',
  failed: 'danger',
};

function row(record: LiveRecord, charges: number | undefined): TemplateResult {
  const { key, state, attempt, reason, recoveryPoint, status } = record;
  return html`<tr>
    <td><code>${key}</code></td>
    <td><span class="pill ${TONES[state] ?? ''}">${state.replace('_', ' ')}</span></td>
    <td>${attempt}</td>
    <td>${reason ?? recoveryPoint ?? ''}</td>
    <td>${status ?? ''}</td>
    <td>${charges ?? ''}</td>
  </tr>`;
}

function answerShown(answer: LiveAnswer | 'waits'): TemplateResult {
  if (answer === 'waits') return html`<p class="answer"><span class="pill claim">under way</span></p>`;
  const { status, isReplay, body } = answer;
  if (status === null)
    return html`<p class="answer"><span class="pill danger">no answer</span> the client hung up</p>`;
  const tone = status < 300 ? 'good' : status === 409 ? 'money' : 'danger';
  return html`<p class="answer">
    <span class="pill ${tone}">${status}</span>
    ${isReplay ? html`<span class="pill claim">replayed</span>` : ''}
    <span>${shortOf(body)}</span>
  </p>`;
}

/** An answer in few words: what is wrong, or the payment and its charge. */
function shortOf(body: string): string {
  try {
    const { title, detail, id, chargeId } = JSON.parse(body) as Readonly<Record<string, string | null>>;
    if (title) return `${title}. ${detail ?? ''}`;
    return `payment ${cut(id)}, ${chargeId ? `charge ${cut(chargeId)}` : 'not charged yet'}`;
  } catch {
    return body;
  }
}

function cut(id: string | null | undefined): string {
  return (id ?? '').slice(0, 12);
}

customElements.define('samekey-live', LiveElement);
