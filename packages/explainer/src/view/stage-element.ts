/** The stage: lanes, arrows and machines, as far as the run has come. */

import {
  type CSSResultGroup,
  css,
  html,
  LitElement,
  nothing,
  type PropertyDeclarations,
  type PropertyValues,
  svg,
  type TemplateResult,
} from 'lit';
import { type Arrow, type Frame, frameOf, LINE_PX } from '../layout/index.ts';
import type { Trace } from '../model/index.ts';
import { THEME } from './theme.ts';

/** Asked for by whoever wants to see another step. */
export class GoEvent extends Event {
  readonly step: number;
  constructor(step: number) {
    super('go', { bubbles: true, composed: true });
    this.step = step;
  }
}

/** `samekey-stage`. */
export class StageElement extends LitElement {
  static override properties: PropertyDeclarations = {
    trace: { attribute: false },
    step: { type: Number },
    label: { type: String },
    width: { state: true },
  };
  static override styles: CSSResultGroup = [
    THEME,
    css`
      :host {
        display: block;
        min-width: 0;
      }
      .scroll {
        height: var(--stage-height, 29rem);
        overflow-y: auto;
        overflow-x: hidden;
        overscroll-behavior: contain;
        scrollbar-width: thin;
      }
      @media (prefers-reduced-motion: no-preference) {
        .scroll {
          scroll-behavior: smooth;
        }
        .current path {
          animation: draw 0.5s ease-out;
        }
        .ring {
          animation: ring 0.45s ease-out;
        }
      }
      @keyframes draw {
        from {
          stroke-dasharray: 1;
          stroke-dashoffset: 1;
        }
        to {
          stroke-dasharray: 1;
          stroke-dashoffset: 0;
        }
      }
      @keyframes ring {
        from {
          r: 15px;
          opacity: 0;
        }
      }
      .heads {
        position: sticky;
        top: 0;
        z-index: 1;
        height: 2.5rem;
        background: var(--card);
        border-bottom: 1px solid var(--line);
      }
      .heads span {
        position: absolute;
        top: 0.6rem;
        transform: translateX(-50%);
        font-size: 0.8125rem;
        font-weight: 600;
        white-space: nowrap;
      }
      .heads .network {
        color: var(--soft);
        font-weight: 400;
      }
      svg {
        display: block;
        /* So that the controls, which float over the foot of the stage on a low screen, hide no step. */
        margin-bottom: 4rem;
      }
      .life {
        stroke: var(--line);
      }
      .life.network {
        stroke-dasharray: 2 5;
      }
      .band {
        fill: var(--sunk);
      }
      path {
        fill: none;
        stroke-width: 1.5;
      }
      .current path {
        stroke-width: 2.5;
      }
      text {
        font-size: 12px;
        fill: var(--soft);
        text-anchor: middle;
        paint-order: stroke;
        stroke: var(--card);
        stroke-width: 4px;
        stroke-linejoin: round;
      }
      .current text {
        fill: var(--ink);
        font-weight: 600;
        stroke: var(--sunk);
      }
      path.cross {
        stroke: var(--danger);
        stroke-width: 3.5;
        stroke-linecap: round;
      }
      .under-way path {
        stroke-dasharray: 4 4;
      }
      .stop {
        stroke: var(--danger);
        stroke-width: 9;
        stroke-linecap: round;
        opacity: 0.35;
      }
      .dead {
        stroke-dasharray: 1 14;
        opacity: 0.8;
        stroke-width: 5;
      }
      circle {
        stroke: var(--card);
        stroke-width: 2;
      }
      .ring {
        fill: none;
        stroke-width: 2.5;
      }
      /* Too narrow for all names in a line: every other one stands lower. */
      @media (max-width: 560px) {
        .heads span {
          top: 0.125rem;
          font-size: 0.75rem;
        }
        .heads span:nth-child(even) {
          top: 1.125rem;
        }
        .heads span:last-child {
          transform: translateX(-75%);
        }
      }
    `,
  ];

  declare trace: Trace | null;
  declare step: number;
  declare label: string;
  declare width: number;
  readonly #sizes = new ResizeObserver(([entry]) => {
    if (entry !== undefined) this.width = Math.floor(entry.contentRect.width);
  });

  constructor() {
    super();
    this.trace = null;
    this.step = 0;
    this.label = '';
    this.width = 640;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#sizes.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#sizes.disconnect();
  }

  override render(): TemplateResult {
    if (this.trace === null) return html``;
    const frame = frameOf(this.trace, this.step, Math.max(280, this.width));
    return html`
      <div class="scroll" role="group" aria-label=${this.label} tabindex="0" @click=${this.#pick}>
        <div class="heads" aria-hidden="true">
          ${frame.lanes.map(
            ({ id, title, x }) => html`<span class=${id} style="left:${x}px">${title}</span>`,
          )}
        </div>
        ${drawn(frame)}
      </div>
    `;
  }

  /** What was drawn last is in sight. */
  protected override updated(changed: PropertyValues<this>): void {
    if (!changed.has('step') && !changed.has('trace') && !changed.has('width')) return;
    const scroll = this.renderRoot.querySelector('.scroll');
    if (scroll === null || this.trace === null) return;
    const { y } = frameOf(this.trace, this.step, this.width);
    const wanted = y - scroll.clientHeight * 0.48;
    scroll.scrollTop = Math.max(0, wanted);
  }

  /** A click goes to the step on whose line it was. */
  readonly #pick = (event: MouseEvent): void => {
    const svgElement = this.renderRoot.querySelector('svg');
    if (svgElement === null || this.trace === null) return;
    const y = event.clientY - svgElement.getBoundingClientRect().top;
    const step = Math.round((y - 22) / LINE_PX);
    if (step >= 0 && step <= this.step) this.dispatchEvent(new GoEvent(step));
  };
}

function drawn(frame: Frame): TemplateResult {
  const { width, height, lanes, arrows, points, stops, y } = frame;
  const last = points.at(-1);
  return html`<svg width=${width} height=${height} viewBox="0 0 ${width} ${height}" aria-hidden="true">
    <rect class="band" x="0" y=${y - LINE_PX / 2} width=${width} height=${LINE_PX} rx="6"></rect>
    ${lanes.map(({ id, x }) => svg`<line class="life ${id}" x1=${x} x2=${x} y1="0" y2=${height}></line>`)}
    ${stops.map(
      ({ x, y1, y2, how }) => svg`<line class="stop ${how}" x1=${x} x2=${x} y1=${y1} y2=${y2}></line>`,
    )}
    ${arrows.toSorted((one, other) => Number(one.isCurrent) - Number(other.isCurrent)).map(arrowDrawn)}
    ${points.map(
      ({ x, y: at, tone }) => svg`<circle cx=${x} cy=${at} r="5" style="fill:var(--${tone})"></circle>`,
    )}
    ${arrows.filter(({ end }) => end === 'lost').map(({ x2, y2 }) => cross(x2, y2))}
    ${
      last === undefined
        ? ''
        : svg`<circle class="ring" cx=${last.x} cy=${last.y} r="9" style="stroke:var(--${last.tone})"></circle>`
    }
  </svg>`;
}

function arrowDrawn(arrow: Arrow): TemplateResult {
  const { x1, y1, x2, y2, label, labelX, labelY, tone, end, isCurrent } = arrow;
  const colour = end === 'lost' ? 'danger' : tone;
  return svg`<g class="${end} ${isCurrent ? 'current' : ''}" style="color:var(--${colour})">
    <path d="M${x1} ${y1} L${x2} ${y2}" stroke="currentColor" pathLength=${end === 'under-way' ? nothing : 1}></path>
    ${end === 'lost' ? '' : tip(arrow)}
    ${label === '' ? '' : svg`<text x=${labelX} y=${labelY}>${label}</text>`}
  </g>`;
}

function tip({ x1, y1, x2, y2, end }: Arrow): TemplateResult {
  const angle = Math.atan2(y2 - y1, x2 - x1);
  // Before the point of the lane, not under it.
  const back = end === 'arrived' ? 6 : 0;
  const [x, y] = [x2 - back * Math.cos(angle), y2 - back * Math.sin(angle)];
  const wing = (turn: number): string =>
    `${(x - 9 * Math.cos(angle + turn)).toFixed(1)} ${(y - 9 * Math.sin(angle + turn)).toFixed(1)}`;
  return svg`<path d="M${wing(0.42)} L${x.toFixed(1)} ${y.toFixed(1)} L${wing(-0.42)}" stroke="currentColor"></path>`;
}

function cross(x: number, y: number): TemplateResult {
  return svg`<path class="cross" d="M${x - 7} ${y - 7} l14 14 M${x + 7} ${y - 7} l-14 14"></path>`;
}
