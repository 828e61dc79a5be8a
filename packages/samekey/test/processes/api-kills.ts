/**
 * One round of killing: a process of the cluster kills itself with SIGKILL on the line of a probe point (or freezes there, or
 * its store suffers a fault) while clients send several keys, and keep asking the others and its successor. Then: what a client was
 * told stays true byte for byte, nothing ran twice, no key is stuck, and unknown is only what a dead process left behind.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { PROBE_POINTS } from 'samekey';
import { faultOfExecuted, faultOfInProgress, isUnavailable, problemCodeOf, randomOf } from './api-checks.ts';
import { type Answer, type ApiRequest, send } from './api-client.ts';
import { type Blow, blowsOf, isSurvived, readyBlow } from './api-blows.ts';
import type { ApiProcess, Cluster } from './api-cluster.ts';
import {
  checkKept,
  checkOneAnswer,
  checkRuns,
  checkTwins,
  overrunIn,
  settleUnknown,
  toldOf,
} from './api-kills-after.ts';
import type { TrapPoint } from './api-protocol.ts';

/**
 * Where processes die: each probe point of a plain route (the others are passed by transactional and phased operations only), and the line
 * after the handler's effect.
 */
export const KILL_POINTS: readonly TrapPoint[] = [
  ...PROBE_POINTS.filter((point) => !/^(?:commit|phase|effect)\./.test(point)),
  'handler.effect',
];

/** What one round does. */
export interface KillOptions {
  /** Decides which process dies, at which arrival, and how long handlers work. */
  readonly seed: number;
  readonly point: TrapPoint;
  readonly way: 'unknown' | 'resume';
  readonly wait: boolean;
  readonly blow: Blow;
}

/** What came of it. */
export interface KillResult {
  readonly failures: readonly string[];
  readonly keys: number;
  /** How many keys ended `unknown` and were settled by hand. */
  readonly unknown: number;
  /** How many keys ran more than once. */
  readonly resumed: number;
  /** How many keys had an answer that left unstored and could be resumed meanwhile. */
  readonly overrun: number;
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
export function killOptionsOf(seed: number, blow: Blow = 'kill'): KillOptions {
  const point = KILL_POINTS[seed % KILL_POINTS.length] ?? 'claim.applied';
  const turn = Math.floor(seed / KILL_POINTS.length);
  return { seed, point, way: turn % 2 === 0 ? 'unknown' : 'resume', wait: (seed + turn) % 3 === 0, blow };
}

/** The blow of a seed: every other turn kills, the turns in between go through all others that the cluster can suffer. */
export function blowOf(cluster: Cluster, seed: number): Blow {
  const [kill, ...others] = blowsOf(cluster);
  const turn = Math.floor(seed / KILL_TURN);
  return (turn % 2 === 0 ? kill : others[((turn - 1) / 2) % others.length]) ?? 'kill';
}

/** How many seeds one turn through points and ways takes. */
export const KILL_TURN: number = 2 * KILL_POINTS.length;

/** Keys that two clients send at one moment, to the victim and to another process. */
const DOUBLED = 2;
/** Between two requests of one client: short against a claim, long against an answer. */
const RETRY_MS = 40;
/** A claim that was given up is looked for each second, with a store that may take two. */
const TAKEN_BACK_IN_MS = 6_000;

/** Runs one round; afterwards the cluster is whole again. */
export async function killRound(cluster: Cluster, options: KillOptions): Promise<KillResult> {
  const { seed, point, way, wait, blow } = options;
  const random = randomOf(seed);
  const failures: string[] = [];
  const fail = (what: string): void =>
    void failures.push(`seed ${seed} (${blow} at ${point}, ${way}): ${what}`);

  const place = Math.floor(random() * cluster.processes.length);
  const victim = cluster.processes[place] as ApiProcess;
  const nth = 1 + Math.floor(random() * 4);
  const struck = await readyBlow(cluster, { place, point, nth, blow }, random);
  const mayTakeBack = (): boolean => isSurvived(blow) && !struck.isOver();

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
    ...clients.map((client) => ask(cluster, victim, client, options, mayTakeBack, random, fail)),
    ...twins.map((twin) => ask(cluster, other, twin, options, mayTakeBack, random, fail)),
  ]);

  if (!struck.isStruck()) {
    // Every client was served without the point being reached often enough: that would prove nothing.
    fail(`was never reached ${nth} times`);
    victim.signal('SIGKILL');
    await victim.ended;
    await (blow === 'kill' ? struck.over : cluster.restart(place));
  } else {
    await struck.over;
    if (blow === 'kill' && (await victim.ended).signal !== 'SIGKILL') fail('the process ended by itself');
  }

  const overrun = overrunIn(cluster, clients, options);
  for (const [i, twin] of twins.entries()) {
    if (!overrun.has(twin.request.key)) checkTwins(clients[single + i] ?? twin, twin, isSurvived(blow), fail);
  }
  const lines = cluster.ledger();
  let resumed = 0;
  for (const client of clients) {
    const { acknowledged, request } = client;
    // What an unstored answer said may not stand in the end.
    const said = overrun.has(request.key) ? null : acknowledged;
    resumed += checkRuns(lines, { ...client, acknowledged: said }, options, fail) > 1 ? 1 : 0;
  }
  const unknown = clients.filter((client) => client.unknown);
  if (isSurvived(blow)) {
    for (const { request } of unknown)
      fail(`stayed unknown, and nobody died: ${await toldOf(cluster, request.key)}`);
  }
  if (unknown.length > 0) await settleUnknown(cluster, unknown, random, fail);
  for (const client of [...clients, ...twins]) {
    if (overrun.has(client.request.key)) await checkOneAnswer(cluster, client, fail);
    else if (!client.unknown) await checkKept(cluster, client, isSurvived(blow), fail);
  }
  return { failures, keys: clients.length, unknown: unknown.length, resumed, overrun: overrun.size };
}

/** Sends, and sends again wherever somebody listens, until the key has a final answer or is said to be unknown. */
async function ask(
  cluster: Cluster,
  first: ApiProcess,
  client: Client,
  { way, blow }: KillOptions,
  mayTakeBack: () => boolean,
  random: () => number,
  fail: (what: string) => void,
): Promise<void> {
  const { request } = client;
  // A claim ends at the latest one length after the last process that could watch it began to.
  const startedAt = performance.now();
  const deadline = startedAt + 3 * cluster.claimTtlMs + 10_000;
  const takenBackInMs = isSurvived(blow) ? TAKEN_BACK_IN_MS : 0;
  let heardUnknownAt: number | undefined;
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
        // Its owner lives: it takes the key back, or finishes it.
        if (!mayTakeBack()) heardUnknownAt ??= performance.now();
        if (performance.now() - (heardUnknownAt ?? performance.now()) >= takenBackInMs) {
          client.unknown = true;
          return;
        }
      } else if (!isUnavailable(answer)) {
        // Its twin may have asked a moment before.
        const sinceMs = performance.now() - startedAt + cluster.claimTtlMs;
        const fault = faultOfInProgress(answer, cluster.claimTtlMs, sinceMs);
        if (fault !== null) return fail(fault);
      }
    }
    if (answer.kind === 'answer' || target !== first) await sleep(RETRY_MS * (0.5 + random()));
    const up = cluster.up();
    target = up[Math.floor(random() * up.length)] ?? first;
  }
  fail(`is stuck: ${JSON.stringify(await cluster.store.list({ limit: 5 }))}`);
}
