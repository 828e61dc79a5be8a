/** The parts of the page that only show something. */

import { html, nothing, type TemplateResult } from 'lit';
import {
  type Knob,
  type KnobValues,
  type Scenario,
  type Step,
  seconds,
  type Task,
  type Tone,
  type Trace,
  type Variant,
} from '../model/index.ts';

/** An amount as people write it. */
function euros(cents: number): string {
  return `€${(cents / 100).toFixed(2)}`;
}

/** The step that is shown; the last one where there is no such. */
function stepOf({ steps }: Trace, at: number): Step {
  const step = steps[at] ?? steps.at(-1);
  if (step === undefined) throw new Error('A run has at least one step.');
  return step;
}

/** The class of a tone; the one of money is also the name of a counter. */
function classOf(tone: Tone): string {
  return tone === 'money' ? 'money-tone' : tone;
}

/**
 * The head of a stage: which version, and the counter that hurts; beside it that of another version at the same
 * moment.
 */
function strip(
  variant: Variant,
  step: Step,
  beside: { readonly variant: Variant; readonly step: Step } | null,
): TemplateResult {
  return html`<div class="strip">
    <h2>${variant.title}</h2>
    <p class="money">
      <span>${euros(step.meantCents)} meant, taken</span> ${counter(step)}
      ${
        beside === null
          ? ''
          : html`<span class="beside">${beside.variant.title} ${counter(beside.step)}</span>`
      }
    </p>
  </div>`;
}

function counter({ takenCents, meantCents }: Step): TemplateResult {
  return html`<output class=${takenCents > meantCents ? 'too-much' : ''}>${euros(takenCents)}</output>`;
}

/** What happens in this step; at the end, what is to be thought of it all. */
function caption(trace: Trace, at: number, isLive: boolean): TemplateResult {
  const { tone, at: ms, caption: said } = stepOf(trace, at);
  const isAtEnd = at === trace.steps.length - 1;
  const isHarm = isAtEnd && trace.harms.length > 0;
  return html`<p class="caption ${isHarm ? 'danger' : classOf(tone)}">
    <span class="at">${seconds(ms)}</span>
    <span aria-live=${isLive ? 'polite' : 'off'}
      >${said} ${isAtEnd ? html`<span class="verdict ${isHarm ? 'harm' : 'well'}">${trace.verdict}</span>` : ''}</span
    >
  </p>`;
}

/** A version at one of its steps. */
export interface Shown {
  readonly trace: Trace;
  readonly step: number;
  readonly variant: Variant;
}

/** A stage with its head; the first of them is read out by screen readers and has the knobs. */
export function stage(
  { trace, step: at, variant }: Shown,
  beside: Shown | null,
  turned: readonly TemplateResult[] | null,
): TemplateResult {
  const other = beside === null ? null : { variant: beside.variant, step: stepOf(beside.trace, beside.step) };
  return html`<section class="card" aria-label=${variant.title}>
    ${strip(variant, stepOf(trace, at), other)} ${caption(trace, at, turned !== null)}
    ${dials(trace, turned ?? [])}
    <samekey-stage .trace=${trace} .step=${at} .label="Messages of: ${variant.title}"></samekey-stage>
  </section>`;
}

/** What may not be there: what only some readers need comes over the network when they want it. */
export type Missing = 'story' | 'picture';

const MISSED: Readonly<Record<Missing, string>> = {
  story: 'This story could not be loaded.',
  picture: 'The picture could not be made.',
};

/** Says so where something is not there. */
export function missing(
  what: Missing | null,
  again: Readonly<Record<Missing, () => void>>,
): TemplateResult | '' {
  if (what === null) return '';
  return html`<p class="card missing" role="alert">
    ${MISSED[what]} Look whether the network is there.
    <button class="link" @click=${again[what]}>Try again</button>
  </p>`;
}

/** All stories, with those ticked whose tasks are done. */
export function stories(
  scenarios: readonly Scenario[],
  current: Scenario,
  isDone: (scenario: Scenario) => boolean,
  choose: (scenario: Scenario) => void,
): TemplateResult {
  return html`<nav aria-label="Stories">
    <ol>
      ${scenarios.map(
        (scenario, i) => html`<li>
          <button aria-current=${scenario === current ? 'true' : nothing} @click=${() => choose(scenario)}>
            <span class="number ${isDone(scenario) ? 'done' : ''}">${isDone(scenario) ? '✓' : i + 1}</span>
            ${scenario.title}
          </button>
        </li>`,
      )}
    </ol>
  </nav>`;
}

/** The tasks of a story; the first that is not done is the one to do. */
export function tasks(
  all: readonly Task[],
  isDone: (task: Task) => boolean,
  show: (task: Task) => void,
  next: (() => void) | null,
): TemplateResult {
  const current = all.find((task) => !isDone(task));
  return html`<section class="card tasks" aria-label="Tasks">
    <h2 class="small">Your tasks</h2>
    <ol>
      ${all.map((task, i) => {
        const done = isDone(task);
        return html`<li class=${done ? 'done' : task === current ? 'now' : ''}>
          <span class="tick" aria-hidden="true">${done ? '✓' : i + 1}</span>
          <span>
            ${task.text} ${done ? html`<span class="learned"><span class="hidden">Done. </span>${task.learned}</span>` : ''}
            ${task === current ? html`<button class="link" @click=${() => show(task)}>Show me</button>` : ''}
          </span>
        </li>`;
      })}
    </ol>
    ${current === undefined && next !== null ? html`<button class="link" @click=${next}>Next story</button>` : ''}
  </section>`;
}

/** The versions of a story. */
export function variants(
  all: readonly Variant[],
  current: string,
  choose: (variant: string) => void,
): TemplateResult {
  return html`<fieldset>
    <legend class="hidden">Version of the API</legend>
    <div class="variants">
      ${all.map(
        ({ id, title, breaks }) => html`<label class=${breaks === null ? 'sound' : ''}>
          <input type="radio" name="variant" .checked=${id === current} @change=${() => choose(id)} />
          <span class="mark"></span>${title}
        </label>`,
      )}
    </div>
  </fieldset>`;
}

/** The numbers that the reader may change, each beside its lane. */
function dials({ lanes }: Trace, beside: readonly TemplateResult[]): TemplateResult {
  // Something stands there all the same: stages side by side have the same rows.
  if (beside.length === 0) return html`<div></div>`;
  const columns = lanes.map(({ id }) => (id === 'network' ? '0.8fr' : '1fr')).join(' ');
  return html`<div class="dials" style="grid-template-columns:${columns}">${beside}</div>`;
}

/** Those of a scenario that stand beside a lane, or those that stand beside none. */
export function knobs(
  { knobs: all, lanes }: Scenario,
  isBeside: boolean,
  values: KnobValues,
  turn: (knob: Knob, value: number) => void,
): readonly TemplateResult[] {
  return all.flatMap((knob) => {
    const { id, lane, title, unit, least, most, by, usual } = knob;
    const value = values[id] ?? usual;
    const at = lanes.findIndex((one) => one.id === lane);
    if (at >= 0 !== isBeside) return [];
    return html`<label style=${isBeside ? `grid-column:${at + 1}` : nothing}>
      <span><b>${lanes[at]?.title}</b> ${title}</span>
      <input
        type="range"
        min=${least}
        max=${most}
        step=${by}
        .value=${String(value)}
        @change=${(event: Event) => turn(knob, Number((event.target as HTMLInputElement).value))}
      />
      <output>${value} ${unit}</output>
    </label>`;
  });
}

/** All steps as text, each with its address. */
export function transcript(trace: Trace, step: number, addressOf: (step: number) => string): TemplateResult {
  const titleOf = new Map(trace.lanes.map(({ id, title }) => [id, title]));
  return html`<details class="card transcript">
    <summary>Transcript of all ${trace.steps.length} steps</summary>
    <ol>
      ${trace.steps.map(
        ({ n, at, lane, caption: said, takenCents }) => html`<li>
          <a href=${addressOf(n)} aria-current=${n === step ? 'step' : nothing}
            >${seconds(at)}, ${titleOf.get(lane) ?? lane}: ${said}
            ${takenCents > (trace.steps[n - 1]?.takenCents ?? 0) ? html`<strong>Taken so far: ${euros(takenCents)}.</strong>` : ''}</a
          >
        </li>`,
      )}
    </ol>
    <p>${trace.verdict}</p>
  </details>`;
}
