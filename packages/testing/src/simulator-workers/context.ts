/** What the parts of one history of background work share. */

import type { RecordId } from 'samekey/internals/core/record';
import { encodeScope } from 'samekey/internals/core/scope';
import type { MemoryStore } from 'samekey/internals/stores/memory/index';
import type { Random } from '../random.ts';
import type { Context } from '../simulator/context.ts';
import type { Provider } from '../simulator/provider.ts';
import type { Timeline } from '../timeline.ts';
import type { WorkersAuditor } from './auditor.ts';
import type { Machine } from './machines.ts';
import type { WorkersScenario, WorkName } from './scenario.ts';

/** The shared state. */
export interface WorkersContext {
  readonly scenario: WorkersScenario;
  readonly random: Random;
  readonly timeline: Timeline;
  readonly auditor: WorkersAuditor;
  /** The store that all share, behind the auditor. */
  readonly store: MemoryStore;
  readonly storeNow: () => number;
  readonly provider: Provider;
  /** The processes that exist. */
  readonly machines: Machine[];
  /** Processes started so far. */
  machineCount: number;
  /** Whether the faults are over. */
  calm: boolean;
  /** A machine has come to a place where it may be hit. */
  strike: (machine: Machine | undefined) => void;
  /** A machine stands still, where machines freeze at all, for as long as others need to go on without it. */
  standStill: (machine: Machine) => void;
  /** A machine dies, and another takes its place. */
  kill: (machine: Machine) => void;
  /** What the provider has done, for its webhooks. */
  landed: (what: Charged) => void;
  readonly trace: Context['trace'];
}

/** A charge, and the request that it is of. */
export interface Charged {
  readonly operation: WorkName;
  readonly key: string;
  readonly charge: number;
}

/** All clients are of one tenant: that nothing crosses scopes is shown elsewhere. */
export const SCOPE: readonly string[] = ['t1'];

export function idOf(operation: WorkName, key: string): RecordId {
  return { scope: encodeScope(SCOPE, operation), key };
}

/** What of a hand-over there should be one: its message may be delivered many times. */
export function shipmentOf(key: string, attempt: number): string {
  return `ship ${key} ${attempt}`;
}

export function paymentOf(key: string): string {
  return `pay ${key}`;
}

/** Virtual time at somebody who may freeze or die: the machine. */
export function pause(timers: Pick<Timeline, 'setTimer'>, ms: number): Promise<void> {
  return new Promise((resolve) => void timers.setTimer(ms, resolve));
}
