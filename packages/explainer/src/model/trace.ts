/**
 * What a run of a scenario leaves: its steps, in order, and the messages that went between the lanes. Plain data:
 * a step says all there is to see after it, so whoever shows it can go to any step, forward or back.
 */

/** A column of the stage. */
export interface Lane {
  readonly id: LaneId;
  readonly title: string;
  /** How sentences begin with it; default its title. */
  readonly name?: string;
}

/** The lanes that there are; a scenario has some of them. */
export type LaneId = 'client' | 'network' | 'api-1' | 'api-2' | 'helper' | 'store' | 'provider';

/** Something that went from one lane to another, as it was on the wire. */
export interface Message {
  readonly n: number;
  readonly from: LaneId;
  readonly to: LaneId;
  readonly label: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  /** The step in which it left. */
  readonly sentIn: number;
  /** The step in which it came, or was lost; null: it is still under way when the run ends. */
  readonly endedIn: number | null;
  readonly isLost: boolean;
  readonly tone: Tone;
}

/** What can be placed. */
export type FaultKind = 'lose' | 'hold' | 'dies' | 'sleeps' | 'again' | 'other';

/** A fault at the message that is the `nth` from one lane to another, from 1. */
export interface Fault {
  readonly kind: FaultKind;
  readonly from: LaneId;
  readonly to: LaneId;
  readonly nth: number;
}

/** What a message or a step means: colours follow from it. */
export type Tone = 'plain' | 'money' | 'claim' | 'danger' | 'good';

/** A field of the row as the database has it, in words. */
export interface Field {
  readonly name: string;
  readonly value: string;
}

/** The row of a key. */
export interface Row {
  /** The state of the record; `remembered` for what a handler written by hand keeps. */
  readonly state: RowState;
  readonly fields: readonly Field[];
}

/** The states that a row is shown in. */
export type RowState =
  | 'pending'
  | 'in_progress'
  | 'completed'
  | 'failed'
  | 'retryable'
  | 'unknown'
  | 'remembered';

/** What happened, for tasks to be ticked off. */
export type Mark =
  | 'sent'
  | 'placed'
  | 'sent-again'
  | 'claimed'
  | 'claim-refused'
  | 'charged'
  | 'charged-again'
  | 'already-charged'
  | 'answer-lost'
  | 'replayed'
  | 'mismatch'
  | 'in-progress'
  | 'unknown'
  | 'settled'
  | 'frozen'
  | 'crashed'
  | 'thawed'
  | 'taken-over'
  | 'late-write-refused'
  | 'late-write-taken'
  | 'stored'
  | 'told-paid';

/** One step. */
export interface Step {
  readonly n: number;
  /** Milliseconds since the run began, in virtual time. */
  readonly at: number;
  readonly lane: LaneId;
  readonly caption: string;
  readonly tone: Tone;
  readonly marks: readonly Mark[];
  readonly row: Row | null;
  /** Money that the provider has taken, in cents. */
  readonly takenCents: number;
  /** Money that customers have meant to pay so far, in cents. */
  readonly meantCents: number;
  /** Machines that stand still or are gone. */
  readonly stopped: Readonly<Partial<Record<LaneId, 'frozen' | 'dead'>>>;
}

/** What is wrong at the end, if anything. */
export type Harm = 'paid-twice' | 'told-paid-and-not-charged' | 'told-not-paid-and-charged' | 'left-unpaid';

/** A whole run. */
export interface Trace {
  readonly scenario: string;
  readonly variant: string;
  readonly seed: number;
  readonly lanes: readonly Lane[];
  readonly steps: readonly Step[];
  readonly messages: readonly Message[];
  readonly harms: readonly Harm[];
  /** Faults that were placed by hand. */
  readonly placed: readonly Fault[];
  /** Those that have not come about. */
  readonly unmet: readonly Fault[];
  /** The harm in words, or that there is none. */
  readonly verdict: string;
}
