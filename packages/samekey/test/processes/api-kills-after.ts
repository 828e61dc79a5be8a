/** What must hold of the keys of a kill round once the process is dead and its claims are over. */

import { setTimeout as sleep } from 'node:timers/promises';
import { essenceOf, faultOfExecuted, isUnavailable, problemCodeOf } from './api-checks.ts';
import { type Answer, type ApiRequest, type NoAnswer, send } from './api-client.ts';
import type { Cluster } from './api-cluster.ts';
import { isSurvived } from './api-blows.ts';
import type { Client, KillOptions } from './api-kills.ts';
import { eachAfterTheDeathBefore, executionsOf, type LedgerLine } from './api-ledger.ts';

type Fail = (what: string) => void;

/** How long a process may take to come back to its store: it looks at least each five seconds. */
const BACK_IN_MS = 15_000;
const RETRY_MS = 40;

/**
 * Nothing ran twice; or, where the end of a claim lets the next one run, only after the one who ran it was dead. If nobody died, the
 * end of the claim is what may have let it: then by another attempt each time. Returns how often the key ran.
 */
export function checkRuns(
  lines: readonly LedgerLine[],
  client: Client,
  { way, blow }: Pick<KillOptions, 'way' | 'blow'>,
  fail: Fail,
): number {
  const executions = executionsOf(lines, client.request.key, 'tenant-a');
  if (way === 'unknown' && executions.length > 1) fail(`ran ${executions.length} times`);
  if (isSurvived(blow)) {
    const attempts = new Set(executions.map(({ attempt }) => attempt));
    if (attempts.size !== executions.length) fail(`an attempt ran twice: ${JSON.stringify(executions)}`);
    return executions.length;
  }
  if (way === 'resume' && !eachAfterTheDeathBefore(lines, executions)) {
    fail(`ran again while the first process was alive: ${JSON.stringify(executions)}`);
  }
  const said = client.acknowledged?.headers.get('x-effect');
  if (said !== undefined && executions.at(-1)?.effect !== said) fail('ran again after it was acknowledged');
  if (executions.some((execution, i) => execution.attempt <= (executions[i - 1]?.attempt ?? 0))) {
    fail(`attempt numbers do not grow: ${JSON.stringify(executions)}`);
  }
  return executions.length;
}

/**
 * The operator looks into the ledger and settles: what ran is completed (or, by chance, found to have failed), what never ran
 * may run. Every process then tells the same.
 */
export async function settleUnknown(
  cluster: Cluster,
  clients: readonly Client[],
  random: () => number,
  fail: Fail,
): Promise<void> {
  const records = await cluster.store.list({ states: ['unknown'], limit: 1000 });
  const lines = cluster.ledger();
  for (const { request } of clients) {
    const record = records.find(({ key }) => key === request.key);
    if (record === undefined) {
      fail('was said to be unknown, and its record is not');
      continue;
    }
    const { scope, key, claimId, attempt } = record;
    const [execution] = executionsOf(lines, key, 'tenant-a');
    const to = execution === undefined ? 'retryable' : random() < 0.5 ? 'completed' : 'failed';
    const status = to === 'completed' ? 201 : 402;
    const body = new TextEncoder().encode(JSON.stringify({ settled: execution?.effect }));
    const response = { status, headers: [['Content-Type', 'application/json'] as const], body };
    const [result] = await cluster.store.settle([
      {
        scope,
        key,
        claimId,
        attempt,
        to,
        reason: 'ledger',
        actor: null,
        response: to === 'retryable' ? null : response,
      },
    ]);
    if (result?.kind !== 'applied') fail(`could not be settled: ${JSON.stringify(result)}`);

    const essences = new Set<string>();
    for (const { port } of cluster.up()) {
      const answer = await send(port, request).answer;
      if (answer.kind === 'lost') {
        fail(`settled, but no answer: ${answer.reason}`);
        continue;
      }
      essences.add(essenceOf(answer));
      const right = to === 'retryable' ? answer.headers.has('x-effect') : answer.body.includes('"settled"');
      if (answer.status !== status && to !== 'retryable')
        fail(`settled as ${status}, answered ${answer.status}`);
      if (!right) fail(`settled as ${to}, answered ${problemCodeOf(answer) ?? answer.body}`);
    }
    if (essences.size !== 1) fail(`settled, and answered in ${essences.size} ways`);
    if (executionsOf(cluster.ledger(), key, 'tenant-a').length !== 1) fail('did not run once in all');
  }
}

/**
 * Keys whose answer left before it was stored because the store was away (F3), and that may be resumed: the store can hear of
 * the end of the claim before it hears of the answer. Where nobody may resume, the answer stands all the same.
 */
export function overrunIn(
  cluster: Cluster,
  clients: readonly Client[],
  { way, blow }: KillOptions,
): ReadonlySet<string> {
  if (way !== 'resume' || !isSurvived(blow)) return new Set();
  const told = cluster.processes.flatMap(({ events }) => events);
  const delayed = new Set(told.flatMap(({ name, key }) => (name === 'save-delayed' ? [key] : [])));
  return new Set(clients.map(({ request }) => request.key).filter((key) => delayed.has(key)));
}

/** In the end there is one answer for everybody, and an execution gave it; until then the one who kept its own tells that. */
export async function checkOneAnswer(cluster: Cluster, { request }: Client, fail: Fail): Promise<void> {
  for (const until = performance.now() + BACK_IN_MS; ; await sleep(RETRY_MS)) {
    const essences = new Set<string>();
    for (const { port } of cluster.up()) {
      const answer = await askSteadily(port, request, true);
      if (answer.kind === 'lost') return fail(`was not answered in the end: ${answer.reason}`);
      essences.add(essenceOf(answer, true));
      const fault = faultOfExecuted(answer, cluster.ledger(), request.key, 'tenant-a');
      if (fault !== null) return fail(fault);
    }
    if (essences.size === 1) return undefined;
    if (performance.now() > until) return fail(`is answered in ${essences.size} ways in the end`);
  }
}

/** What is known of a key, for whoever has to find out. */
export async function toldOf(cluster: Cluster, key: string): Promise<string> {
  const records = await cluster.store.list({ limit: 50 });
  const events = cluster.processes.flatMap(({ name, events: all }) =>
    all.filter((event) => event.key === key).map((event) => `${name}: ${event.name}`),
  );
  const lines = executionsOf(cluster.ledger(), key, 'tenant-a');
  return JSON.stringify([records.filter((record) => record.key === key), events, lines]);
}

/** Two clients of one key were told the same. */
export function checkTwins(one: Client, other: Client, unstored: boolean, fail: Fail): void {
  const [a, b] = [one, other].map(({ acknowledged }) => acknowledged && essenceOf(acknowledged, unstored));
  if (a !== b || one.unknown !== other.unknown) {
    fail(`twins were told ${a ?? `unknown: ${one.unknown}`} and ${b ?? `unknown: ${other.unknown}`}`);
  }
}

/** What was acknowledged is replayed by every process, the successor included. */
export async function checkKept(
  cluster: Cluster,
  { acknowledged, request }: Client,
  unstored: boolean,
  fail: Fail,
): Promise<void> {
  if (acknowledged === null) return;
  const essence = essenceOf(acknowledged, unstored);
  for (const { name, port } of cluster.up()) {
    const again = await askSteadily(port, request, unstored);
    if (again.kind === 'lost') fail(`${name} did not answer: ${again.reason}`);
    else if (essenceOf(again, unstored) !== essence || again.headers.get('idempotency-replayed') !== 'true') {
      fail(`acknowledged was ${essence}, ${name} says ${essenceOf(again, unstored)}`);
    }
  }
}

/**
 * A process that still comes back to its store says so, and is asked again; so is one that waits for an answer which another process
 * keeps until it is stored.
 */
async function askSteadily(port: number, request: ApiRequest, unstored: boolean): Promise<Answer | NoAnswer> {
  for (const until = performance.now() + BACK_IN_MS; ; await sleep(RETRY_MS)) {
    const answer = await send(port, request).answer;
    if (answer.kind === 'lost' || performance.now() > until) return answer;
    if (!isUnavailable(answer) && !(unstored && answer.status === 409)) return answer;
  }
}
