/** Pieces that several views show. */

import { css, type CSSResult, html, type TemplateResult } from 'lit';
import type { Row } from '../api.ts';
import { toRecord } from './view-route.ts';
import { AskFault } from './ask-server.ts';
import { ago, harmless, STATES } from './readable.ts';

/** A state, in its colour and in words. */
export function pill(state: string, words: string = STATES[state] ?? state): TemplateResult {
  return html`<span class="pill ${state}">${harmless(words, 40)}</span>`;
}

/** A stranger's text, which cannot turn its neighbours around. */
export function strange(text: string, lengthMax?: number): TemplateResult {
  return html`<bdi>${harmless(text, lengthMax)}</bdi>`;
}

/** What went wrong. */
export function faultNote(error: unknown): TemplateResult {
  const words = error instanceof AskFault ? error.message : String(error);
  return html`<p class="note danger" role="alert">${harmless(words)}</p>`;
}

const KEY_LENGTH_MAX = 80;

/** Records, a line each, each leading to its record. */
export function recordList(rows: readonly Row[], now: number, empty: string): TemplateResult {
  if (rows.length === 0) return html`<p class="soft">${empty}</p>`;
  return html`<ul class="records">
    ${rows.map((row) => {
      const { state, operation, caller, key, reason, createdAt, status } = row;
      return html`<li>
        <a href=${toRecord(row)}>
          <span class="what">${pill(state)} ${strange(operation, KEY_LENGTH_MAX)}</span>
          <span class="key mono">${strange(key, KEY_LENGTH_MAX)}</span>
          <span class="caller soft">${strange(caller, KEY_LENGTH_MAX)}</span>
          <span class="why soft">${reason === null ? (status ?? '') : strange(reason, KEY_LENGTH_MAX)}</span>
          <span class="age soft">${ago(createdAt, now)}</span>
        </a>
      </li>`;
    })}
  </ul>`;
}

/** How a list of records looks. */
export const RECORDS_STYLE: CSSResult = css`
  .records li + li {
    border-top: 1px solid var(--line);
  }
  .records a {
    display: grid;
    grid-template-columns: minmax(0, 5fr) minmax(0, 5fr) minmax(0, 3fr) minmax(0, 3fr) 6.5rem;
    gap: 0.125rem 1rem;
    align-items: baseline;
    padding: 0.5rem 0.375rem;
    color: inherit;
    text-decoration: none;
    border-radius: 6px;
  }
  .records a > * {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .records a:hover {
    background: var(--sunk);
  }
  .records .key {
    color: var(--claim);
  }
  .age {
    text-align: end;
  }
  @media (max-width: 52rem) {
    .records a {
      grid-template-columns: minmax(0, 1fr) auto;
      padding: 0.75rem 0.25rem;
    }
    .records .what {
      grid-column: 1;
      white-space: normal;
    }
    .records .age {
      grid-column: 2;
      grid-row: 1;
    }
    .records .key,
    .records .caller,
    .records .why {
      grid-column: 1 / -1;
    }
  }
`;
