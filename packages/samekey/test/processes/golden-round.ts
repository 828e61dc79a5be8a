/**
 * One round of the golden path: an API process kills itself with SIGKILL at one stop of the operation while it makes a payment,
 * and whoever goes on, the next request, a worker or both, may be killed at another stop; beside it other keys are under way, the
 * provider is unkind and PostgreSQL is killed, by the seed. In the end everything was done exactly once and is answered so.
 */

import { PROBE_POINTS, type ProbePoint } from 'samekey';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomOf } from './api-checks.ts';
import { type Asking, askForGood, type Payer, recordOf, steadily } from './golden-client.ts';
import type { Golden, GoldenProcess } from './golden-cluster.ts';
import { checkDone } from './golden-checks.ts';
import type { Rule } from './golden-protocol.ts';
import { reconcileUnknown } from './golden-reconcile.ts';

/** A probe point as the operation comes to it for the nth time. */
export interface Stop {
  readonly point: ProbePoint;
  readonly nth: number;
}

const TIMES: Readonly<Partial<Record<ProbePoint, number>>> = {
  'phase.before': 3,
  'commit.sent': 3,
  'commit.applied': 3,
  'phase.applied': 3,
  'effect.before': 2,
  'effect.after': 2,
  'effect.applied': 2,
  // Passed by transactional operations only.
  'commit.before': 0,
};

/** Every stop of the operation. */
export const STOPS: readonly Stop[] = PROBE_POINTS.flatMap((point) =>
  Array.from({ length: TIMES[point] ?? 1 }, (_, i) => ({ point, nth: i + 1 })),
);

/** Who brings the killed payment to its end. */
export const RESUMERS = ['request', 'worker', 'both'] as const;

/** What one round does. */
export interface GoldenRound {
  readonly seed: number;
  readonly stop: Stop;
  readonly by: (typeof RESUMERS)[number];
  readonly rule: Rule;
  /** Where whoever goes on is killed too. */
  readonly second: Stop | null;
  readonly isProviderUnkind: boolean;
  readonly isDatabaseKilled: boolean;
}

/** How many seeds go once through all stops and all who may go on. */
export const GOLDEN_TURN: number = STOPS.length * RESUMERS.length;
/** PostgreSQL is killed in one of so many rounds. */
const DATABASE_EACH = 12;

/** The round of a seed. */
export function goldenRoundOf(seed: number): GoldenRound {
  const random = randomOf(seed ^ 0x5eed);
  const chance = random();
  return {
    seed,
    stop: STOPS[seed % STOPS.length] as Stop,
    by: RESUMERS[Math.floor(seed / STOPS.length) % RESUMERS.length] ?? 'both',
    rule: chance < 0.65 ? 'downstreamKey' : chance < 0.9 ? 'inquire' : 'reconcile',
    second: random() < 0.4 ? { ...(STOPS[Math.floor(random() * STOPS.length)] as Stop), nth: 1 } : null,
    isProviderUnkind: random() < 0.5,
    isDatabaseKilled: seed % DATABASE_EACH === DATABASE_EACH - 1,
  };
}

/** What came of it. */
export interface GoldenResult {
  readonly failures: readonly string[];
  readonly keys: number;
  /** How many processes were killed. */
  readonly killed: number;
  readonly databaseKilled: number;
  /** How many keys a reconciler had to settle: under the rule `reconcile` only. */
  readonly settled: number;
}

/** Runs one round; afterwards the installation is whole again. */
export async function goldenRound(golden: Golden, round: GoldenRound): Promise<GoldenResult> {
  const { seed, stop, by, rule, second, isProviderUnkind, isDatabaseKilled } = round;
  const random = randomOf(seed);
  const failures: string[] = [];
  const fail = (what: string): void => void failures.push(`${JSON.stringify(round)}: ${what}`);
  const prefix = `g-${seed}-${Math.floor(performance.now())}-`;
  const payer = (name: string): Payer => ({ key: `${prefix}${name}`, rule, amount: 100 + (seed % 900) });
  const [struck, beside, twin] = [payer('struck'), payer('beside'), payer('twin')];

  await golden.provider.setFaults({ seed, share: isProviderUnkind ? 0.35 : 0 });
  await Promise.all(golden.workers.map((worker) => worker.work(by !== 'request')));
  const place = Math.floor(random() * golden.apis.length);
  const victim = golden.apis[place] as GoldenProcess;
  const other = golden.apis[(place + 1) % golden.apis.length] as GoldenProcess;
  await victim.arm({ ...stop, key: struck.key, action: 'kill' });
  let killed = 0;
  void victim.ended.then(() => (killed += 1));
  if (second !== null) {
    const next = [...(by === 'request' ? [] : golden.workers), ...(by === 'worker' ? [] : golden.apis)];
    for (const process of next.filter((one) => one !== victim)) {
      await process.arm({ ...second, key: struck.key, action: 'kill' });
      void process.ended.then(() => (killed += 1));
    }
  }
  const database = isDatabaseKilled ? await killDatabase(golden, other, beside.key, random) : null;
  if (isProviderUnkind && random() < 0.3) void refuseLater(golden, random);

  const asking = { meanwhile: allowed(round), random, ...(rule === 'reconcile' ? { until: UNKNOWN } : {}) };
  const ask = async (one: Payer, how: Pick<Asking, 'first' | 'isSilent'>): Promise<void> => {
    const fault = await askForGood(golden, one, { ...asking, ...how });
    if (fault !== null) fail(`${one.key} ${fault}`);
  };
  await Promise.all([
    ask(struck, { first: victim, isSilent: by === 'worker' }),
    ask(beside, { first: other, isSilent: false }),
    ask(twin, { first: victim, isSilent: false }),
    ask(twin, { first: other, isSilent: false }),
  ]);
  await database?.over();
  await Promise.all([...golden.apis, ...golden.workers].map((process) => process.disarm()));
  await golden.whole();
  if (killed === 0 && !isProviderUnkind && !isDatabaseKilled) {
    // A machine so busy that the claim ended first has taken the payment elsewhere; one on which a call took longer than it may has made the
    // payment unknown. Else the round proved nothing.
    const record = await steadily(() => recordOf(golden, struck.key));
    if (record?.attempt === 1 && record.reason !== 'effect-unknown') fail('the stop was never reached');
  }
  for (const name of golden.fallen.splice(0)) fail(`${name} ended by itself`);
  const payers = [struck, beside, twin];
  const settled =
    rule === 'reconcile' ? await reconcileUnknown(golden, payers, prefix, fail) : new Set<Payer>();
  await checkDone(
    golden,
    payers.filter((one) => !settled.has(one)),
    fail,
  );
  return {
    failures,
    keys: payers.length,
    killed,
    databaseKilled: database?.isKilled() === true ? 1 : 0,
    settled: settled.size,
  };
}

const UNKNOWN = 'outcome-unknown';

/** What a client may be told on its way. */
function allowed({ isDatabaseKilled }: GoldenRound): ReadonlySet<string> {
  return new Set([
    'lost',
    'in-progress',
    // No decision in time: a machine may be that busy.
    'store-unavailable',
    // The handler lets through that the provider refused its connection, or that its transaction took longer than its claim: nothing
    // happened.
    '500',
    // A COMMIT that nobody answered in time.
    ...(isDatabaseKilled ? [UNKNOWN] : []),
  ]);
}

/** Kills PostgreSQL when the process comes to a stop with this key, and starts it again; the process goes on in the middle of it. */
async function killDatabase(
  golden: Golden,
  process: GoldenProcess,
  key: string,
  random: () => number,
): Promise<{ over(): Promise<void>; isKilled(): boolean }> {
  const stop = STOPS[Math.floor(random() * STOPS.length)] as Stop;
  const trap = await process.arm({ ...stop, key, action: 'wait' });
  let struck: Promise<void> | null = null;
  void trap.reached.then(() => {
    struck = (async () => {
      const [killing, downMs] = [golden.server.kill(), random() * 300];
      if (random() < 0.5) await trap.go();
      await killing;
      await sleep(downMs);
      await golden.server.restart();
      await trap.go();
    })();
  });
  return { over: async () => struck ?? undefined, isKilled: () => struck !== null };
}

async function refuseLater(golden: Golden, random: () => number): Promise<void> {
  await sleep(random() * 100);
  await golden.provider.refuse(50 + random() * 150);
}
