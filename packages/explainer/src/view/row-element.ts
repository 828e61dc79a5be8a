/** The row of the key, as the database has it, and the states that it has been in. */

import {
  type CSSResultGroup,
  css,
  html,
  LitElement,
  type PropertyDeclarations,
  svg,
  type TemplateResult,
} from 'lit';
import { DIAGRAM, STATES, statesUntil, WAYS } from '../layout/index.ts';
import type { Field, Row, RowState, Trace } from '../model/index.ts';
import { THEME } from './theme.ts';

/** `samekey-row`. */
export class RowElement extends LitElement {
  static override properties: PropertyDeclarations = { trace: { attribute: false }, step: { type: Number } };
  static override styles: CSSResultGroup = [
    THEME,
    css`
      :host {
        display: block;
      }
      svg {
        display: block;
        width: 100%;
        max-width: 22rem;
        height: auto;
        margin: 0.25rem 0 0.75rem;
      }
      rect {
        fill: var(--sunk);
        stroke: var(--line);
      }
      text {
        font-size: 12px;
        fill: var(--soft);
        text-anchor: middle;
        dominant-baseline: central;
      }
      path {
        fill: none;
        stroke: var(--line);
        stroke-width: 1.5;
      }
      .been rect {
        stroke: var(--claim);
      }
      .been text {
        fill: var(--ink);
      }
      .now rect {
        fill: var(--claim);
        stroke: var(--claim);
      }
      .now text {
        fill: var(--card);
        font-weight: 600;
      }
      .now.completed rect {
        fill: var(--good);
        stroke: var(--good);
      }
      .now.unknown rect {
        fill: var(--money);
        stroke: var(--money);
      }
      .way.been path,
      path.been {
        stroke: var(--claim);
        stroke-width: 2.5;
      }
      dl {
        display: grid;
        grid-template-columns: max-content 1fr;
        gap: 0.25rem 1rem;
        font-size: 0.8125rem;
      }
      dt {
        color: var(--soft);
      }
      dd {
        font-family: var(--mono);
        overflow-wrap: anywhere;
      }
      .changed {
        background: var(--claim-wash);
        border-radius: 4px;
        box-shadow: 0 0 0 3px var(--claim-wash);
      }
      .none {
        color: var(--soft);
        font-size: 0.875rem;
      }
    `,
  ];

  declare trace: Trace | null;
  declare step: number;

  constructor() {
    super();
    this.trace = null;
    this.step = 0;
  }

  override render(): TemplateResult {
    const { trace, step } = this;
    if (trace === null) return html``;
    const row = trace.steps[step]?.row ?? null;
    const before = trace.steps[step - 1]?.row ?? null;
    const isByHand = trace.steps.some((one) => one.row?.state === 'remembered');
    return html`
      ${isByHand || trace.steps.at(-1)?.row === null ? '' : diagram(statesUntil(trace, step))}
      ${
        row === null
          ? html`<p class="none">${trace.steps.at(-1)?.row === null ? 'This API keeps no row for a key.' : 'There is no row for this key yet.'}</p>`
          : fields(row, before)
      }
    `;
  }
}

function fields({ fields: all }: Row, before: Row | null): TemplateResult {
  const earlier = new Map(before?.fields.map(({ name, value }) => [name, value]));
  const isNew = ({ name, value }: Field): boolean => earlier.get(name) !== value;
  return html`<dl>
    ${all.map(
      (field) => html`<dt>${field.name}</dt>
        <dd><span class=${isNew(field) ? 'changed' : ''}>${field.value}</span></dd>`,
    )}
  </dl>`;
}

function diagram(seen: readonly RowState[]): TemplateResult {
  const { width, height, boxWidth, boxHeight } = DIAGRAM;
  const went = (from: RowState, to: RowState): boolean =>
    seen.some((state, i) => state === to && seen[i + 1] === from);
  const said = seen.length === 0 ? 'no row yet' : seen.toReversed().join(', then ').replaceAll('_', ' ');
  return html`<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="States of the row: ${said}">
    ${WAYS.map(({ from, to, path }) => svg`<path class=${went(from, to) ? 'been' : ''} d=${path}></path>`)}
    ${STATES.map(
      ({
        state,
        title,
        x,
        y,
      }) => svg`<g class="${state} ${seen.includes(state) ? 'been' : ''} ${seen[0] === state ? 'now' : ''}">
        <rect x=${x - boxWidth / 2} y=${y - boxHeight / 2} width=${boxWidth} height=${boxHeight} rx="8"></rect>
        <text x=${x} y=${y}>${title}</text>
      </g>`,
    )}
  </svg>`;
}
