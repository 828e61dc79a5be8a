/** Colours, type and space of the page: those of the explainer, one colour for each meaning, in light and dark. */

import { type CSSResult, css } from 'lit';

/** Names for what all elements use. */
export const THEME: CSSResult = css`
  :host {
    color-scheme: light dark;
    --paper: light-dark(#f7f6f3, #14161a);
    --card: light-dark(#ffffff, #1c1f25);
    --sunk: light-dark(#f1efea, #15181c);
    --line: light-dark(#dedbd3, #333842);
    --ink: light-dark(#1d1f23, #eceae5);
    --soft: light-dark(#5b5e66, #a9adb6);
    --money: light-dark(#8a5a00, #f0b94d);
    --claim: light-dark(#3b47b8, #a5aefc);
    --danger: light-dark(#b3261e, #ff9a8f);
    --good: light-dark(#176a41, #74d3a0);
    --money-wash: light-dark(#fdf3df, #322811);
    --claim-wash: light-dark(#eceefc, #23274a);
    --danger-wash: light-dark(#fdecea, #3d1f1c);
    --good-wash: light-dark(#e6f4ec, #17301f);
    --plain-wash: light-dark(#f1efea, #23262d);
    --on-claim: light-dark(#ffffff, #14161a);
    --round: 10px;
    --mono: ui-monospace, 'SF Mono', 'Cascadia Code', Menlo, Consolas, monospace;
    display: block;
    box-sizing: border-box;
    color: var(--ink);
    font: 400 0.9375rem / 1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif;
  }
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  h1,
  h2,
  h3,
  p,
  ol,
  ul,
  dl,
  dd,
  pre,
  fieldset,
  legend {
    margin: 0;
    padding: 0;
  }
  ol,
  ul {
    list-style: none;
  }
  fieldset {
    border: 0;
    min-width: 0;
  }
  h1 {
    font-size: 1.5rem;
    line-height: 1.25;
    letter-spacing: -0.01em;
    overflow-wrap: anywhere;
  }
  h2 {
    font-size: 1.0625rem;
  }
  h3 {
    font-size: 0.9375rem;
  }
  a {
    color: var(--claim);
  }
  .soft {
    color: var(--soft);
  }
  .small {
    font-size: 0.8125rem;
  }
  button,
  select,
  input,
  textarea {
    font: inherit;
    color: inherit;
    background: var(--card);
    border: 1px solid var(--line);
    border-radius: 8px;
    padding: 0.5rem 0.75rem;
    min-height: 2.5rem;
    max-width: 100%;
  }
  input,
  textarea,
  select {
    border-color: light-dark(#8a8a86, #6b717d);
  }
  input[type='checkbox'],
  input[type='radio'] {
    min-height: 0;
    width: 1.125rem;
    height: 1.125rem;
    accent-color: var(--claim);
    flex: none;
    margin: 0.1875rem 0 0;
  }
  button {
    cursor: pointer;
    font-weight: 600;
  }
  button:hover:not(:disabled) {
    background: var(--sunk);
  }
  button:disabled {
    cursor: default;
    color: var(--soft);
  }
  button.main {
    background: var(--claim);
    border-color: var(--claim);
    color: var(--on-claim);
  }
  button.main:hover:not(:disabled) {
    background: var(--claim);
    filter: brightness(1.1);
  }
  button.danger {
    border-color: var(--danger);
    color: var(--danger);
  }
  button.danger:disabled {
    border-color: var(--line);
    color: var(--soft);
  }
  :focus-visible {
    outline: 2px solid var(--claim);
    outline-offset: 2px;
  }
  .card {
    background: var(--card);
    border: 1px solid var(--line);
    border-radius: var(--round);
    padding: 1rem 1.125rem;
    min-width: 0;
  }
  .stack {
    display: grid;
    gap: 1rem;
    min-width: 0;
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem 0.75rem;
    align-items: center;
  }
  .spread {
    justify-content: space-between;
  }
  code,
  pre,
  .mono {
    font-family: var(--mono);
    font-size: 0.8125rem;
  }
  pre {
    padding: 0.625rem 0.75rem;
    background: var(--sunk);
    border-radius: 8px;
    white-space: pre-wrap;
    overflow-wrap: anywhere;
    max-height: 24rem;
    overflow-y: auto;
  }
  .pill {
    display: inline-block;
    padding: 0.0625rem 0.5rem;
    border-radius: 999px;
    font-size: 0.8125rem;
    font-weight: 600;
    white-space: nowrap;
    background: var(--plain-wash);
    color: var(--soft);
  }
  .pill.unknown,
  .pill.stuck,
  .pill.dead {
    background: var(--danger-wash);
    color: var(--danger);
  }
  .pill.completed {
    background: var(--good-wash);
    color: var(--good);
  }
  .pill.in_progress,
  .pill.pending {
    background: var(--claim-wash);
    color: var(--claim);
  }
  .pill.retryable {
    background: var(--money-wash);
    color: var(--money);
  }
  .note {
    padding: 0.625rem 0.75rem;
    border-radius: 8px;
    background: var(--plain-wash);
  }
  .note.danger {
    background: var(--danger-wash);
    color: var(--danger);
  }
  .note.good {
    background: var(--good-wash);
    color: var(--good);
  }
  label.field {
    display: grid;
    gap: 0.25rem;
    min-width: 0;
  }
  label.field > span {
    font-size: 0.8125rem;
    font-weight: 600;
  }
  label.check {
    display: flex;
    gap: 0.5rem;
    align-items: flex-start;
  }
  .scroll {
    overflow-x: auto;
  }
  table {
    border-collapse: collapse;
    width: 100%;
  }
  th {
    text-align: start;
    font-size: 0.8125rem;
    color: var(--soft);
    font-weight: 600;
    padding: 0.375rem 0.75rem 0.375rem 0;
    border-bottom: 1px solid var(--line);
    white-space: nowrap;
  }
  td {
    padding: 0.5rem 0.75rem 0.5rem 0;
    border-bottom: 1px solid var(--line);
    vertical-align: top;
    overflow-wrap: anywhere;
  }
  tr:last-child > td {
    border-bottom: 0;
  }
  .number {
    text-align: end;
    font-variant-numeric: tabular-nums;
  }
  .hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`;
