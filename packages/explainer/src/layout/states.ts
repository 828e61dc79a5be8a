/** Where the states of a record stand in the little diagram, and which ways lead from one to another. */

import type { RowState, Trace } from '../model/index.ts';

/** A state's place. */
interface StatePlace {
  readonly state: RowState;
  readonly title: string;
  readonly x: number;
  readonly y: number;
}

/** A way. */
interface Way {
  readonly from: RowState;
  readonly to: RowState;
  readonly path: string;
}

/** The room that the diagram takes. */
export const DIAGRAM = { width: 320, height: 132, boxWidth: 92, boxHeight: 28 } as const;

/** The states that the stories meet. */
export const STATES: readonly StatePlace[] = [
  { state: 'pending', title: 'pending', x: 50, y: 20 },
  { state: 'in_progress', title: 'in progress', x: 50, y: 66 },
  { state: 'completed', title: 'completed', x: 270, y: 20 },
  { state: 'unknown', title: 'unknown', x: 270, y: 66 },
  { state: 'retryable', title: 'retryable', x: 270, y: 112 },
];

/** The ways between them. */
export const WAYS: readonly Way[] = [
  { from: 'in_progress', to: 'pending', path: 'M50 52 L50 36' },
  { from: 'pending', to: 'completed', path: 'M98 20 L222 20' },
  { from: 'in_progress', to: 'completed', path: 'M96 60 C150 50 170 24 222 20' },
  { from: 'in_progress', to: 'unknown', path: 'M96 66 L222 66' },
  { from: 'in_progress', to: 'retryable', path: 'M96 72 C150 82 170 108 222 112' },
  { from: 'retryable', to: 'in_progress', path: 'M224 120 C160 128 70 128 52 82' },
  { from: 'unknown', to: 'completed', path: 'M270 52 L270 36' },
  { from: 'unknown', to: 'retryable', path: 'M270 80 L270 96' },
];

/** Which states the row has been in by a step, the last one first. */
export function statesUntil(trace: Trace, step: number): readonly RowState[] {
  const seen: RowState[] = [];
  for (const { row } of trace.steps.slice(0, step + 1)) {
    if (row !== null && row.state !== seen[0]) seen.unshift(row.state);
  }
  return seen;
}
