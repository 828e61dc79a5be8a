/** The layout: from runs to places. It draws nothing. */

export { type Arrow, type Frame, frameOf, LINE_PX } from './sequence.ts';
export { DIAGRAM, STATES, statesUntil, WAYS } from './states.ts';
