/**
 * What can be done to an installation at the moment a process comes to a probe point: the process dies there, it freezes there for
 * longer than its claim (F4), or its store suffers a fault while the process waits there or goes on.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiProcess, Cluster } from './api-cluster.ts';
import type { TrapPoint } from './api-protocol.ts';
import { FAULTS, type FaultName } from './backends/backend.ts';

/** `kill` and `freeze-process` hit the process; the others its store. */
export type Blow = 'kill' | 'freeze-process' | FaultName;

/** A blow that lies ready. */
export interface ReadyBlow {
  /** Whether the process came to the point. */
  isStruck(): boolean;
  /** Resolves when it is over: the process has its successor, or goes on; the store answers again. */
  readonly over: Promise<void>;
  isOver(): boolean;
}

/** Where a process is hit, and how. */
export interface BlowOptions {
  readonly place: number;
  readonly point: TrapPoint;
  readonly nth: number;
  readonly blow: Blow;
}

/** The blows that a cluster can suffer. */
export function blowsOf(cluster: Cluster): readonly Blow[] {
  return ['kill', 'freeze-process', ...FAULTS.filter((fault) => fault in cluster.backend.faults)];
}

/** Whether the process that is hit goes on afterwards: then nothing may stay unknown. */
export function isSurvived(blow: Blow): boolean {
  return blow !== 'kill';
}

/** Lays it ready. */
export async function readyBlow(
  cluster: Cluster,
  { place, point, nth, blow }: BlowOptions,
  random: () => number,
): Promise<ReadyBlow> {
  const victim = cluster.processes[place] as ApiProcess;
  const action = blow === 'kill' ? 'kill' : blow === 'freeze-process' ? 'stop' : 'wait';
  const trap = await victim.arm({ point, nth, action });
  const state = { isStruck: false, isOver: false };

  async function strike(): Promise<void> {
    if (blow === 'kill') {
      await victim.ended;
      state.isStruck = true;
      await cluster.restart(place);
      return;
    }
    await trap.reached;
    state.isStruck = true;
    if (blow === 'freeze-process') {
      await sleep(cluster.claimTtlMs * (1.2 + random()));
      victim.signal('SIGCONT');
      return;
    }
    const fault = cluster.backend.faults[blow];
    if (fault === undefined) throw new Error(`${cluster.backend.name} cannot suffer ${blow}.`);
    const happening = fault(random).then(() => backAgain(cluster));
    // In the middle of it, or after it.
    if (blow === 'lose-reply' || random() < 0.5) await trap.go();
    await happening;
    await trap.go();
  }

  const over = strike().then(() => {
    state.isOver = true;
  });
  return { over, isStruck: () => state.isStruck, isOver: () => state.isOver };
}

/** The harness's own connections meet the fault too, at their next use: not later, in the middle of a check. */
async function backAgain({ store }: Cluster): Promise<void> {
  const nobody = { scope: 'harness', key: 'nobody' };
  for (const until = performance.now() + BACK_IN_MS; ; await sleep(50)) {
    try {
      await store.find([nobody]);
      await store.list({ limit: 1 });
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
    }
  }
}

/** Longer than any backoff. */
const BACK_IN_MS = 10_000;
