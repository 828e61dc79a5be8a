/** What a reader can answer at the end; each answer stands beside the step that shows it. */

import { html, type TemplateResult } from 'lit';
import type { Mark } from '../model/index.ts';

interface Question {
  readonly asks: string;
  readonly answer: string;
  /** The step that shows it, and what happens there. */
  readonly address: string;
  readonly mark: Mark;
}

/** Five of them. */
export const QUESTIONS: readonly Question[] = [
  {
    asks: 'Why is a key not enough?',
    answer:
      'A key only names the payment. Two processes can both look it up, both find nothing, and both take the money. One of them has to claim the key first, in one write of the database.',
    address: '#double-click/no-claim/1/9',
    mark: 'charged-again',
  },
  {
    asks: 'What does the fingerprint do?',
    answer:
      'It is a digest of the request, kept beside the key. The same key with another request is refused with 422, so that nobody is given the answer of another payment.',
    address: '#other-amount/samekey/1/11',
    mark: 'mismatch',
  },
  {
    asks: 'What may a 409 mean?',
    answer:
      'One of two things, and its code says which. “in-progress”: the payment is being made right now, ask again in a moment. “outcome-unknown”: nobody knows yet what became of it, and it is being found out. Either way the app keeps its key, and does not pay with another one.',
    address: '#double-click/samekey/1/7',
    mark: 'in-progress',
  },
  {
    asks: 'When is “unknown” right?',
    answer:
      'When the money may have been taken and nobody can tell: the provider did not answer, or the process died during the call. Then nothing runs again until somebody has asked the provider.',
    address: '#unknown/samekey/1/7',
    mark: 'unknown',
  },
  {
    asks: 'Who retries?',
    answer:
      'The app: it sends the same request with the same key until it is told how it ended. Samekey runs no handler of its own accord; it decides what a retry gets. The reconciler only asks, and a worker repeats what was handed to it, under one key.',
    address: '#lost-answer/samekey/1/10',
    mark: 'sent-again',
  },
];

/** Asked at the foot of the page; what is to be seen stands above. */
export function questions(seen: () => void): TemplateResult {
  return html`<section class="card questions" aria-label="Questions">
    <h2 class="small">Can you answer these five?</h2>
    ${QUESTIONS.map(
      ({ asks, answer, address }) => html`<details>
        <summary>${asks}</summary>
        <p>${answer} <a href=${address} @click=${seen} aria-label="See it: ${asks}">See it</a></p>
      </details>`,
    )}
  </section>`;
}
