/** What a record holds: its outline, and the whole of it for whoever may see it and says why. */

import { html, type TemplateResult } from 'lit';
import type { Masked, Revealed, Whole } from '../api.ts';
import { faultNote, pill, strange } from './pieces.ts';
import { count, harmless } from './readable.ts';

interface Reveal {
  readonly revealed: Revealed | null;
  readonly fault: unknown;
  readonly isBusy: boolean;
  readonly mayReveal: boolean;
  readonly onReveal: (event: SubmitEvent) => Promise<void>;
}

/** A megabyte in one element stops a phone. */
const TEXT_MAX = 100_000;

/** The section. */
export function contentOf(whole: Whole, reveal: Reveal): TemplateResult {
  const { answer, input, results, messages, isBodyKept } = whole;
  const { revealed } = reveal;
  const shownAnswer = revealed?.answer ?? null;
  const shownInput = revealed?.input ?? null;
  const isEmpty = answer === null && input === null && results.length === 0 && messages.length === 0;
  return html`<section class="card stack" aria-labelledby="content">
    <h2 id="content">What it holds</h2>
    ${isEmpty ? html`<p class="soft">No answer, no input, no steps, no messages.</p>` : ''}
    ${
      answer === null
        ? ''
        : html`<div class="stack">
            <h3>Answer: status ${answer.status}</h3>
            ${isBodyKept ? '' : html`<p class="soft">Its body was not kept.</p>`}
            ${
              shownAnswer === null
                ? html`<p class="small soft">header lines: ${strange(answer.headers.join(', '))}</p>
                    ${isBodyKept ? outline(answer) : ''}`
                : html`${plain(shownAnswer.headers.map(([name, value]) => `${name}: ${value}`).join('\n'))}
                  ${plain(shownAnswer.body)}`
            }
          </div>`
    }
    ${input === null ? '' : html`<div class="stack"><h3>Input</h3>${shownInput === null ? outline(input) : plain(shownInput)}</div>`}
    ${results.map(
      ({ name, outline: of }, i) =>
        html`<div class="stack"><h3>Step ${strange(name)}</h3>${plain(revealed?.results[i]?.text ?? of)}</div>`,
    )}
    ${messages.map(
      (message) =>
        html`<div class="stack">
          <h3>Message ${strange(message.topic)} ${pill(message.state)}</h3>
          ${plain(revealed?.messages.find(({ id }) => id === message.id)?.text ?? message.payload.outline ?? '')}
        </div>`,
    )}
    ${isEmpty || revealed !== null ? '' : revealForm(reveal)}
    ${revealed?.isCut === true ? html`<p class="soft">Longer texts are cut.</p>` : ''}
  </section>`;
}

function revealForm({ mayReveal, onReveal, fault, isBusy }: Reveal): TemplateResult {
  if (!mayReveal)
    return html`<p class="small soft">Values are hidden: this console was opened without the right <code>reveal</code>.</p>`;
  return html`<details>
      <summary>Show the values</summary>
      <form class="stack" @submit=${onReveal}>
        <p class="small soft">The audit gets a row with your name and your reason before anything is shown.</p>
        <label class="field"><span>Why do you need to see them?</span><input name="reason" required maxlength="1000" /></label>
        <button ?disabled=${isBusy}>Show them</button>
      </form>
    </details>
    ${fault === null ? '' : faultNote(fault)}`;
}

function outline({ bytes, outline: of }: Masked): TemplateResult {
  return html`<p class="small soft">${count(bytes)} bytes${of === null ? ', no JSON' : ', values hidden'}</p>
    ${of === null ? '' : plain(of)}`;
}

function plain(text: string): TemplateResult {
  return html`<pre tabindex="0" dir="ltr">${harmless(text, TEXT_MAX)}</pre>`;
}
