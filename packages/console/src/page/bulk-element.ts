/** Jobs: what would be done to many, what became of each, and how far it has come, whoever began it and left. */

import {
  type CSSResultGroup,
  css,
  html,
  LitElement,
  type PropertyDeclarations,
  type PropertyValues,
  type TemplateResult,
} from 'lit';
import type { BulkCut, BulkJob, BulkLine, BulkPage, BulkRow, Me } from '../api.ts';
import { ask, AskFault } from './ask-server.ts';
import { THEME } from './console-theme.ts';
import { faultNote, strange } from './pieces.ts';
import { ago, count, ENDS, textIn } from './readable.ts';
import { toJob, toRecord } from './view-route.ts';

/** How often a job that runs is looked at. */
const EVERY_MS = 1_000;

const PHASES: Readonly<Record<BulkJob['phase'], string>> = {
  looking: 'is being tried',
  tried: 'was tried; nothing is done yet',
  doing: 'is being done',
  done: 'is done',
  stopped: 'was stopped',
};

/** What an act is given, as people call it. */
const GIVEN: Readonly<Record<string, string>> = {
  status: 'Status',
  headers: 'Headers',
  body: 'Body',
  because: 'Why nothing can happen any more',
  callTimeMaxMs: 'Longest call after its claim ended, in milliseconds',
  effectResult: 'Result of the effect',
  effect: 'Effect, on somebody’s word',
};

/** Of dead letters, which are looked at from the oldest on. */
const FAR_LETTERS =
  'It looked at 250,000 dead letters, from the oldest on, and goes no further. Do or drop these first, or name a topic.';

const CUTS: Readonly<Record<BulkCut, string>> = {
  many: 'More may match: one job does about 10,000. Do these, then try again for the rest.',
  far: 'It looked at 250,000 records, from the newest back, and goes no further; trying again does not reach older ones. Narrow the filter: by caller, or to unknown ones alone.',
  unlisted:
    'Some that match cannot be listed, and are none of these: too many are of one millisecond, or of one reference. Name the caller or the operation.',
};

/** `samekey-bulk`. */
export class BulkElement extends LitElement {
  static override properties: PropertyDeclarations = {
    job: { attribute: false },
    me: { attribute: false },
    page: { state: true },
    lines: { state: true },
    jobs: { state: true },
    end: { state: true },
    fault: { state: true },
    refused: { state: true },
    isBusy: { state: true },
  };
  static override styles: CSSResultGroup = [
    THEME,
    css`
      .lines li + li,
      .jobs li + li {
        border-top: 1px solid var(--line);
      }
      .given {
        white-space: pre-wrap;
        overflow-wrap: anywhere;
      }
      .lines li,
      .jobs li {
        padding: 0.375rem 0;
        overflow-wrap: anywhere;
      }
    `,
  ];

  /** An id; empty: all jobs are listed. */
  declare job: string;
  declare me: Me;
  declare page: BulkPage | null;
  declare lines: readonly BulkLine[];
  declare jobs: readonly BulkJob[] | null;
  /** Which lines are shown. */
  declare end: BulkRow['end'] | '';
  /** Of reading; that of what was asked for stays beside it. */
  declare fault: unknown;
  declare refused: unknown;
  declare isBusy: boolean;
  /** What is answered of another job, or to an earlier question, comes too late. */
  #turn = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.job = '';
    this.page = null;
    this.lines = [];
    this.jobs = null;
    this.end = '';
    this.fault = null;
    this.refused = null;
    this.isBusy = false;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('job')) return;
    this.page = null;
    this.lines = [];
    this.jobs = null;
    this.end = '';
    this.fault = null;
    this.refused = null;
    void this.#read();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#turn += 1;
    clearTimeout(this.#timer);
  }

  async #read(after = 0): Promise<void> {
    clearTimeout(this.#timer);
    this.#turn += 1;
    const turn = this.#turn;
    try {
      if (this.job === '') {
        const { jobs } = await ask<{ jobs: readonly BulkJob[] }>('bulk-jobs');
        if (turn === this.#turn) Object.assign(this, { jobs, fault: null });
        return;
      }
      // Anew as many as are shown: what "More" has brought stays there.
      const limit = after === 0 ? this.lines.length : 0;
      const page = await ask<BulkPage>('bulk', { id: this.job, after, end: this.end, limit });
      if (turn !== this.#turn) return;
      this.lines = after === 0 ? page.lines : [...this.lines, ...page.lines];
      this.page = page;
      this.fault = null;
    } catch (error) {
      if (turn !== this.#turn) return;
      this.fault = error;
      if (error instanceof AskFault && error.code === 'no-job') return;
    }
    // Also after a look that failed: the job goes on.
    if (this.page !== null && isRunning(this.page.job))
      this.#timer = setTimeout(() => void this.#read(), EVERY_MS);
  }

  override render(): TemplateResult {
    const { fault, refused, job } = this;
    return html`<div class="stack">
      <h1 tabindex="-1">${job === '' ? 'Jobs' : 'Many at once'}</h1>
      ${fault === null ? '' : faultNote(fault)} ${refused === null ? '' : faultNote(refused)} ${job === '' ? this.#all() : this.#one()}
    </div>`;
  }

  #all(): TemplateResult {
    const { jobs } = this;
    if (jobs === null) return html`<p class="soft">Reading …</p>`;
    if (jobs.length === 0)
      return html`<p class="card soft">
        None. One begins below a list of records that is filtered, or with all dead letters. They are kept by the process that does them, until it ends.
      </p>`;
    return html`<section class="card" aria-label="Jobs">
      <ul class="jobs">
        ${jobs.map(
          (each) => html`<li>
            <p><a href=${toJob(each.id)}>${strange(each.words, 200)}</a> ${PHASES[each.phase]}</p>
            <p class="small soft">by ${strange(each.actor, 60)}, ${sums(each)}</p>
          </li>`,
        )}
      </ul>
    </section>`;
  }

  #one(): TemplateResult {
    const { page } = this;
    if (page === null) return this.fault === null ? html`<p class="soft">Reading …</p>` : html``;
    const { job, now, given } = page;
    return html`<section class="card stack" aria-label="The job">
        <p><strong>${strange(job.words, 500)}</strong> ${PHASES[job.phase]}${job.isStopping ? ', and is stopping' : ''}.</p>
        ${job.does.map((line) => html`<p>${strange(line, 300)}</p>`)}
        ${given.map(([name, text]) => html`<p class="small">${GIVEN[name] ?? name}: <code class="given">${strange(text, 5_000)}</code></p>`)}
        <p role="status"><strong>${sums(job)}</strong></p>
        ${
          job.whys.length === 0
            ? ''
            : html`<ul>
                ${job.whys.map(({ end, why, count: of }) => html`<li>${count(of)} ${wordOf(job, end)}: ${strange(why, 500)}</li>`)}
              </ul>`
        }
        <p class="small soft">
          ${count(job.looked)} ${isOfLetters(job) ? 'dead letters' : 'records'} looked at; begun ${ago(job.startedAt, now)} by
          ${strange(job.actor, 60)}${job.reason === null ? '' : html`, because: ${strange(job.reason, 300)}`}. This page can be left: the job
          stands under <a href=${toJob('')}>Jobs</a>, until the process ends that does it.
        </p>
        ${job.cut.map((each) => html`<p class="note">${each === 'far' && isOfLetters(job) ? FAR_LETTERS : CUTS[each]}</p>`)}
        ${job.fault === null ? '' : faultNote(job.fault)} ${this.#next(job)}
      </section>
      ${this.me.rights.includes(job.act) ? this.#each(page) : html`<p class="small soft">What became of each is shown to those who have the right <code>${job.act}</code>.</p>`}`;
  }

  #each({ job, after }: BulkPage): TemplateResult {
    const { lines } = this;
    return html`<section class="card stack" aria-label="Each of them">
        <label class="field"
          ><span>Show</span>
          <select name="end" @change=${this.#onEnd}>
            <option value="">all</option>
            ${endsOf(job.counts).map((end) => html`<option value=${end} ?selected=${this.end === end}>${wordOf(job, end)}</option>`)}
          </select></label
        >
        ${lines.length === 0 ? html`<p class="soft">${isRunning(job) ? 'None yet.' : nothing(job, this.end)}</p>` : ''}
        <ul class="lines">
          ${lines.map(
            (line) => html`<li>
              ${nameOf(line)}
              <span class="small soft">${wordOf(job, line.end)}${line.why === null ? '' : html`: ${strange(line.why, 300)}`}</span>
            </li>`,
          )}
        </ul>
        ${after === null ? '' : html`<button @click=${() => void this.#read(after)}>More</button>`}
      </section>`;
  }

  #next(job: BulkJob): TemplateResult {
    const { isBusy } = this;
    if (!this.me.rights.includes(job.act)) return html``;
    if (isRunning(job))
      return html`<div class="row"><button ?disabled=${isBusy || job.isStopping} @click=${() => void this.#ask('bulk-stop')}>Stop</button></div>`;
    const would = job.counts.would ?? 0;
    if (job.phase !== 'tried' || would === 0) return html``;
    return html`<form class="stack" @submit=${this.#onSubmit}>
      <label class="field"
        ><span>Reason, for the audit (no personal data: it outlives the record)</span>
        <input name="reason" required maxlength="1000" autocomplete="off" />
      </label>
      <div class="row"><button class="main" ?disabled=${isBusy}>Do it to ${count(would)}</button></div>
    </form>`;
  }

  readonly #onEnd = (event: Event): void => {
    this.end = (event.target as HTMLSelectElement).value as BulkRow['end'] | '';
    void this.#read();
  };

  readonly #onSubmit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    await this.#ask('bulk-do', { reason: textIn(new FormData(event.target as HTMLFormElement), 'reason') });
  };

  async #ask(verb: 'bulk-do' | 'bulk-stop', more: object = {}): Promise<void> {
    if (this.isBusy) return;
    const { job } = this;
    this.isBusy = true;
    this.refused = null;
    try {
      await ask(verb, { id: job, ...more });
      if (job === this.job) await this.#read();
    } catch (error) {
      if (job === this.job) this.refused = error;
    }
    this.isBusy = false;
  }
}

/** A record leads to itself, a letter to the record of its request. */
function nameOf(line: BulkLine): TemplateResult {
  if (line.letter === undefined)
    return html`<a class="mono" href=${toRecord(line)}>${strange(line.key, 120)}</a>`;
  const request =
    line.key === '' ? '' : html`, of <a class="mono" href=${toRecord(line)}>${strange(line.key, 120)}</a>`;
  return html`<span><span class="mono">${strange(line.letter, 120)}</span>${request}</span>`;
}

function isOfLetters({ act }: BulkJob): boolean {
  return act === 'requeue' || act === 'drop';
}

function isRunning({ phase }: BulkJob): boolean {
  return phase === 'looking' || phase === 'doing';
}

function sums(job: BulkJob): string {
  const { counts } = job;
  const said = endsOf(counts).map((end) => `${count(counts[end] ?? 0)} ${wordOf(job, end)}`);
  if (said.length > 0) return `${said.join(', ')}.`;
  return isRunning(job) ? 'None yet.' : 'None.';
}

/** What was left when a job ended is not done any more. */
function wordOf({ phase }: BulkJob, end: BulkRow['end']): string {
  return end === 'would' && phase === 'stopped' ? 'not done' : ENDS[end];
}

/** Why there are no lines. */
function nothing({ phase, fault }: BulkJob, end: string): string {
  if (fault !== null || phase === 'stopped') return 'None: it ended before.';
  return end === '' ? 'None: the filter matches nothing.' : 'None of these.';
}

/** Those that there are, always in one order. */
function endsOf(counts: BulkJob['counts']): readonly BulkRow['end'][] {
  return (Object.keys(ENDS) as BulkRow['end'][]).filter((end) => counts[end] !== undefined);
}
