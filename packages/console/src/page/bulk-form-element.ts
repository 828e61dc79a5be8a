/** One act on all records that the list's filter matches: chosen and filled in here, tried and done as a job. */

import {
  type CSSResultGroup,
  html,
  LitElement,
  type PropertyDeclarations,
  type PropertyValues,
  type TemplateResult,
} from 'lit';
import type { BulkJob, Me, Whole } from '../api.ts';
import { answerFields, type Choice, choicesOf, readChoice } from './act-forms.ts';
import { ask, AskFault } from './ask-server.ts';
import { THEME } from './console-theme.ts';
import { faultNote } from './pieces.ts';
import { STATES } from './readable.ts';
import { type Filter, NO_FILTER, toJob } from './view-route.ts';

/** What may be done to which states; of others the dry run says why not. Records are forgotten one at a time. */
const ACTS: Readonly<Record<string, Whole['acts']>> = {
  unknown: ['settle'],
  failed: ['reopen'],
};

/** `samekey-bulk-form`. */
export class BulkFormElement extends LitElement {
  static override properties: PropertyDeclarations = {
    filter: { attribute: false },
    me: { attribute: false },
    choice: { state: true },
    fault: { state: true },
    isBusy: { state: true },
    asksClear: { state: true },
  };
  static override styles: CSSResultGroup = [THEME];

  declare filter: Filter;
  declare me: Me;
  declare choice: Choice | null;
  declare fault: unknown;
  declare isBusy: boolean;
  /** Whether the server asks for a word that answers are not sealed there. */
  declare asksClear: boolean;

  constructor() {
    super();
    this.filter = NO_FILTER;
    this.choice = null;
    this.fault = null;
    this.isBusy = false;
    this.asksClear = false;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('filter')) return;
    this.choice = null;
    this.fault = null;
  }

  override render(): TemplateResult {
    const choices = choicesFor(this.filter, this.me);
    if (choices.length === 0) return html``;
    const { choice, fault, isBusy, asksClear } = this;
    return html`<details class="card">
      <summary>Do one thing to all that match</summary>
      <form class="stack" @submit=${this.#onSubmit}>
        <label class="field"
          ><span>What</span>
          <select name="choice" @change=${this.#onChoice}>
            <option value="">choose …</option>
            ${choices.map(({ id, title }) => html`<option value=${id} ?selected=${id === choice?.id}>${title}</option>`)}
          </select></label
        >
        ${choice === null ? '' : html`<p class="small soft">${choice.effect}</p>${answerFields(choice)}`}
        ${
          asksClear
            ? html`<label class="check"
                ><input type="checkbox" name="clear" /> My application seals no answers: these may stand there clear</label
              >`
            : ''
        }
        ${fault === null ? '' : faultNote(fault)}
        <div class="row"><button ?disabled=${isBusy || choice === null}>Dry run: change nothing</button></div>
      </form>
    </details>`;
  }

  readonly #onChoice = (event: Event): void => {
    const { value } = event.target as HTMLSelectElement;
    this.choice = choicesFor(this.filter, this.me).find(({ id }) => id === value) ?? null;
    this.fault = null;
  };

  readonly #onSubmit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const { choice, filter } = this;
    if (choice === null || this.isBusy) return;
    this.isBusy = true;
    this.fault = null;
    try {
      const given = new FormData(event.target as HTMLFormElement);
      const request = {
        ...readChoice(choice, given),
        ...(given.get('clear') === null ? {} : { mayStandClear: true }),
      };
      const job = await ask<BulkJob>('bulk-try', { request, filter });
      // Somebody may have gone elsewhere; the job is found again there.
      if (filter === this.filter && this.isConnected) location.hash = toJob(job.id);
    } catch (error) {
      this.asksClear ||= error instanceof AskFault && error.code === 'perhaps-sealed';
      if (filter === this.filter) this.fault = error;
    }
    this.isBusy = false;
  };
}

/** What there is to choose, by the states that are looked for and by right; nothing for all records at once. */
function choicesFor({ states, ...texts }: Filter, { rights }: Me): readonly Choice[] {
  const isAny = states.length === 0 || Object.keys(STATES).every((state) => states.includes(state));
  const isAll = isAny && Object.values(texts).every((text) => text === '');
  if (isAll) return [];
  const acts = new Set(
    (states.length === 0 ? Object.keys(ACTS) : states).flatMap((state) => ACTS[state] ?? []),
  );
  const may = [...acts].filter((act) => rights.includes(act));
  return choicesOf({ acts: may, openEffect: null, why: null });
}
