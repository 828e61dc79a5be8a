/**
 * Writes down a run while it goes on. What arrives is attached to the next step, so that "it arrives" and "it is
 * dealt with" are one step and not two.
 */

import type { Lane, LaneId, Mark, Message, Row, Step, Tone } from './trace.ts';

/** A message before it has a number. */
interface Sending {
  readonly from: LaneId;
  readonly to: LaneId;
  readonly label: string;
  readonly headers?: Message['headers'];
  readonly body?: string;
  readonly tone?: Tone;
}

/** A step before it has a number. */
export interface Happening {
  readonly lane: LaneId;
  readonly caption: string;
  readonly tone?: Tone;
  readonly marks?: readonly Mark[];
  /** Messages that leave in this step. */
  readonly sends?: readonly Sending[];
}

/** Writes down a run. */
export interface Recorder {
  readonly lanes: readonly Lane[];
  readonly steps: readonly Step[];
  readonly messages: readonly Message[];
  /** A step; gives the numbers of the messages that left in it. */
  happens(what: Happening): readonly number[];
  /** The message has come: the next step shows its arrow whole. */
  arrives(message: number): void;
  /** The message is lost; the step says so. */
  loses(message: number, what: Happening): void;
  row(row: Row | null): void;
  taken(cents: number): void;
  meant(cents: number): void;
  stopped(lane: LaneId, how: 'frozen' | 'dead' | null): void;
  /** How a lane is called in sentences. */
  nameOf(lane: LaneId): string;
}

type Draft = { -readonly [Name in keyof Message]: Message[Name] };

/** Makes a recorder for these lanes; `now` is the virtual time. */
export function createRecorder(lanes: readonly Lane[], now: () => number): Recorder {
  const steps: Step[] = [];
  const messages: Draft[] = [];
  let row: Row | null = null;
  let takenCents = 0;
  let meantCents = 0;
  let stopped: Step['stopped'] = {};

  function happens({ lane, caption, tone = 'plain', marks = [], sends = [] }: Happening): number[] {
    const n = steps.length;
    const sent = sends.map((sending) => {
      const { headers = [], body = '', tone: own = 'plain', ...rest } = sending;
      messages.push({
        n: messages.length,
        ...rest,
        headers,
        body,
        tone: own,
        sentIn: n,
        endedIn: null,
        isLost: false,
      });
      return messages.length - 1;
    });
    const at = Math.round(now());
    steps.push({ n, at, lane, caption, tone, marks, row, takenCents, meantCents, stopped });
    return sent;
  }

  function end(message: number, isLost: boolean): void {
    const draft = messages[message];
    if (draft === undefined) return;
    // The step in which it left is over: it comes in a later one.
    draft.endedIn = Math.max(steps.length, draft.sentIn + 1);
    draft.isLost = isLost;
  }

  return {
    lanes,
    steps,
    messages,
    happens,
    arrives: (message) => end(message, false),
    loses(message, what) {
      end(message, true);
      happens(what);
    },
    row(next) {
      row = next;
    },
    taken(cents) {
      takenCents += cents;
    },
    meant(cents) {
      meantCents += cents;
    },
    stopped(lane, how) {
      const { [lane]: _before, ...others } = stopped;
      stopped = how === null ? others : { ...others, [lane]: how };
    },
    nameOf(lane) {
      const found = lanes.find(({ id }) => id === lane);
      return found?.name ?? found?.title ?? lane;
    },
  };
}
