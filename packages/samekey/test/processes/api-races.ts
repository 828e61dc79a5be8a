/**
 * One round of the race (F11, F12, F25): many requests with one key at one moment against all processes of a cluster, some
 * with another body, some of another tenant under the same key.
 */

import { randomUUID } from 'node:crypto';
import { essenceOf, faultOfExecuted, faultOfInProgress, problemCodeOf, randomOf } from './api-checks.ts';
import { type Answer, type ApiRequest, openConnection, send, sendOn } from './api-client.ts';
import type { Cluster } from './api-cluster.ts';
import { executionsOf } from './api-ledger.ts';

/** What one round does; the counts are of requests. */
export interface RaceOptions {
  readonly seed: number;
  /** Whether duplicates wait for the answer instead of being told "in progress". */
  readonly wait: boolean;
  /** Requests that are equal; default 100. */
  readonly equal?: number;
  /** Requests with the same key and another body; default 6. */
  readonly otherBody?: number;
  /** Requests with the same key and body of another tenant; default 10. */
  readonly otherTenant?: number;
}

/** What came of it. */
export interface RaceResult {
  readonly failures: readonly string[];
  /** How many answers had each status. */
  readonly statuses: Readonly<Record<number, number>>;
}

/** Runs one round with a key of its own. */
export async function raceRound(cluster: Cluster, options: RaceOptions): Promise<RaceResult> {
  const random = randomOf(options.seed);
  const key = `race-${options.seed}-${randomUUID()}`;
  // From "over before most arrive" to "all meet it in flight".
  const workMs = [0, 5, 30, 80][Math.floor(random() * 4)] ?? 0;
  const base: ApiRequest = { path: options.wait ? '/unknown/wait' : '/unknown/now', key, workMs };
  const requests = [
    ...repeat(options.equal ?? 100, { ...base, tenant: 'tenant-a', amount: 100 }),
    ...repeat(options.otherBody ?? 6, { ...base, tenant: 'tenant-a', amount: 999 }),
    ...repeat(options.otherTenant ?? 10, { ...base, tenant: 'tenant-b', amount: 100 }),
  ];
  shuffle(requests, random);

  const up = cluster.up();
  const ports = requests.map((_, i) => up[i % up.length]?.port ?? 0);
  const sockets = await Promise.all(ports.map(openConnection));
  const answers = await Promise.all(sockets.map((socket, i) => sendOn(socket, requests[i] ?? base).answer));

  const failures: string[] = [];
  const fail = (what: string): void =>
    void failures.push(`seed ${options.seed}, wait ${options.wait}: ${what}`);
  const statuses: Record<number, number> = {};
  for (const answer of answers) {
    const status = answer.kind === 'answer' ? answer.status : 0;
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (answer.kind === 'lost') fail(`no answer: ${answer.reason}`);
  }
  for (const tenant of ['tenant-a', 'tenant-b']) {
    const met = answers.flatMap((answer, i) => {
      const request = requests[i] ?? base;
      return request.tenant === tenant && answer.kind === 'answer' ? [{ request, answer }] : [];
    });
    await checkTenant(cluster, tenant, met, options.wait, fail);
  }
  return { failures, statuses };
}

interface Met {
  readonly request: ApiRequest;
  readonly answer: Answer;
}

async function checkTenant(
  cluster: Cluster,
  tenant: string,
  met: readonly Met[],
  wait: boolean,
  fail: (what: string) => void,
): Promise<void> {
  const winner = met.find(({ answer }) => answer.status === 201);
  if (winner === undefined) return fail(`${tenant} got no 201`);
  const { key, amount } = winner.request;
  const lines = cluster.ledger();
  const count = executionsOf(lines, key, tenant).length;
  if (count !== 1) fail(`${tenant}: ${count} executions`);
  const fault = faultOfExecuted(winner.answer, lines, key, tenant);
  if (fault !== null) fail(fault);

  const essence = essenceOf(winner.answer);
  for (const { request, answer } of met) {
    if (request.amount !== amount) {
      // The other body came second: refused as another request even while the first is in flight (F12).
      if (answer.status !== 422 || problemCodeOf(answer) !== 'key-reused') {
        fail(`another body was answered ${answer.status} ${problemCodeOf(answer)}`);
      }
    } else if (answer.status === 201) {
      if (essenceOf(answer) !== essence) fail(`answers differ: ${essence} and ${essenceOf(answer)}`);
    } else {
      const inProgress = wait
        ? `waited, and got ${answer.status}`
        : faultOfInProgress(answer, cluster.claimTtlMs);
      if (inProgress !== null) fail(inProgress);
    }
  }
  for (const { port } of cluster.up()) {
    const later = await send(port, winner.request).answer;
    if (later.kind === 'lost') fail(`later: ${later.reason}`);
    else if (essenceOf(later) !== essence || later.headers.get('idempotency-replayed') !== 'true') {
      fail(`later: ${essence} and ${essenceOf(later)}`);
    }
  }
}

function repeat(count: number, request: ApiRequest): ApiRequest[] {
  return Array.from({ length: count }, () => request);
}

function shuffle(items: unknown[], random: () => number): void {
  for (let i = items.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [items[i], items[j]] = [items[j], items[i]];
  }
}
