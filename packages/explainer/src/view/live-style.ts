/** How the page of the demo's API is laid out. */

import { css, type CSSResult } from 'lit';

/** Of `samekey-live`. */
export const LIVE_STYLE: CSSResult = css`
  :host {
    display: block;
    min-height: 100vh;
    background: var(--paper);
  }
  .page {
    max-width: 92rem;
    margin: 0 auto;
    padding: 1.125rem clamp(1rem, 3vw, 2.5rem) 4rem;
  }
  header {
    display: flex;
    flex-wrap: wrap;
    align-items: baseline;
    gap: 0.25rem 1.25rem;
    margin-bottom: 1.25rem;
  }
  .brand {
    font-size: 1.125rem;
    font-weight: 700;
  }
  header a {
    margin-left: auto;
    color: var(--claim);
    font-weight: 600;
  }
  h1 {
    font-size: clamp(1.625rem, 1.2rem + 1.6vw, 2.25rem);
    line-height: 1.15;
    letter-spacing: -0.02em;
    margin-bottom: 0.5rem;
  }
  .lead {
    max-width: 46rem;
    margin-bottom: 1.25rem;
  }
  .columns {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 1.25rem;
  }
  .stack {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 0.75rem;
    align-content: start;
  }
  section,
  .try {
    padding: 1rem 1.25rem;
    min-width: 0;
  }
  .try {
    display: grid;
    grid-template-columns: minmax(0, 1fr) auto;
    gap: 0.25rem 1rem;
    align-items: start;
  }
  .try h2 {
    font-size: 1rem;
  }
  .try p,
  .note {
    color: var(--soft);
    font-size: 0.9375rem;
  }
  .try .more {
    grid-column: 1 / -1;
    display: grid;
    gap: 0.375rem;
  }
  details {
    font-size: 0.8125rem;
    color: var(--soft);
  }
  summary {
    cursor: pointer;
    min-height: 1.5rem;
  }
  pre {
    padding: 0.625rem 0.75rem;
    margin-top: 0.25rem;
    background: var(--sunk);
    color: var(--ink);
    border-radius: 8px;
    white-space: pre-wrap;
    overflow-wrap: anywhere;
  }
  button {
    min-height: 2.75rem;
    padding: 0 1.125rem;
    border: 1px solid var(--ink);
    border-radius: 10px;
    background: var(--ink);
    color: var(--card);
    font-weight: 600;
  }
  button:hover:not(:disabled) {
    background: var(--claim);
    border-color: var(--claim);
  }
  button.quiet {
    background: var(--card);
    border-color: var(--line);
    color: var(--ink);
  }
  .answer {
    display: flex;
    flex-wrap: wrap;
    align-items: baseline;
    gap: 0.25rem 0.625rem;
    overflow-wrap: anywhere;
    padding: 0.125rem 0;
    font-size: 0.875rem;
  }
  .pill {
    padding: 0 0.5rem;
    border-radius: 999px;
    background: var(--plain-wash);
    color: var(--plain);
    font-size: 0.8125rem;
    font-weight: 600;
    white-space: nowrap;
  }
  .pill.good {
    background: var(--good-wash);
    color: var(--good);
  }
  .pill.claim {
    background: var(--claim-wash);
    color: var(--claim);
  }
  .pill.danger {
    background: var(--danger-wash);
    color: var(--danger);
  }
  .pill.money {
    background: var(--money-wash);
    color: var(--money);
  }
  .switches {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.75rem 1.5rem;
    margin-bottom: 1.25rem;
  }
  label {
    display: flex;
    align-items: center;
    gap: 0.5rem;
    min-height: 2rem;
  }
  input[type='checkbox'] {
    width: 1.125rem;
    height: 1.125rem;
    accent-color: var(--claim);
  }
  .sums {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.5rem 1.5rem;
    margin: 0.5rem 0 0.75rem;
  }
  .sums strong {
    font-size: 1.5rem;
    font-variant-numeric: tabular-nums;
  }
  .table {
    overflow-x: auto;
  }
  table {
    width: 100%;
    border-collapse: collapse;
    font-size: 0.8125rem;
  }
  th {
    text-align: left;
    font-weight: 600;
    color: var(--soft);
  }
  th,
  td {
    padding: 0.3125rem 0.75rem 0.3125rem 0;
    border-bottom: 1px solid var(--line);
    vertical-align: baseline;
  }
  td code {
    white-space: nowrap;
  }
  @media (min-width: 64rem) {
    .columns {
      grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
      gap: 1.75rem;
    }
    .books {
      position: sticky;
      top: 1rem;
      align-self: start;
    }
  }
`;
