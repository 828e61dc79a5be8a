/** The ways between the lanes: what leaves comes after a while, unless somebody has placed a fault there. */

import type { FakeWorld, Timeline } from '@samekey/testing/world';
import { machineOf } from './placed-faults.ts';
import type { Recorder } from './run-recorder.ts';
import type { Fault, FaultKind, LaneId } from './trace.ts';

/** What happens at the app, and how long faults last. */
interface Placing {
  readonly holdMs: number;
  readonly sleepMs: number;
  readonly again: () => void;
  readonly other: () => void;
}

/** The ways of one run. */
export interface Ways {
  /** A message that has just left is under way for so long; then it comes, or is lost. */
  go(message: number, ms: number, comes: () => void, isLost?: () => void): void;
  /** Says how long the reader's faults last; those of a story that knows of none never come about. */
  place(placing: Placing): void;
  /** Whether something is under way, or a machine stands still. */
  readonly isBusy: boolean;
  /** Faults that have not come about. */
  readonly unmet: readonly Fault[];
}

const IN_SENTENCES: Readonly<Partial<Record<LaneId, string>>> = {
  client: 'the app',
  helper: 'the reconciler',
  store: 'the database',
  provider: 'the provider',
};

/** What they stand on. */
interface WaysOptions {
  readonly timeline: Timeline;
  readonly recorder: Recorder;
  readonly faults: readonly Fault[];
  readonly world: (lane: LaneId) => FakeWorld;
  readonly stop: (lane: LaneId, how: 'freeze' | 'thaw' | 'kill', caption: string) => void;
}

/** Opens them. */
export function openWays({ timeline, recorder, faults, world, stop }: WaysOptions): Ways {
  const unmet = new Set(faults);
  let placing: Placing | null = null;
  let busy = 0;

  const called = (lane: LaneId): string => IN_SENTENCES[lane] ?? recorder.nameOf(lane);

  /** Something goes on for so long. */
  function lasts(ms: number, then: () => void): void {
    busy += 1;
    timeline.setTimer(ms, () => {
      busy -= 1;
      then();
    });
  }

  /** Those at this message. */
  function at(message: number): readonly Fault[] {
    const { messages } = recorder;
    const sent = messages[message];
    if (sent === undefined || unmet.size === 0) return [];
    const nth = messages.filter(
      ({ n, from, to }) => n <= message && from === sent.from && to === sent.to,
    ).length;
    return [...unmet].filter(
      (fault) => fault.from === sent.from && fault.to === sent.to && fault.nth === nth,
    );
  }

  function loses(message: number, then?: () => void): void {
    const { from, to } = recorder.messages[message] ?? { from: 'client', to: 'client' };
    recorder.loses(message, {
      lane: to,
      caption: `A fault is placed here: what ${called(from)} has sent to ${called(to)} is lost on its way.`,
      tone: 'danger',
      marks: ['placed', ...(to === 'client' ? (['answer-lost'] as const) : [])],
    });
    then?.();
  }

  /** False: it cannot come about. */
  function happens({ kind, ...where }: Fault, by: Placing): boolean {
    const lane = machineOf(where);
    switch (kind) {
      case 'lose':
        return true;
      case 'hold':
        recorder.happens({
          lane: where.from,
          caption: `A fault is placed here: what ${called(where.from)} has sent is held up for ${by.holdMs / 1000} seconds.`,
          tone: 'danger',
          marks: ['placed'],
        });
        return true;
      case 'again':
      case 'other':
        lasts(40, kind === 'again' ? by.again : by.other);
        return true;
      default:
        return lane !== null && stops(lane, kind, by);
    }
  }

  function stops(lane: 'api-1' | 'api-2', kind: 'dies' | 'sleeps', { sleepMs }: Placing): boolean {
    const name = recorder.nameOf(lane);
    // One of them must live: nobody would be there to answer.
    const isLast = world(lane === 'api-1' ? 'api-2' : 'api-1').state === 'dead';
    if (world(lane).state !== 'running' || (kind === 'dies' && isLast)) return false;
    if (kind === 'dies') {
      stop(lane, 'kill', `${name} dies. What it had not sent yet, it never sends.`);
      return true;
    }
    stop(lane, 'freeze', `${name} stands still for ${sleepMs / 1000} seconds. It does not notice.`);
    lasts(sleepMs, () => {
      if (world(lane).state === 'frozen')
        stop(lane, 'thaw', `${name} wakes, and goes on as if no time had passed.`);
    });
    return true;
  }

  return {
    go(message, ms, comes, isLost) {
      const met = placing === null ? [] : at(message);
      const kinds = new Set<FaultKind>();
      for (const fault of met) {
        if (placing === null || !happens(fault, placing)) continue;
        unmet.delete(fault);
        kinds.add(fault.kind);
      }
      const heldMs = kinds.has('hold') ? (placing?.holdMs ?? 0) : 0;
      lasts(ms + heldMs, kinds.has('lose') ? () => loses(message, isLost) : comes);
    },
    place(next) {
      placing = next;
    },
    get isBusy() {
      return busy > 0;
    },
    get unmet() {
      return [...unmet];
    },
  };
}
