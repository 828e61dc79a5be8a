/** Whole runs as one picture: of each the stage at its end, and beside each line what happened there. */

import { type Arrow, frameOf, LINE_PX } from '../layout/index.ts';
import { play, type Tone, type Trace } from '../model/index.ts';
import { counterpartOf } from './choices.ts';
import { addressOf, type Place } from './step-address.ts';

/** A run on it. */
interface Panel {
  readonly trace: Trace;
  readonly title: string;
  readonly variant: string;
  /** Leads to the run. */
  readonly address: string;
  /** How it ends in the other version, in words. */
  readonly beside: string;
}

interface Picture {
  readonly svg: string;
  readonly width: number;
  readonly height: number;
}

const STAGE_PX = 720;
const WORDS_PX = 640;
const EDGE_PX = 40;
const HEAD_PX = 150;
const FOOT_PX = 56;
/** So many characters stand on a line of words; two lines fit beside a step. */
const LINE_CHARACTERS = 96;
const INK = '#1d1f23';
const SOFT = '#5b5e66';
const LINE = '#dedbd3';
/** Colours on paper, whatever the page looks like. */
const TONES: Readonly<Record<Tone, string>> = {
  plain: SOFT,
  money: '#8a5a00',
  claim: '#3b47b8',
  danger: '#b3261e',
  good: '#176a41',
};

/** Draws them one below the other, as SVG. */
export function posterOf(panels: readonly Panel[]): Picture {
  const width = EDGE_PX * 2 + STAGE_PX + WORDS_PX;
  let height = 0;
  const drawn = panels.map((panel) => {
    const { body, height: own } = panelOf(panel);
    height += own;
    return `<g transform="translate(0 ${height - own})">${body}</g>`;
  });
  return {
    width,
    height,
    svg: `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13" fill="${INK}">
<rect width="${width}" height="${height}" fill="#ffffff"/>
${drawn.join('\n')}
</svg>`,
  };
}

function panelOf({ trace, title, variant, address, beside }: Panel): {
  readonly body: string;
  readonly height: number;
} {
  const { steps, harms, verdict } = trace;
  const frame = frameOf(trace, steps.length - 1, STAGE_PX);
  const height = HEAD_PX + frame.height + FOOT_PX;
  const { lanes, arrows, points, stops } = frame;
  const stage = [
    ...lanes.map(({ x }) => line(x, -6, x, frame.height, LINE, 1)),
    ...lanes.map(({ x, title: name }) => words(x, -18, name, 'text-anchor="middle" font-weight="600"')),
    ...stops.map(({ x, y1, y2, how }) => stop(x, y1, y2, how)),
    ...arrows.map(arrow),
    ...points.map(({ x, y, tone }) => `<circle cx="${x}" cy="${y}" r="5" fill="${TONES[tone]}"/>`),
    ...points.flatMap(({ step, y }) => said(steps[step]?.caption ?? '', y)),
  ];
  const end = harms.length > 0 ? TONES.danger : TONES.good;
  const body = [
    words(EDGE_PX, 52, `${title}: ${variant}`, 'font-size="28" font-weight="700"'),
    words(EDGE_PX, 84, verdict, `font-size="18" font-weight="600" fill="${end}"`),
    words(EDGE_PX, 108, beside, `font-size="15" fill="${SOFT}"`),
    `<g transform="translate(${EDGE_PX} ${HEAD_PX})">${stage.join('\n')}</g>`,
    words(EDGE_PX, height - 20, `Played by Samekey itself. ${address}`, `fill="${SOFT}"`),
  ];
  return { body: body.join('\n'), height };
}

/** Plays what is to stand on it. */
export async function panelsOf(places: readonly Place[]): Promise<readonly Panel[]> {
  const panels: Panel[] = [];
  for (const place of places) {
    const { scenario, variant, ...run } = place;
    const titleOf = (id: string): string => scenario.variants.find((one) => one.id === id)?.title ?? '';
    const trace = await play({ ...run, scenario, variant });
    const other = await play({ ...run, scenario, variant: counterpartOf(scenario, variant) });
    panels.push({
      trace,
      title: scenario.title,
      variant: titleOf(variant),
      address: addressOf({ ...place, step: trace.steps.length - 1 }),
      beside: `${titleOf(other.variant)}: ${other.verdict}`,
    });
  }
  return panels;
}

function said(caption: string, y: number): readonly string[] {
  const at = caption.length <= LINE_CHARACTERS ? -1 : caption.lastIndexOf(' ', LINE_CHARACTERS);
  const lines = at < 0 ? [caption] : [caption.slice(0, at), caption.slice(at + 1)];
  const top = y + 4 - ((lines.length - 1) * LINE_PX) / 4;
  return lines.map((text, i) => words(STAGE_PX, top + (i * LINE_PX) / 2.2, text));
}

function stop(x: number, y1: number, y2: number, how: 'frozen' | 'dead'): string {
  const isDead = how === 'dead';
  const more = isDead ? 'stroke-dasharray="1 14"' : 'opacity="0.35"';
  return line(x, y1, x, y2, TONES.danger, isDead ? 5 : 8, more);
}

function arrow({ x1, y1, x2, y2, label, labelX, labelY, tone, end }: Arrow): string {
  const colour = end === 'lost' ? TONES.danger : TONES[tone];
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const wing = (turn: number): string =>
    line(x2, y2, x2 - 10 * Math.cos(angle + turn), y2 - 10 * Math.sin(angle + turn), colour, 1.5);
  const cross =
    line(x2 - 7, y2 - 7, x2 + 7, y2 + 7, colour, 3) + line(x2 - 7, y2 + 7, x2 + 7, y2 - 7, colour, 3);
  const halo = 'text-anchor="middle" font-size="12" paint-order="stroke" stroke="#ffffff" stroke-width="4"';
  return (
    line(x1, y1, x2, y2, colour, 1.5, end === 'under-way' ? 'stroke-dasharray="4 6"' : '') +
    (end === 'lost' ? cross : wing(0.42) + wing(-0.42)) +
    words(labelX, labelY, label, `${halo} fill="${SOFT}"`)
  );
}

function line(x1: number, y1: number, x2: number, y2: number, colour: string, px: number, more = ''): string {
  const [a, b, c, d] = [x1, y1, x2, y2].map((one) => one.toFixed(1));
  return `<line x1="${a}" y1="${b}" x2="${c}" y2="${d}" stroke="${colour}" stroke-width="${px}" stroke-linecap="round" ${more}/>`;
}

function words(x: number, y: number, text: string, more = ''): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x}" y="${y.toFixed(1)}" ${more}>${escaped}</text>`;
}

/** Twice as many points as it is wide: posters are printed. */
const SCALE = 2;

/** Makes a PNG of these runs, and has the browser save that. */
export async function savePoster(places: readonly Place[]): Promise<void> {
  const panels = await panelsOf(places);
  const { svg, width, height } = posterOf(panels);
  const picture = new Image();
  picture.src = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  try {
    await picture.decode();
    const canvas = document.createElement('canvas');
    canvas.width = width * SCALE;
    canvas.height = height * SCALE;
    canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((resolve) => {
      canvas.toBlob(resolve, 'image/png');
    });
    if (blob === null) throw new Error('The picture is too large for this browser.');
    const link = document.createElement('a');
    const [first] = panels.map(({ trace: { scenario, variant, seed } }) => `${scenario}-${variant}-${seed}`);
    link.download = `samekey-${panels.length > 1 ? 'story' : first}.png`;
    link.href = URL.createObjectURL(blob);
    link.click();
    // When the browser has taken it.
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  } finally {
    URL.revokeObjectURL(picture.src);
  }
}
