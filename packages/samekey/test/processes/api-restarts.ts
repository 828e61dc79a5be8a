/**
 * One rolling restart under load (F65): each process in turn is stopped in order (SIGTERM → `close({ drainMs })`) and replaced
 * while clients keep sending new keys and retrying what was refused. No key may end unknown, none may run twice.
 */

import { randomOf } from './api-checks.ts';
import type { Cluster } from './api-cluster.ts';
import { startLoad } from './api-load.ts';

/** What one rolling restart does. */
export interface RestartOptions {
  readonly seed: number;
  /** Clients that send one key after the other; default 8. */
  readonly clients?: number;
}

/** What came of it. */
export interface RestartResult {
  readonly failures: readonly string[];
  readonly keys: number;
  /** Requests without an answer, or refused because a process was stopping: each was retried. */
  readonly retried: number;
}

/** Restarts every process of the cluster once, under load. */
export async function rollingRestart(cluster: Cluster, options: RestartOptions): Promise<RestartResult> {
  const failures: string[] = [];
  const fail = (what: string): void => void failures.push(`seed ${options.seed}: ${what}`);
  const load = startLoad(cluster, {
    seed: options.seed,
    random: randomOf(options.seed),
    clients: options.clients ?? 8,
    isStoreAtRisk: false,
    fail,
  });
  for (const [place, process] of [...cluster.processes].entries()) {
    process.signal('SIGTERM');
    const { code, signal } = await process.ended;
    if (code !== 0) fail(`${process.name} ended with ${code ?? signal}, ${process.left()} requests left`);
    await cluster.restart(place);
  }
  await load.stop();
  await load.check();
  const { unknown, in_progress: inProgress } = await cluster.store.count();
  if (unknown > 0 || inProgress > 0) fail(`${unknown} keys ended unknown, ${inProgress} in progress`);
  return { failures, keys: load.count(), retried: load.retried() };
}
