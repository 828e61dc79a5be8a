/** Clients that send one key after the other and ask until they have an answer for good, whoever stops or dies meanwhile. */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { essenceOf, faultOfExecuted, faultOfInProgress, isUnavailable, problemCodeOf } from './api-checks.ts';
import { type Answer, type ApiRequest, send } from './api-client.ts';
import type { Cluster } from './api-cluster.ts';
import { executionsOf } from './api-ledger.ts';

/** What the clients do. */
export interface LoadOptions {
  readonly seed: number;
  readonly random: () => number;
  readonly clients: number;
  /** Whether the store can be away: then answers may leave before they are stored, and keys be unknown until their owner is back. */
  readonly isStoreAtRisk: boolean;
  readonly fail: (what: string) => void;
}

/** Clients at work. */
export interface Load {
  /** How many keys have their answer. */
  count(): number;
  /** Requests that were not answered, or refused for the moment: each was sent again. */
  retried(): number;
  /** Resolves when each client has the answer to its last key. */
  stop(): Promise<void>;
  /** Each key ran once, its answer is the execution's, and all processes replay the last of them. */
  check(): Promise<void>;
}

/** A key has its answer within this time, or it is stuck. */
const KEY_TIME_MAX_MS = 20_000;
/** So many of the last keys are asked again at each process. */
const ASKED_AGAIN = 10;

/** Sets them to work. */
export function startLoad(cluster: Cluster, options: LoadOptions): Load {
  const { seed, random, isStoreAtRisk, fail } = options;
  const kept: { readonly request: ApiRequest; readonly answer: Answer }[] = [];
  let retried = 0;
  const load = { isOn: true };

  /** Until there is an answer for good. */
  async function ask(request: ApiRequest): Promise<void> {
    const startedAt = performance.now();
    const deadline = startedAt + KEY_TIME_MAX_MS;
    while (performance.now() < deadline) {
      const up = cluster.up();
      const target = up[Math.floor(random() * up.length)];
      const answer = target === undefined ? null : await send(target.port, request).answer;
      if (answer?.kind === 'answer' && answer.status === 201) {
        kept.push({ request, answer });
        return;
      }
      if (answer?.kind === 'answer' && !isUnavailable(answer)) {
        const mayBeUnknown = isStoreAtRisk && problemCodeOf(answer) === 'outcome-unknown';
        const sinceMs = performance.now() - startedAt;
        const fault = mayBeUnknown ? null : faultOfInProgress(answer, cluster.claimTtlMs, sinceMs);
        if (fault !== null) return fail(fault);
      }
      retried += 1;
      await sleep(20);
    }
    fail(`${request.key} got no answer in ${KEY_TIME_MAX_MS} ms`);
  }

  async function client(number: number): Promise<void> {
    for (let i = 0; load.isOn; i += 1) {
      const workMs = Math.floor(random() * 150);
      await ask({ path: '/unknown/now', key: `load-${seed}-${number}-${i}-${randomUUID()}`, workMs });
    }
  }

  const clients = Array.from({ length: options.clients }, (_, number) => client(number));
  return {
    count: () => kept.length,
    retried: () => retried,
    async stop() {
      load.isOn = false;
      await Promise.all(clients);
    },
    async check() {
      const lines = cluster.ledger();
      for (const { request, answer } of kept) {
        const count = executionsOf(lines, request.key, 'tenant-a').length;
        if (count !== 1) fail(`${request.key} ran ${count} times`);
        const fault = faultOfExecuted(answer, lines, request.key, 'tenant-a');
        if (fault !== null) fail(fault);
      }
      // Where the store was away, every answer may be the one that was lost.
      for (const { request, answer } of isStoreAtRisk ? kept : kept.slice(-ASKED_AGAIN)) {
        for (const { port } of cluster.up()) {
          const again = await send(port, request).answer;
          const essence = again.kind === 'lost' ? again.reason : essenceOf(again, isStoreAtRisk);
          if (essence !== essenceOf(answer, isStoreAtRisk)) {
            fail(`an answer did not survive: ${essenceOf(answer, isStoreAtRisk)} became ${essence}`);
          }
        }
      }
    },
  };
}
