/**
 * One rolling restart under load (F65): each process in turn is stopped in order (SIGTERM → `close({ drainMs })`) and replaced
 * while clients keep sending new keys and retrying what was refused. No key may end unknown, none may run twice.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { essenceOf, faultOfExecuted, faultOfInProgress, isUnavailable, randomOf } from './api-checks.ts';
import { type Answer, type ApiRequest, send } from './api-client.ts';
import type { Cluster } from './api-cluster.ts';
import { executionsOf } from './api-ledger.ts';

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

/** A key has its answer within this time, or it is stuck. */
const KEY_TIME_MAX_MS = 20_000;

/** Restarts every process of the cluster once, under load. */
export async function rollingRestart(cluster: Cluster, options: RestartOptions): Promise<RestartResult> {
  const random = randomOf(options.seed);
  const failures: string[] = [];
  const fail = (what: string): void => void failures.push(`seed ${options.seed}: ${what}`);
  const kept: { readonly request: ApiRequest; readonly answer: Answer }[] = [];
  const load = { on: true };
  let retried = 0;

  /** Until there is an answer for good. */
  async function ask(request: ApiRequest): Promise<void> {
    const deadline = performance.now() + KEY_TIME_MAX_MS;
    while (performance.now() < deadline) {
      const up = cluster.up();
      const target = up[Math.floor(random() * up.length)];
      const answer = target === undefined ? null : await send(target.port, request).answer;
      if (answer?.kind === 'answer' && answer.status === 201) {
        kept.push({ request, answer });
        return;
      }
      if (answer?.kind === 'answer' && !isUnavailable(answer)) {
        const fault = faultOfInProgress(answer, cluster.claimTtlMs);
        if (fault !== null) return fail(fault);
      }
      retried += 1;
      await sleep(20);
    }
    fail(`${request.key} got no answer in ${KEY_TIME_MAX_MS} ms`);
  }

  async function client(number: number): Promise<void> {
    for (let i = 0; load.on; i += 1) {
      const workMs = Math.floor(random() * 150);
      await ask({ path: '/unknown/now', key: `roll-${options.seed}-${number}-${i}-${randomUUID()}`, workMs });
    }
  }

  const clients = Array.from({ length: options.clients ?? 8 }, (_, number) => client(number));
  for (const [place, process] of [...cluster.processes].entries()) {
    process.signal('SIGTERM');
    const { code, signal } = await process.ended;
    if (code !== 0) fail(`${process.name} ended with ${code ?? signal}, ${process.left()} requests left`);
    await cluster.restart(place);
  }
  load.on = false;
  await Promise.all(clients);

  const lines = cluster.ledger();
  for (const { request, answer } of kept) {
    const count = executionsOf(lines, request.key, 'tenant-a').length;
    if (count !== 1) fail(`${request.key} ran ${count} times`);
    const fault = faultOfExecuted(answer, lines, request.key, 'tenant-a');
    if (fault !== null) fail(fault);
  }
  for (const { request, answer } of kept.slice(-10)) {
    for (const { port } of cluster.up()) {
      const again = await send(port, request).answer;
      if (again.kind === 'lost' || essenceOf(again) !== essenceOf(answer)) fail('an answer did not survive');
    }
  }
  const { unknown, in_progress: inProgress } = await cluster.store.count();
  if (unknown > 0 || inProgress > 0) fail(`${unknown} keys ended unknown, ${inProgress} in progress`);
  return { failures, keys: kept.length, retried };
}
