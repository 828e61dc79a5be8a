/**
 * How the page is laid out: story at the left, stage in the middle, what stands behind it at the right; one below
 * the other on a phone.
 */

import { type CSSResult, css } from 'lit';

/** Its columns, and what stands around the stage. */
export const PAGE_STYLE: CSSResult = css`
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
    margin-bottom: 0.875rem;
  }
  .brand {
    font-size: 1.125rem;
    font-weight: 700;
    letter-spacing: -0.01em;
  }
  .tour {
    min-height: 2.25rem;
    padding: 0 0.875rem;
    border: 1px solid var(--claim);
    border-radius: 999px;
    background: var(--claim-wash);
    color: var(--claim);
    font-weight: 600;
  }
  .tour:hover {
    background: var(--card);
  }
  .live {
    margin-left: auto;
    color: var(--claim);
    font-weight: 600;
  }
  .lead {
    color: var(--soft);
  }
  nav ol {
    display: flex;
    gap: 0.375rem;
    list-style: none;
    overflow-x: auto;
    padding: 3px;
    margin: 0 -3px 1.25rem;
    scrollbar-width: none;
  }
  nav button {
    display: flex;
    align-items: center;
    gap: 0.5rem;
    min-height: 2.75rem;
    padding: 0 0.875rem 0 0.5rem;
    border: 1px solid transparent;
    border-radius: 999px;
    background: none;
    white-space: nowrap;
  }
  nav button:hover {
    background: var(--sunk);
  }
  nav [aria-current] {
    background: var(--card);
    border-color: var(--line);
    font-weight: 600;
  }
  nav .number {
    display: grid;
    place-items: center;
    width: 1.75rem;
    height: 1.75rem;
    border-radius: 50%;
    background: var(--plain-wash);
    color: var(--soft);
    font-size: 0.8125rem;
    font-weight: 600;
  }
  nav .number.done {
    background: var(--good-wash);
    color: var(--good);
  }
  h1 {
    font-size: clamp(1.625rem, 1.2rem + 1.6vw, 2.25rem);
    line-height: 1.15;
    letter-spacing: -0.02em;
    margin-bottom: 0.625rem;
  }
  .story {
    margin-bottom: 1.25rem;
  }
  .story p {
    max-width: 46rem;
  }
  .tasks {
    padding: 1rem 1.25rem;
    align-self: start;
  }
  .tasks ol {
    list-style: none;
    display: grid;
    gap: 0.625rem;
    margin-top: 0.5rem;
  }
  .tasks li {
    display: grid;
    grid-template-columns: 1.5rem 1fr;
    gap: 0.625rem;
    color: var(--soft);
    font-size: 0.9375rem;
  }
  .tasks .now {
    color: var(--ink);
  }
  .tick {
    display: grid;
    place-items: center;
    width: 1.375rem;
    height: 1.375rem;
    margin-top: 0.0625rem;
    border: 1.5px solid var(--line);
    border-radius: 50%;
    font-size: 0.75rem;
    font-weight: 600;
  }
  .now .tick {
    border-color: var(--claim);
    color: var(--claim);
  }
  .done .tick {
    border-color: var(--good);
    background: var(--good-wash);
    color: var(--good);
  }
  .learned {
    display: block;
    color: var(--good);
  }
  .questions {
    display: grid;
    gap: 0.25rem;
    margin-top: 1.25rem;
    padding: 1rem 1.25rem;
  }
  .questions summary {
    min-height: 1.75rem;
    cursor: pointer;
  }
  .questions p {
    max-width: 46rem;
    padding: 0.25rem 0 0.75rem 1.125rem;
    color: var(--soft);
  }
  .questions a {
    color: var(--claim);
    font-weight: 600;
  }
  .missing {
    padding: 1rem 1.25rem;
  }
  .link {
    display: inline-block;
    min-height: 1.75rem;
    padding: 0;
    border: 0;
    background: none;
    color: var(--claim);
    font-weight: 600;
    text-decoration: underline;
    text-underline-offset: 3px;
  }
  .variants {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
  }
  .variants label {
    position: relative;
    display: flex;
    align-items: center;
    gap: 0.5rem;
    min-height: 2.75rem;
    padding: 0 1rem;
    border: 1px solid var(--line);
    border-radius: 999px;
    background: var(--card);
    cursor: pointer;
  }
  .variants input {
    appearance: none;
    position: absolute;
    inset: 0;
    margin: 0;
    border-radius: inherit;
    cursor: pointer;
  }
  .variants .mark {
    width: 0.625rem;
    height: 0.625rem;
    border-radius: 50%;
    background: var(--danger);
  }
  .variants .sound .mark {
    background: var(--good);
  }
  .variants label:has(:checked) {
    border-color: var(--ink);
    box-shadow: inset 0 0 0 1px var(--ink);
    font-weight: 600;
  }
  .says {
    max-width: 46rem;
    color: var(--soft);
  }
  .runs {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 1.25rem;
  }
  .desk {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 0.75rem;
    min-width: 0;
    /* On one screen with what stands above it on a desktop, with its caption and the controls elsewhere. */
    --stage-height: clamp(17rem, 100vh - 26rem, 33rem);
  }
  aside {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 1.25rem;
    align-content: start;
    min-width: 0;
  }
  aside section,
  .transcript {
    padding: 1rem 1.25rem;
    min-width: 0;
  }
  aside .small {
    margin-bottom: 0.5rem;
  }
  aside pre {
    padding: 0.75rem;
    border-radius: 8px;
    background: var(--sunk);
    white-space: pre-wrap;
    overflow-wrap: anywhere;
  }
  .transcript summary {
    cursor: pointer;
    font-weight: 600;
  }
  .transcript ol {
    display: grid;
    gap: 0.125rem;
    margin-top: 0.75rem;
    padding-left: 2rem;
  }
  .transcript li::marker {
    color: var(--soft);
    font-size: 0.8125rem;
  }
  .transcript a {
    display: block;
    padding: 0.1875rem 0.5rem;
    border-radius: 6px;
    color: inherit;
    text-decoration: none;
  }
  .transcript a:hover {
    text-decoration: underline;
  }
  .transcript [aria-current] {
    background: var(--claim-wash);
  }
  @media (max-width: 40rem) {
    .caption {
      grid-template-columns: minmax(0, 1fr);
      gap: 0;
    }
  }
  @media (max-width: 63.99rem) {
    .tasks:has(.now) li:not(.now) {
      display: none;
    }
  }
  @media (min-width: 64rem) {
    .desk {
      --stage-height: clamp(17rem, 100vh - 42rem, 33rem);
    }
    .placing {
      --stage-height: clamp(15rem, 100vh - 52rem, 30rem);
    }
    .runs {
      grid-template: 'story tasks' auto 'desk tasks' auto 'desk aside' 1fr 'transcript transcript' auto / minmax(0, 1fr) 23rem;
      column-gap: 1.75rem;
    }
    .story {
      grid-area: story;
      margin: 0;
    }
    .desk {
      grid-area: desk;
      align-content: start;
    }
    .tasks {
      grid-area: tasks;
    }
    aside {
      grid-area: aside;
    }
    .transcript {
      grid-area: transcript;
    }
    .runs.two {
      grid-template: 'story tasks' auto 'desk desk' auto 'aside aside' auto 'transcript transcript' auto / minmax(0, 1fr) minmax(0, 30rem);
    }
    .two .stages {
      grid-template-columns: repeat(2, minmax(0, 1fr));
    }
    /* Head, words, numbers and stage of both on one line each. */
    .two .stages > section {
      display: grid;
      grid-row: span 4;
      grid-template-rows: subgrid;
      row-gap: 0;
    }
    .two aside {
      grid-template-columns: repeat(3, minmax(0, 1fr));
    }
  }
`;
