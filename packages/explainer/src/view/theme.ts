/** Colours, type and space of the page. One colour for each meaning, the same in light and dark. */

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
    --plain: light-dark(#5b5e66, #a9adb6);
    --money: light-dark(#8a5a00, #f0b94d);
    --claim: light-dark(#3b47b8, #a5aefc);
    --danger: light-dark(#b3261e, #ff9a8f);
    --good: light-dark(#176a41, #74d3a0);
    --money-wash: light-dark(#fdf3df, #322811);
    --claim-wash: light-dark(#eceefc, #23274a);
    --danger-wash: light-dark(#fdecea, #3d1f1c);
    --good-wash: light-dark(#e6f4ec, #17301f);
    --plain-wash: light-dark(#f1efea, #23262d);
    --round: 12px;
    --mono: ui-monospace, 'SF Mono', 'Cascadia Code', Menlo, Consolas, monospace;
    box-sizing: border-box;
    color: var(--ink);
    font: 400 1rem / 1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif;
  }
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  h1,
  h2,
  p,
  ol,
  ul,
  dl,
  dd,
  pre,
  fieldset {
    margin: 0;
    padding: 0;
  }
  fieldset {
    border: 0;
    min-width: 0;
  }
  .small {
    font-size: 0.8125rem;
    font-weight: 600;
    letter-spacing: 0.02em;
    color: var(--soft);
  }
  button,
  select {
    font: inherit;
    color: inherit;
  }
  button {
    cursor: pointer;
  }
  :focus-visible {
    outline: 2px solid var(--claim);
    outline-offset: 2px;
  }
  .card {
    background: var(--card);
    border: 1px solid var(--line);
    border-radius: var(--round);
  }
  code,
  pre {
    font-family: var(--mono);
    font-size: 0.8125rem;
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
