/** The messages of a step, with their headers and bodies. */

import {
  type CSSResultGroup,
  css,
  html,
  LitElement,
  type PropertyDeclarations,
  type TemplateResult,
} from 'lit';
import type { Message, Trace } from '../model/index.ts';
import { THEME } from './theme.ts';

/** `samekey-messages`. */
export class MessagesElement extends LitElement {
  static override properties: PropertyDeclarations = { trace: { attribute: false }, step: { type: Number } };
  static override styles: CSSResultGroup = [
    THEME,
    css`
      :host {
        display: block;
      }
      details {
        border-top: 1px solid var(--line);
        padding: 0.5rem 0;
      }
      details:first-of-type {
        border-top: 0;
      }
      summary {
        cursor: pointer;
        font-size: 0.875rem;
      }
      summary span {
        color: var(--soft);
      }
      pre {
        margin-top: 0.5rem;
        padding: 0.625rem 0.75rem;
        background: var(--sunk);
        border-radius: 8px;
        white-space: pre-wrap;
        overflow-wrap: anywhere;
      }
      p {
        color: var(--soft);
        font-size: 0.875rem;
      }
    `,
  ];

  declare trace: Trace | null;
  declare step: number;

  constructor() {
    super();
    this.trace = null;
    this.step = 0;
  }

  override render(): TemplateResult {
    const { trace, step } = this;
    if (trace === null) return html``;
    const own = trace.messages.filter(({ sentIn, endedIn }) => sentIn === step || endedIn === step);
    if (own.length === 0) return html`<p>No message moves in this step.</p>`;
    return html`${own.map((message) => this.#message(message, trace))}`;
  }

  #message(message: Message, { lanes }: Trace): TemplateResult {
    const titleOf = (lane: string): string => lanes.find(({ id }) => id === lane)?.title ?? lane;
    const { from, to, label, headers, body, endedIn, isLost } = message;
    const lines = [...headers.map(([name, value]) => headLine(name, value)), ...shownBody(body)];
    const way = endedIn !== this.step ? 'leaves' : isLost ? 'is lost' : 'arrives';
    return html`<details>
      <summary>${label} <span>${titleOf(from)} → ${titleOf(to)}, ${way}</span></summary>
      <pre>${lines.length === 0 ? 'nothing more' : lines.join('\n')}</pre>
    </details>`;
  }
}

/** A request's first line stands among its headers. */
function headLine(name: string, value: string): string {
  return name === 'POST' ? `${name} ${value}` : `${name}: ${value}`;
}

function shownBody(body: string): readonly string[] {
  if (body === '') return [];
  try {
    return ['', JSON.stringify(JSON.parse(body), null, 2)];
  } catch {
    return [body];
  }
}
