/**
 * One round of killing: a process of the cluster kills itself with SIGKILL on the line of a probe point while clients send
 * several keys, and keep asking the others and its successor. Then: what a client was told stays true byte for byte, nothing
 * ran twice, no key is stuck.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { PROBE_POINTS } from 'samekey';
import {
  essenceOf,
  faultOfExecuted,
  faultOfInProgress,
  isUnavailable,
  problemCodeOf,
  randomOf,
} from './api-checks.ts';
import { type Answer, type ApiRequest, send } from './api-client.ts';
import type { ApiProcess, Cluster } from './api-cluster.ts';
import { checkRuns, settleUnknown } from './api-kills-after.ts';
import type { TrapPoint } from './api-protocol.ts';

/**
 * Where processes die: each probe point of a plain route (`commit.…` is passed by transactional operations only), and the line
 * after the handler's effect.
 */
export const KILL_POINTS: readonly TrapPoint[] = [
  ...PROBE_POINTS.filter((point) => !point.startsWith('commit.')),
  'handler.effect',
];

/** What one round does. */
export interface KillOptions {
  /** Decides which process dies, at which arrival, and how long handlers work. */
  readonly seed: number;
  readonly point: TrapPoint;
  readonly way: 'unknown' | 'resume';
  readonly wait: boolean;
}

/** What came of it. */
export interface KillResult {
  readonly failures: readonly string[];
  readonly keys: number;
  /** How many keys ended `unknown` and were settled by hand. */
  readonly unknown: number;
  /** How many keys ran more than once. */
  readonly resumed: number;
}

/** What a client knows of its key at the end. */
export interface Client {
  readonly request: ApiRequest;
  /** The first 201 it got. */
  acknowledged: Answer | null;
  /** Whether it was told that the outcome is unknown. */
  unknown: boolean;
}

/** Goes through all points and both ways in turn: any {@link KILL_TURN} seeds in a row, from a multiple of it, have each once. */
export function killOptionsOf(seed: number): KillOptions {
  const point = KILL_POINTS[seed % KILL_POINTS.length] ?? 'claim.applied';
  const turn = Math.floor(seed / KILL_POINTS.length);
  return { seed, point, way: turn % 2 === 0 ? 'unknown' : 'resume', wait: (seed + turn) % 3 === 0 };
}

/** How many seeds one turn through points and ways takes. */
export const KILL_TURN: number = 2 * KILL_POINTS.length;

/** Keys that two clients send at one moment, to the victim and to another process. */
const DOUBLED = 2;
/** Between two requests of one client: short against a claim, long against an answer. */
const RETRY_MS = 40;

/** Runs one round; afterwards the cluster is whole again. */
export async function killRound(cluster: Cluster, options: KillOptions): Promise<KillResult> {
  const { seed, point, way, wait } = options;
  const random = randomOf(seed);
  const failures: string[] = [];
  const fail = (what: string): void => void failures.push(`seed ${seed} (${point}, ${way}): ${what}`);

  const place = Math.floor(random() * cluster.processes.length);
  const victim = cluster.processes[place] as ApiProcess;
  const nth = 1 + Math.floor(random() * 4);
  await victim.arm({ point, nth, action: 'kill' });
  const restarted = victim.ended.then(() => cluster.restart(place));

  // As many keys as it takes for the victim to come to the point, and some that are sent twice at a time.
  const single = nth + 2;
  const clients = Array.from({ length: single + DOUBLED }, (_, i): Client => {
    const workMs = [0, 0, 10, 60][Math.floor(random() * 4)] ?? 0;
    const key = `kill-${seed}-${i}-${randomUUID()}`;
    return {
      request: { path: `/${way}/${wait ? 'wait' : 'now'}`, key, workMs },
      acknowledged: null,
      unknown: false,
    };
  });
  const other = cluster.up().find((process) => process !== victim) ?? victim;
  const twins = clients.slice(single).map((client): Client => ({ ...client }));
  await Promise.all([
    ...clients.map((client) => ask(cluster, victim, client, options, random, fail)),
    ...twins.map((twin) => ask(cluster, other, twin, options, random, fail)),
  ]);

  if (victim.isUp()) {
    // Every client was served without the point being reached often enough: that would prove nothing.
    fail(`was never reached ${nth} times`);
    victim.signal('SIGKILL');
  }
  const { signal } = await victim.ended;
  if (signal !== 'SIGKILL') fail(`the process ended by ${signal ?? 'itself'}`);
  await restarted;

  for (const [i, twin] of twins.entries()) checkTwins(clients[single + i] ?? twin, twin, fail);
  const lines = cluster.ledger();
  let resumed = 0;
  for (const client of clients) resumed += checkRuns(lines, client, way, fail) > 1 ? 1 : 0;
  const unknown = clients.filter((client) => client.unknown);
  if (unknown.length > 0) await settleUnknown(cluster, unknown, random, fail);
  for (const client of [...clients, ...twins]) {
    if (!client.unknown) await checkKept(cluster, client, fail);
  }
  return { failures, keys: clients.length, unknown: unknown.length, resumed };
}

/** Two clients of one key were told the same. */
function checkTwins(one: Client, other: Client, fail: (what: string) => void): void {
  const [a, b] = [one, other].map(({ acknowledged }) => acknowledged && essenceOf(acknowledged));
  if (a !== b || one.unknown !== other.unknown) {
    fail(`twins were told ${a ?? `unknown: ${one.unknown}`} and ${b ?? `unknown: ${other.unknown}`}`);
  }
}

/** Sends, and sends again wherever somebody listens, until the key has a final answer or is said to be unknown. */
async function ask(
  cluster: Cluster,
  first: ApiProcess,
  client: Client,
  { way }: KillOptions,
  random: () => number,
  fail: (what: string) => void,
): Promise<void> {
  const { request } = client;
  // A claim ends at the latest one length after the last process that could watch it began to.
  const deadline = performance.now() + 3 * cluster.claimTtlMs + 10_000;
  let target = first;
  while (performance.now() < deadline) {
    const answer = await send(target.port, request).answer;
    if (answer.kind === 'answer') {
      const code = problemCodeOf(answer);
      if (answer.status === 201) {
        const fault = faultOfExecuted(answer, cluster.ledger(), request.key, 'tenant-a');
        if (fault !== null) fail(fault);
        client.acknowledged = answer;
        return;
      }
      if (code === 'outcome-unknown') {
        if (way === 'resume') fail('an operation that may be resumed was said to be unknown');
        client.unknown = true;
        return;
      }
      if (!isUnavailable(answer)) {
        const fault = faultOfInProgress(answer, cluster.claimTtlMs);
        if (fault !== null) return fail(fault);
      }
    }
    if (answer.kind === 'answer' || target !== first) await sleep(RETRY_MS * (0.5 + random()));
    const up = cluster.up();
    target = up[Math.floor(random() * up.length)] ?? first;
  }
  fail(`is stuck: ${JSON.stringify(await cluster.store.list({ limit: 5 }))}`);
}

/** What was acknowledged is replayed by every process, the successor included. */
async function checkKept(cluster: Cluster, client: Client, fail: (what: string) => void): Promise<void> {
  const { acknowledged, request } = client;
  if (acknowledged === null) return;
  const essence = essenceOf(acknowledged);
  for (const { name, port } of cluster.up()) {
    const again = await send(port, request).answer;
    if (again.kind === 'lost') fail(`${name} did not answer: ${again.reason}`);
    else if (essenceOf(again) !== essence || again.headers.get('idempotency-replayed') !== 'true') {
      fail(`acknowledged was ${essence}, ${name} says ${essenceOf(again)}`);
    }
  }
}
