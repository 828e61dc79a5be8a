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
import { faultNote } from './pieces.ts';
import { ask } from './ask-server.ts';
import { THEME } from './console-theme.ts';
import { harmless, textIn } from './readable.ts';

/** `samekey-act`. */
export class ActElement extends LitElement {
  static override properties: PropertyDeclarations = {
    whole: { attribute: false },
    me: { attribute: false },
    choice: { state: true },
    previewed: { state: true },
    done: { state: true },
    fault: { state: true },
    isBusy: { state: true },
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
  declare previewed: ActAnswer | null;
  declare done: ActAnswer | null;
  declare fault: unknown;
  declare isBusy: boolean;

  constructor() {
    super();
    this.choice = null;
    this.previewed = null;
    this.done = null;
    this.fault = null;
    this.isBusy = false;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get('whole');
    if (
      before === undefined ||
      (before.row.key === this.whole.row.key && before.row.scope === this.whole.row.scope)
    )
      return;
    this.choice = null;
    this.#reset();
    this.done = null;
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
    const { previewed, isBusy, fault } = this;
    return html`<form class="stack" @submit=${this.#onSubmit} @input=${this.#reset}>
      ${answerFields(choice)}
      <label class="field"
        ><span>Reason, for the audit (no personal data: it outlives the record)</span>
        <input name="reason" required maxlength="1000" autocomplete="off" placeholder="ticket 4711: the provider shows pay_1" />
      </label>
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
    this.#reset();
  }

  readonly #reset = (): void => {
    this.previewed = null;
    this.fault = null;
  };

  readonly #onSubmit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const { choice, previewed, whole } = this;
    if (choice === null || this.isBusy) return;
    const given = new FormData(event.target as HTMLFormElement);
    this.isBusy = true;
    this.fault = null;
    try {
      const { scope, key, claimId, attempt } = whole.row;
      const request: ActRequest = {
        scope,
        key,
        seen: { claimId, attempt },
        reason: textIn(given, 'reason'),
        ...readChoice(choice, given),
      };
      if (previewed === null) this.previewed = await ask<ActAnswer>('preview', request);
      else await this.#do(request);
    } catch (error) {
      this.fault = error;
    }
    this.isBusy = false;
  };

  async #do(request: ActRequest): Promise<void> {
    this.done = await ask<ActAnswer>('act', request);
    this.choice = null;
    this.previewed = null;
    this.dispatchEvent(new CustomEvent('acted'));
  }
}

/** Whether it would do something: also to leave word that somebody says otherwise. */
function isWorth({ kind }: ActAnswer): boolean {
  return kind === 'applied' || kind === 'contradiction';
}
