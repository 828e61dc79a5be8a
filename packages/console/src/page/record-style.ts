/** How one record looks. */

import { type CSSResult, css } from 'lit';

export const RECORD_STYLE: CSSResult = css`
  .head {
    gap: 0.5rem;
  }
  h1.mono {
    font-size: 1.25rem;
  }
  .meaning {
    display: inline-block;
  }
  .meaning::first-letter {
    text-transform: uppercase;
  }
  .columns {
    display: grid;
    grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
    gap: 1rem;
    align-items: start;
  }
  @media (max-width: 60rem) {
    .columns {
      grid-template-columns: minmax(0, 1fr);
    }
  }
  dl div {
    display: grid;
    grid-template-columns: minmax(8rem, 2fr) minmax(0, 3fr);
    gap: 0.75rem;
    padding: 0.3125rem 0;
    border-top: 1px solid var(--line);
  }
  dl div:first-child {
    border-top: 0;
  }
  dt {
    color: var(--soft);
  }
  dd {
    overflow-wrap: anywhere;
  }
  .timeline li {
    position: relative;
    padding: 0 0 0.875rem 1.375rem;
  }
  .timeline li::before {
    content: '';
    position: absolute;
    left: 0.125rem;
    top: 0.4375rem;
    width: 0.625rem;
    height: 0.625rem;
    border-radius: 50%;
    background: var(--soft);
  }
  .timeline li:not(:last-child)::after {
    content: '';
    position: absolute;
    left: 0.375rem;
    top: 1.25rem;
    bottom: -0.25rem;
    border-left: 2px solid var(--line);
  }
  .timeline .open::before {
    background: var(--danger);
  }
  .timeline .answer::before {
    background: var(--good);
  }
  .timeline .audit::before {
    background: var(--claim);
  }
  .timeline .later::before {
    background: var(--card);
    border: 2px solid var(--soft);
  }
  .timeline .gap {
    padding-bottom: 0.5rem;
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .timeline .gap::before {
    display: none;
  }
  .timeline p {
    overflow-wrap: anywhere;
  }
`;
