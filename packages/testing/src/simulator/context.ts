/**
 * What the parts of one simulated history share.
 */

import type { RecordId } from 'samekey/internals/core/record';
import type { Store } from 'samekey/internals/store/store';
import type { World } from 'samekey/internals/core/world';
import type { Auditor } from '../auditor.ts';
import type { FakeWorld } from '../fake-world.ts';
import type { Random } from '../random.ts';
import type { Timeline } from '../timeline.ts';
import type { SimProcess } from './process.ts';
import type { Provider } from './provider.ts';
import type { Scenario } from './scenario.ts';

/** One line of a history. */
export interface TraceLine {
  readonly at: number;
  /** The key it is about; null for what concerns all. */
  readonly id: RecordId | null;
  readonly text: string;
}

/** The shared state of one history. */
export interface Context {
  readonly scenario: Scenario;
  readonly random: Random;
  readonly timeline: Timeline;
  readonly auditor: Auditor;
  /** The store all processes share, behind the auditor. */
  readonly store: Store;
  /** A process's own handle on it. */
  readonly connect: () => Store;
  readonly storeNow: () => number;
  /** How often the sweeper and the reaper come by once the faults are over, in milliseconds. */
  readonly tidyEveryMs: number;
  /** What stands between an engine and its connection. */
  readonly client: (connection: Store, world: World) => Store;
  /** Where effects happen. */
  readonly provider: Provider;
  /** The processes that exist. */
  readonly processes: SimProcess[];
  /** Processes started so far. */
  processCount: number;
  /** Requests sent so far. */
  requestCount: number;
  /** Whether the faults are over. */
  calm: boolean;
  jumpStoreClock(ms: number): void;
  /** A process has come to a place where it may be hit: in the middle of a handler. */
  strike: (process: SimProcess) => void;
  /** A process stands still, where processes freeze at all, for as long as others need to go on without it. */
  standStill: (process: SimProcess) => void;
  /** A process has come to such a place, for whoever knows only the machine. */
  strikeWorld: (world: FakeWorld) => void;
  /** Notes something for the reader of a failed history; costs nothing unless tracing. */
  readonly trace: (id: RecordId | null, text: () => string) => void;
}

/** A value for the reader of a trace; bodies as text. */
export function shown(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    part instanceof Uint8Array ? new TextDecoder().decode(part) : part,
  );
}
