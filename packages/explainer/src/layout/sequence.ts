/**
 * Where everything on the stage is: lanes side by side, time downwards, one line for each step. Pure: from a run
 * and a width to numbers.
 */

import type { LaneId, Message, Tone, Trace } from '../model/index.ts';

/** A lane's place. */
interface LanePlace {
  readonly id: LaneId;
  readonly title: string;
  readonly x: number;
}

/** An arrow, as far as it has come. */
export interface Arrow {
  readonly message: number;
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
  readonly label: string;
  readonly labelX: number;
  readonly labelY: number;
  readonly tone: Tone;
  readonly end: 'arrived' | 'lost' | 'under-way';
  /** Whether it left or ended in the step that is shown. */
  readonly isCurrent: boolean;
}

/** A step's point on its lane. */
interface Point {
  readonly step: number;
  readonly x: number;
  readonly y: number;
  readonly tone: Tone;
}

/** A stretch of a lane in which its machine stands still or is gone. */
interface Stop {
  readonly x: number;
  readonly y1: number;
  readonly y2: number;
  readonly how: 'frozen' | 'dead';
}

/** The stage at one step. */
export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly lanes: readonly LanePlace[];
  readonly arrows: readonly Arrow[];
  readonly points: readonly Point[];
  readonly stops: readonly Stop[];
  /** The line of the step that is shown. */
  readonly y: number;
}

/** Between two steps. */
export const LINE_PX = 34;
const TOP_PX = 22;
/** Least share of its way that an arrow is drawn when it has just left. */
const BEGUN = 0.3;
/** A label needs so much for each character, roughly. */
const CHARACTER_PX = 6.6;
/** Of an arrow, what its label leaves free at both ends together. */
const ENDS_PX = 26;
const BESIDE_PX = 10;
/** A longer label would stand over the arrows of others. */
const BESIDE_CHARACTERS = 18;

/** Lays the stage out as it is after a step. */
export function frameOf(trace: Trace, step: number, width: number): Frame {
  const lanes = lanesOf(trace, width);
  const at = new Map(lanes.map(({ id, x }) => [id, x]));
  const xOf = (id: LaneId): number => at.get(id) ?? 0;
  const last = Math.min(step, trace.steps.length - 1);
  return {
    width,
    height: yOf(trace.steps.length) - 4,
    lanes,
    arrows: trace.messages
      .filter(({ sentIn }) => sentIn <= last)
      .map((message) => arrowOf(message, last, xOf, width)),
    points: trace.steps
      .slice(0, last + 1)
      .map(({ n, lane, tone }) => ({ step: n, x: xOf(lane), y: yOf(n), tone })),
    stops: lanes.flatMap(({ id, x }) => stopsOf(trace, last, id, x)),
    y: yOf(last),
  };
}

function lanesOf({ lanes }: Trace, width: number): readonly LanePlace[] {
  // What travels through the network needs room, the lane itself none: it is narrower than the others.
  const shares = lanes.map(({ id }) => (id === 'network' ? 0.8 : 1));
  const sum = shares.reduce((total, share) => total + share, 0);
  let left = 0;
  return lanes.map(({ id, title }, i) => {
    const own = ((shares[i] ?? 1) / sum) * width;
    const x = Math.round(left + own / 2);
    left += own;
    return { id, title, x };
  });
}

function yOf(step: number): number {
  return TOP_PX + step * LINE_PX;
}

function arrowOf(message: Message, step: number, xOf: (id: LaneId) => number, width: number): Arrow {
  const { n, from, to, sentIn, endedIn, isLost, tone, label } = message;
  const ends = endedIn ?? sentIn + 2;
  const whole = { x1: xOf(from), y1: yOf(sentIn), x2: xOf(to), y2: yOf(ends) };
  const hasEnded = endedIn !== null && endedIn <= step;
  const part = hasEnded ? (isLost ? lostAt(message, xOf) : 1) : shareOf(sentIn, ends, step);
  const x2 = whole.x1 + (whole.x2 - whole.x1) * part;
  const y2 = hasEnded && isLost ? whole.y2 : whole.y1 + (whole.y2 - whole.y1) * part;
  const middle = Math.round(whole.y1 + (y2 - whole.y1) * 0.5);
  return {
    message: n,
    x1: whole.x1,
    y1: whole.y1,
    x2: Math.round(x2),
    y2: Math.round(y2),
    ...(besideOf(label, whole, width) ?? aboveOf(label, whole, { x2, middle })),
    tone,
    end: hasEnded ? (isLost ? 'lost' : 'arrived') : 'under-way',
    isCurrent: sentIn === step || endedIn === step,
  };
}

function shareOf(sentIn: number, ends: number, step: number): number {
  return Math.min(0.85, Math.max(BEGUN, (step - sentIn) / Math.max(1, ends - sentIn)));
}

/** Through the network it is lost there, else halfway. */
function lostAt({ from, to }: Message, xOf: (id: LaneId) => number): number {
  const [x1, x2, network] = [xOf(from), xOf(to), xOf('network')];
  const isThrough = network > Math.min(x1, x2) && network < Math.max(x1, x2);
  return isThrough ? (network - x1) / (x2 - x1) : 0.5;
}

type Label = Pick<Arrow, 'label' | 'labelX' | 'labelY'>;
type Way = Pick<Arrow, 'x1' | 'y1' | 'x2' | 'y2'>;

/** Over its arrow, shortened where that is. */
function aboveOf(
  label: string,
  { x1, x2: whole }: Way,
  at: { readonly x2: number; readonly middle: number },
): Label {
  const shown = fitted(label, Math.abs(whole - x1) - ENDS_PX);
  // Of an arrow that has just left the label stands beside the point, not under it.
  const besidePoint = (shown.length * CHARACTER_PX) / 2 + 14;
  const labelX = Math.round(x1 + Math.sign(at.x2 - x1) * Math.max(besidePoint, Math.abs(at.x2 - x1) / 2));
  return { label: shown, labelX, labelY: at.middle - 7 };
}

/** To the right of an arrow that is too short for it, or to the left; null: there is no need, or no room. */
function besideOf(label: string, { x1, y1, x2, y2 }: Way, width: number): Label | null {
  // More than above: that of the step which is shown is bold.
  const needed = label.length * CHARACTER_PX * 1.25;
  if (label.length * CHARACTER_PX <= Math.abs(x2 - x1) - ENDS_PX || label.length > BESIDE_CHARACTERS)
    return null;
  const right = Math.max(x1, x2) + BESIDE_PX + needed / 2;
  const left = Math.min(x1, x2) - BESIDE_PX - needed / 2;
  const labelX = right + needed / 2 < width ? right : left - needed / 2 > 0 ? left : null;
  return labelX === null
    ? null
    : { label, labelX: Math.round(labelX), labelY: Math.round((y1 + y2) / 2) + 4 };
}

function fitted(label: string, roomPx: number): string {
  const most = Math.floor(roomPx / CHARACTER_PX);
  if (label.length <= most) return label;
  return most < 4 ? '' : `${label.slice(0, most - 1)}…`;
}

function stopsOf(trace: Trace, step: number, lane: LaneId, x: number): readonly Stop[] {
  const stops: Stop[] = [];
  let open: { readonly from: number; readonly how: 'frozen' | 'dead' } | null = null;
  for (const { n, stopped } of trace.steps.slice(0, step + 1)) {
    const how = stopped[lane] ?? null;
    if (open !== null && how !== open.how) {
      stops.push({ x, y1: yOf(open.from), y2: yOf(n), how: open.how });
      open = null;
    }
    if (how !== null && open === null) open = { from: n, how };
  }
  if (open !== null) stops.push({ x, y1: yOf(open.from), y2: yOf(step) + LINE_PX / 2, how: open.how });
  return stops;
}
