/**
 * The acts on one record: choose, say why, see what will happen, do it. A preview belongs to what was typed: whatever
 * changes takes it away, so that nobody does what they have not seen.
 */

import {
  type CSSResultGroup,
  css,
  html,
  LitElement,
  type PropertyDeclarations,
  type PropertyValues,
  type TemplateResult,
} from 'lit';
import type { ActAnswer, ActRequest, Me, Whole } from '../api.ts';
import { answerFields, type Choice, choicesOf, readChoice } from './act-forms.ts';
import { AskFault, ask } from './ask-server.ts';
import { THEME } from './console-theme.ts';
import { faultNote } from './pieces.ts';
import { Preview } from './preview.ts';
import { harmless, textIn } from './readable.ts';

/** `samekey-act`. */
export class ActElement extends LitElement {
  static override properties: PropertyDeclarations = {
    whole: { attribute: false },
    me: { attribute: false },
    choice: { state: true },
    done: { state: true },
    asksClear: { state: true },
  };
  static override styles: CSSResultGroup = [
    THEME,
    css`
      .choices {
        display: grid;
        gap: 0.5rem;
      }
      .choices button {
        text-align: start;
        line-height: 1.35;
        padding: 0.625rem 0.875rem;
      }
      .choices small {
        display: block;
        font-weight: 400;
        color: var(--soft);
      }
      .choices button[aria-pressed='true'] {
        border-color: var(--claim);
        background: var(--claim-wash);
      }
      textarea {
        min-height: 4.5rem;
        resize: vertical;
      }
      .note ul {
        display: grid;
        gap: 0.25rem;
      }
      .note li {
        overflow-wrap: anywhere;
      }
    `,
  ];

  declare whole: Whole;
  declare me: Me;
  declare choice: Choice | null;
  declare done: ActAnswer | null;
  /** Whether the server asks for a word that answers are not sealed there. */
  declare asksClear: boolean;
  readonly #preview = new Preview<ActRequest, ActAnswer>(() => this.requestUpdate());

  constructor() {
    super();
    this.choice = null;
    this.done = null;
    this.asksClear = false;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get('whole');
    if (before === undefined || isAsSeen(before, this.whole)) return;
    this.#preview.drop();
    const { choice } = this;
    if (isOne(before, this.whole) && choicesOf(this.whole).some(({ id }) => id === choice?.id)) return;
    this.choice = null;
    if (!isOne(before, this.whole)) this.done = null;
  }

  override render(): TemplateResult {
    const { whole, me, choice } = this;
    const choices = choicesOf(whole);
    if (choices.length === 0 && this.done === null) return html``;
    const may = choices.filter(({ act }) => me.rights.includes(act));
    return html`<section class="card stack" aria-labelledby="acts">
      <h2 id="acts">${whole.row.state === 'unknown' ? 'How did it end?' : 'What can be done'}</h2>
      ${this.done === null ? '' : this.#said(this.done, false)}
      ${
        may.length < choices.length
          ? html`<p class="small soft">
              This console was opened without the right
              <code>${[...new Set(choices.map(({ act }) => act).filter((act) => !me.rights.includes(act)))].join(', ')}</code>: it can be looked at only.
            </p>`
          : ''
      }
      <div class="choices" role="group" aria-labelledby="acts">
        ${may.map(
          (each) =>
            html`<button aria-pressed=${String(choice?.id === each.id)} @click=${() => this.#choose(each)}>
              ${each.title}<small>${each.effect}</small>
            </button>`,
        )}
      </div>
      ${choice === null ? '' : this.#form(choice)}
    </section>`;
  }

  #form(choice: Choice): TemplateResult {
    const { held, isBusy, fault } = this.#preview;
    const previewed = held?.shown ?? null;
    return html`<form class="stack" @submit=${this.#onSubmit} @input=${this.#preview.drop}>
      ${answerFields(choice)}
      <label class="field"
        ><span>Reason, for the audit (no personal data: it outlives the record)</span>
        <input name="reason" required maxlength="1000" autocomplete="off" placeholder="ticket 4711: the provider shows pay_1" />
      </label>
      ${
        this.asksClear
          ? html`<label class="check"
              ><input type="checkbox" name="clear" /> My application seals no answers: this one may stand there clear</label
            >`
          : ''
      }
      ${fault === null ? '' : faultNote(fault)} ${previewed === null ? '' : this.#said(previewed, true)}
      <div class="row">
        ${
          previewed === null
            ? html`<button class="main" ?disabled=${isBusy}>See what will happen</button>`
            : html`<button class=${previewed.kind === 'applied' ? 'main' : ''} ?disabled=${isBusy || !isWorth(previewed)}>
                ${choice.done}
              </button>`
        }
      </div>
    </form>`;
  }

  #said({ kind, lines }: ActAnswer, isPreview: boolean): TemplateResult {
    const isGood = kind === 'applied' || kind === 'already';
    const title = isPreview
      ? isGood
        ? 'This will happen:'
        : 'This is refused:'
      : isGood
        ? 'Done.'
        : 'Nothing was done.';
    return html`<div class="note ${isGood ? (isPreview ? '' : 'good') : 'danger'}" role="status">
      <p><strong>${title}</strong></p>
      <ul>
        ${lines.map((line) => html`<li>${harmless(line)}</li>`)}
      </ul>
    </div>`;
  }

  #choose(choice: Choice): void {
    this.choice = choice;
    this.done = null;
    this.#preview.drop();
  }

  readonly #onSubmit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const { choice, whole } = this;
    if (choice === null) return;
    if (this.#preview.held !== null) return this.#preview.act((request) => this.#do(request));
    const given = new FormData(event.target as HTMLFormElement);
    await this.#preview.look(async () => {
      const { scope, key, claimId, attempt, state } = whole.row;
      const said = readChoice(choice, given);
      const request: ActRequest = {
        scope,
        key,
        seen: { claimId, attempt, state },
        reason: textIn(given, 'reason'),
        ...said,
        ...(given.get('clear') === null ? {} : { mayStandClear: true }),
      };
      try {
        return { request, shown: await ask<ActAnswer>('preview', request) };
      } catch (error) {
        this.asksClear ||= error instanceof AskFault && error.code === 'perhaps-sealed';
        throw error;
      }
    });
  };

  async #do(request: ActRequest): Promise<void> {
    const isShown = (): boolean =>
      request.key === this.whole.row.key && request.scope === this.whole.row.scope;
    try {
      const done = await ask<ActAnswer>('act', request);
      // Nothing of it is said on the page of another record.
      if (!isShown()) return;
      this.done = done;
    } catch (error) {
      if (!isShown()) return;
      throw error;
    }
    this.choice = null;
    this.dispatchEvent(new CustomEvent('acted'));
  }
}

function isOne(before: Whole, { row }: Whole): boolean {
  return before.row.key === row.key && before.row.scope === row.scope;
}

/** Whether what was previewed of the one is true of the other. */
function isAsSeen(before: Whole, now: Whole): boolean {
  const { claimId, attempt, state } = now.row;
  const { row } = before;
  return (
    isOne(before, now) &&
    row.claimId === claimId &&
    row.attempt === attempt &&
    row.state === state &&
    before.openEffect === now.openEffect
  );
}

/** Whether it would do something: also to leave word that somebody says otherwise. */
function isWorth({ kind }: ActAnswer): boolean {
  return kind === 'applied' || kind === 'contradiction';
}
