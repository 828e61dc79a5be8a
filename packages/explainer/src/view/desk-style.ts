/** How a stage looks that has a version, a counter, a caption and its controls. */

import { css, type CSSResult } from 'lit';

/** Of everything within `.desk`. */
export const DESK_STYLE: CSSResult = css`
  .stages {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 1.25rem;
    min-width: 0;
    /* The controls float over the foot of the screen. */
    scroll-margin-bottom: 4.5rem;
  }
  .stages > section {
    min-width: 0;
    overflow: hidden;
  }
  .strip {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    justify-content: space-between;
    gap: 0.25rem 1rem;
    padding: 0.75rem 1.25rem;
    border-bottom: 1px solid var(--line);
  }
  .strip h2 {
    font-size: 1rem;
  }
  .money {
    display: flex;
    align-items: baseline;
    gap: 0.5rem;
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .money .beside {
    padding-left: 0.75rem;
    border-left: 1px solid var(--line);
  }
  @media (max-width: 40rem) {
    .money {
      flex-wrap: wrap;
      row-gap: 0;
    }
    .money .beside {
      flex-basis: 100%;
      padding: 0;
      border: 0;
    }
  }
  .money .beside output {
    font-size: 0.875rem;
  }
  .money output {
    padding: 0 0.625rem;
    border-radius: 999px;
    background: var(--money-wash);
    color: var(--money);
    font-size: 1.25rem;
    font-weight: 700;
    font-variant-numeric: tabular-nums;
  }
  .money .too-much {
    background: var(--danger-wash);
    color: var(--danger);
  }
  .caption {
    display: grid;
    grid-template-columns: auto 1fr;
    gap: 0.75rem;
    align-items: start;
    min-height: 5.25rem;
    padding: 0.875rem 1.25rem;
    border-bottom: 1px solid var(--line);
    font-size: 1.0625rem;
  }
  .caption .at {
    min-width: 4.25rem;
    padding-top: 0.1875rem;
    color: var(--soft);
    font-size: 0.8125rem;
    font-variant-numeric: tabular-nums;
  }
  .plain {
    border-left: 4px solid var(--plain);
  }
  .money-tone {
    border-left: 4px solid var(--money);
    background: var(--money-wash);
  }
  .claim {
    border-left: 4px solid var(--claim);
    background: var(--claim-wash);
  }
  .danger {
    border-left: 4px solid var(--danger);
    background: var(--danger-wash);
  }
  .good {
    border-left: 4px solid var(--good);
    background: var(--good-wash);
  }
  .verdict {
    display: block;
    font-weight: 600;
  }
  .verdict.harm {
    color: var(--danger);
  }
  .verdict.well {
    color: var(--good);
  }
  .bar {
    position: sticky;
    bottom: 0.5rem;
    z-index: 2;
    padding: 0.5rem;
    box-shadow: 0 4px 20px rgb(0 0 0 / 0.07);
  }
  .faults {
    display: grid;
    gap: 0.5rem;
    padding: 0.875rem 1.25rem;
    font-size: 0.9375rem;
  }
  .faults ol {
    margin: 0;
    padding-left: 1.25rem;
  }
  .faults em {
    color: var(--soft);
  }
  .place {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
  }
  .place button {
    min-height: 2.5rem;
    padding: 0 0.875rem;
    border: 1px solid var(--danger);
    border-radius: 8px;
    background: var(--card);
    color: var(--danger);
  }
  .place button:hover:not(:disabled) {
    background: var(--danger-wash);
  }
  .place [aria-pressed='true'] {
    background: var(--danger);
    color: var(--card);
  }
  .place :disabled {
    border-color: var(--line);
    color: var(--soft);
    cursor: default;
  }
  .knobs {
    padding: 0 0.5rem;
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.5rem 1.25rem;
    font-size: 0.875rem;
  }
  .knobs label {
    display: flex;
    align-items: center;
    gap: 0.5rem;
    min-height: 2rem;
  }
  .knobs input[type='range'] {
    width: 8rem;
    accent-color: var(--claim);
  }
  .knobs button {
    min-height: 2.25rem;
    padding: 0 0.75rem;
    border: 1px solid var(--line);
    border-radius: 8px;
    background: var(--card);
  }
  .knobs button:hover {
    background: var(--sunk);
  }
  .knobs small {
    color: var(--soft);
  }
  .knobs input[type='checkbox'] {
    width: 1.125rem;
    height: 1.125rem;
    accent-color: var(--claim);
  }
  .knobs output,
  .dials output {
    min-width: 4.5rem;
    font-variant-numeric: tabular-nums;
  }
  .knobs b {
    display: none;
  }
  .dials {
    display: grid;
    grid-auto-flow: dense;
    padding: 0.5rem 0;
    border-bottom: 1px solid var(--line);
    font-size: 0.8125rem;
    line-height: 1.3;
  }
  .dials label {
    display: flex;
    flex-direction: column;
    justify-content: flex-end;
    align-items: center;
    padding: 0 0.375rem;
    text-align: center;
  }
  .dials input {
    width: 100%;
    max-width: 8rem;
    height: 1.75rem;
    margin: 0;
    accent-color: var(--claim);
  }
  /* Over its lane a number needs no name of it. */
  .dials b {
    position: absolute;
    clip-path: inset(50%);
  }
  @media (max-width: 40rem) {
    .dials {
      display: block;
      padding: 0.5rem 1.25rem;
    }
    .dials label {
      flex-direction: row;
      justify-content: space-between;
      gap: 0.75rem;
      padding: 0;
      text-align: left;
    }
    .dials span {
      flex: 1;
    }
    .dials input {
      width: 6rem;
    }
    .dials b {
      position: static;
      display: block;
      clip-path: none;
    }
  }
`;
