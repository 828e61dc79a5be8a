/** What happened to one record, the oldest first, with the gaps between named and not drawn. */

import { html, type TemplateResult } from 'lit';
import type { Moment, Whole } from '../api.ts';
import { strange } from './pieces.ts';
import { ago, clock, span } from './readable.ts';

/** Shorter ones are told by the times alone. */
const GAP_MS = 60_000;

/** The section. */
export function timeline({ moments, now }: Whole): TemplateResult {
  const hasTransitions = moments.some(
    ({ kind, title }) => kind === 'audit' && title.startsWith('transition'),
  );
  return html`<section class="card stack" aria-labelledby="timeline">
    <h2 id="timeline">What happened</h2>
    <ol class="timeline">
      ${moments.map((moment, i) => [gap(moments[i - 1], moment), line(moment, now)])}
    </ol>
    ${
      hasTransitions
        ? ''
        : html`<p class="small soft">
            Only what the record, its messages and its audit say. A store with <code>auditTransitions</code> keeps each change
            between, too.
          </p>`
    }
  </section>`;
}

function line({ at, kind, title, detail }: Moment, now: number): TemplateResult {
  return html`<li class=${kind}>
    <p>${strange(title)}</p>
    ${detail === null || detail === '' ? '' : html`<p class="small soft">${strange(detail)}</p>`}
    ${
      at === null
        ? html`<p class="small soft">its time is not kept</p>`
        : html`<p class="small soft"><time>${clock(at)}</time>, ${ago(at, now)}</p>`
    }
  </li>`;
}

function gap(before: Moment | undefined, after: Moment): TemplateResult | '' {
  if (before === undefined || before.at === null || after.at === null || after.at - before.at < GAP_MS)
    return '';
  return html`<li class="gap">${span(after.at - before.at)} later</li>`;
}
