/** What must hold of the keys of a kill round once the process is dead and its claims are over. */

import { essenceOf, problemCodeOf } from './api-checks.ts';
import { send } from './api-client.ts';
import type { Cluster } from './api-cluster.ts';
import type { Client } from './api-kills.ts';
import { eachAfterTheDeathBefore, executionsOf, type LedgerLine } from './api-ledger.ts';

type Fail = (what: string) => void;

/** Nothing ran twice, or only after the one who ran it was dead. Returns how often the key ran. */
export function checkRuns(
  lines: readonly LedgerLine[],
  client: Client,
  way: 'unknown' | 'resume',
  fail: Fail,
): number {
  const executions = executionsOf(lines, client.request.key, 'tenant-a');
  if (way === 'unknown' && executions.length > 1) fail(`ran ${executions.length} times`);
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
      { scope, key, claimId, attempt, to, reason: 'ledger', response: to === 'retryable' ? null : response },
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
