/** What a scenario is: a story with lanes, variants of it, and tasks for the reader. */

import type { Fault, Harm, Lane, LaneId, Mark, Trace } from './trace.ts';
import type { Stage } from './stage.ts';

/** What goes wrong in a version. */
interface Breaks {
  readonly harm: Harm;
  readonly share: number;
  /** Placed by hand; default none is needed. */
  readonly faults?: readonly Fault[];
}

/** A version of the story: with everything, or without one ingredient. */
export interface Variant {
  readonly id: string;
  /** On the button: what is there, or what is missing. */
  readonly title: string;
  /** One sentence: what this version does. */
  readonly says: string;
  /**
   * What goes wrong, and in which share of all seeds at least, with the knobs as usual; null: it never goes wrong,
   * however the knobs are turned.
   */
  readonly breaks: Breaks | null;
  /** What people write; shown beside the stage. */
  readonly code: string;
}

/** A number that the reader may change. */
export interface Knob {
  readonly id: string;
  readonly title: string;
  /** Beside which lane it stands: that whose number it is. Default: beside none. */
  readonly lane?: LaneId;
  readonly unit: string;
  readonly least: number;
  readonly most: number;
  readonly by: number;
  readonly usual: number;
}

/** Values of a scenario's knobs. */
export type KnobValues = Readonly<Record<string, number>>;

/** What the reader is asked to bring about. */
export interface Task {
  readonly id: string;
  readonly text: string;
  /** The version in which it can be done. */
  readonly variant: string;
  /** Placed by whoever wants to be shown how; default none. */
  readonly faults?: readonly Fault[];
  /** Turned by whoever wants to be shown how; default all as usual. */
  readonly knobs?: KnobValues;
  /** Said when it is done: the idea behind it. */
  readonly learned: string;
  /** Whether the run has brought it about by this step. */
  readonly isDone: (trace: Trace, step: number) => boolean;
}

/** Tells a story: whatever happens on the stage. */
export type Run = (stage: Stage, variant: string, knobs: KnobValues) => Promise<void>;

/** A story. */
export interface Scenario {
  readonly id: string;
  readonly title: string;
  /** Two sentences at most. */
  readonly story: string;
  readonly lanes: readonly Lane[];
  /** The first is the broken one that the story begins with, the last one is sound. */
  readonly variants: readonly Variant[];
  readonly knobs: readonly Knob[];
  readonly tasks: readonly Task[];
  /** Whether the reader places faults by hand; default false. */
  readonly takesFaults?: boolean;
  /** Told by this, or by what is loaded when it is told for the first time. */
  readonly run: Run | { readonly load: () => Promise<Run> };
}

/** The lanes that most stories have. */
export const LANES: readonly Lane[] = [
  { id: 'client', title: 'App' },
  { id: 'network', title: 'Network' },
  { id: 'api-1', title: 'API 1' },
  { id: 'api-2', title: 'API 2' },
  { id: 'store', title: 'Database' },
  { id: 'provider', title: 'Provider' },
];

/** Those of stories in which somebody finds out what nobody knows. */
export const RECONCILED_LANES: readonly Lane[] = [
  { id: 'client', title: 'App' },
  { id: 'network', title: 'Network' },
  { id: 'api-1', title: 'API 1' },
  { id: 'helper', title: 'Reconciler', name: 'The reconciler' },
  { id: 'store', title: 'Database' },
  { id: 'provider', title: 'Provider' },
];

/** Whether something has happened by a step. */
export function hasMark(trace: Trace, step: number, mark: Mark): boolean {
  return trace.steps.slice(0, step + 1).some(({ marks }) => marks.includes(mark));
}

/** The version with everything has been seen to its end, and nothing is wrong. */
export function isSeenWhole(variant: string): Task['isDone'] {
  return (trace, step) =>
    trace.variant === variant && step === trace.steps.length - 1 && trace.harms.length === 0;
}
