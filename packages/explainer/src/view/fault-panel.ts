/** Where the reader places faults: at the message that leaves in the step that is shown. */

import { html, type TemplateResult } from 'lit';
import {
  type Fault,
  FAULT_KINDS,
  faultAt,
  type FaultKind,
  FAULTS_MAX,
  faultsText,
  type LaneId,
  machineOf,
  type Message,
  type Trace,
} from '../model/index.ts';

/** What the panel asks for. */
interface Placing {
  /** Other faults than those that are placed. */
  readonly place: (faults: readonly Fault[]) => void;
  readonly go: (step: number) => void;
}

/** The panel. */
export function faultPanel(
  trace: Trace,
  step: number,
  placed: readonly Fault[],
  { place, go }: Placing,
): TemplateResult {
  const leaving = trace.messages.filter(({ sentIn }) => sentIn === step);
  const next = trace.messages.find(({ sentIn }) => sentIn > step);
  return html`<section class="card faults" aria-label="Faults">
    <h2 class="small">Place a fault in this step</h2>
    ${leaving.map((message) => offers(trace, message, placed, place))}
    ${
      leaving.length > 0
        ? ''
        : html`<p>
            No message leaves in this step.
            ${next === undefined ? '' : html`<button class="link" @click=${() => go(next.sentIn)}>Go to the next one</button>`}
          </p>`
    }
    ${placed.length === 0 ? '' : list(trace, placed, place)}
  </section>`;
}

function offers(
  { lanes, messages }: Trace,
  message: Message,
  placed: readonly Fault[],
  place: Placing['place'],
): TemplateResult {
  const titleOf = titlesOf(lanes);
  const kinds = FAULT_KINDS.filter((kind) => !isOfMachine(kind) || machineOf(message) !== null);
  return html`<p>“${message.label}” leaves, from ${titleOf(message.from)} to ${titleOf(message.to)}.</p>
    <div class="place">
      ${kinds.map((kind) => {
        const fault = faultAt(messages, message.n, kind);
        const others = without(placed, fault);
        const isPlaced = others.length < placed.length;
        return html`<button
          aria-pressed=${isPlaced ? 'true' : 'false'}
          ?disabled=${!isPlaced && placed.length >= FAULTS_MAX}
          @click=${() => place(isPlaced ? others : [...placed, fault])}
        >
          ${wordsOf(fault, titleOf)}
        </button>`;
      })}
    </div>`;
}

function list({ lanes, unmet }: Trace, placed: readonly Fault[], place: Placing['place']): TemplateResult {
  const titleOf = titlesOf(lanes);
  const missed = faultsText(unmet).split('_');
  return html`<h2 class="small">Placed, ${placed.length} of ${FAULTS_MAX} at most</h2>
    <ol>
      ${placed.map((fault) => {
        const said = `${wordsOf(fault, titleOf)}: message ${fault.nth} from ${titleOf(fault.from)} to ${titleOf(fault.to)}`;
        return html`<li>
          ${said}
          ${missed.includes(faultsText([fault])) ? html`<em>does not come about in this version</em>` : ''}
          <button class="link" aria-label="Take away: ${said}" @click=${() => place(without(placed, fault))}>
            Take away
          </button>
        </li>`;
      })}
    </ol>`;
}

function without(faults: readonly Fault[], fault: Fault): readonly Fault[] {
  return faults.filter((one) => faultsText([one]) !== faultsText([fault]));
}

function isOfMachine(kind: FaultKind): boolean {
  return kind === 'dies' || kind === 'sleeps';
}

function wordsOf(fault: Fault, titleOf: (lane: LaneId) => string): string {
  const machine = titleOf(machineOf(fault) ?? fault.from);
  return {
    lose: 'It is lost',
    hold: 'It is held up',
    dies: `${machine} dies`,
    sleeps: `${machine} stands still`,
    again: 'The customer presses again',
    other: 'Another order comes, same key',
  }[fault.kind];
}

function titlesOf(lanes: Trace['lanes']): (lane: LaneId) => string {
  return (lane) => lanes.find(({ id }) => id === lane)?.title ?? lane;
}
