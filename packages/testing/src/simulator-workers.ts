/**
 * The simulator of background work: APIs on the transactional way, workers, reconcilers and janitors share one store in memory, in virtual time;
 * webhooks come twice and late, two operators act at once, machines freeze and die, messages are poison, and some machines run older code.
 * Then the faults stop, everything comes to its end, and an auditor of its own judges.
 *
 * Invariants: as in the simulator of engines.
 */

import { memoryStore, type MemoryStore } from 'samekey/internals/stores/memory/index';
import type { Violation } from './auditor.ts';
import { FAKE_WALL_START } from './fake-world.ts';
import { createRandom } from './random.ts';
import type { TraceLine } from './simulator/context.ts';
import { createProvider } from './simulator/provider.ts';
import { FREEZE_MAX_MS } from './simulator/scenario.ts';
import { createTimeline, turn } from './timeline.ts';
import { type BodyRow, bodyRow } from './simulator-workers/application.ts';
import { createWorkersAuditor } from './simulator-workers/auditor.ts';
import type { WorkersContext } from './simulator-workers/context.ts';
import { type Machine, type Role, startMachine } from './simulator-workers/machines.ts';
import { askOnce, beClient, beOperator, beWebhook, type WorkersClient } from './simulator-workers/people.ts';
import { drawWorkers, type WorkersScenario } from './simulator-workers/scenario.ts';
import { watchMessages } from './simulator-workers/watched-messages.ts';

/** Options of {@link simulateWorkers}. */
export interface SimulateWorkersOptions {
  readonly seed: number;
  /** What stands between everybody and the store: a planted bug; default nothing. */
  readonly plant?: (store: MemoryStore) => MemoryStore;
  /** Keeps every line of the history; default false. */
  readonly trace?: boolean;
}

/** One history. */
export interface WorkersHistory {
  readonly seed: number;
  readonly scenario: WorkersScenario;
  readonly violations: readonly Violation[];
  /** How many events it took. */
  readonly events: number;
  /** Virtual milliseconds. */
  readonly timeMs: number;
  readonly trace: readonly TraceLine[];
}

const EVENTS_MAX = 200_000;
/** Without faults everything comes to its end within this, in milliseconds: claims, leases, calls, what was reopened. */
const CALM_MAX_MS = 120_000;
/** What is late comes within this. */
const LATE_MAX_MS = 8_000;

/** Runs one history to its end and judges it. */
export async function simulateWorkers(options: SimulateWorkersOptions): Promise<WorkersHistory> {
  const random = createRandom(options.seed);
  const scenario = drawWorkers(options.seed, random);
  const timeline = createTimeline(random);
  const storeNow = (): number => Math.floor(FAKE_WALL_START + timeline.now);
  const bare = memoryStore({ now: storeNow });
  const auditor = createWorkersAuditor({
    now: () => timeline.now,
    storeNow,
    isCommitted: (body) => bare.rows.get(bodyRow(body)) !== undefined,
  });
  const lines: TraceLine[] = [];
  const context: WorkersContext = {
    scenario,
    random,
    timeline,
    auditor,
    store: (options.plant ?? ((same) => same))(
      watchMessages(bare, storeNow, (change) => auditor.changed(change)),
    ),
    storeNow,
    provider: createProvider({ timeline, random, rates: scenario.rates, isCalm: () => context.calm }),
    machines: [],
    machineCount: 0,
    calm: false,
    strike: (machine) => strike(context, machine),
    standStill(machine) {
      if (scenario.rates.freeze > 0)
        timeline.setTimer(0, () => freeze(context, machine, FREEZE_MAX_MS - 1_000));
    },
    kill: (machine) => kill(context, machine),
    landed(charged) {
      for (let copies = random.between(0, 2); copies > 0; copies -= 1) void beWebhook(context, charged);
    },
    trace:
      options.trace === true
        ? (id, text) => void lines.push({ at: timeline.now, id, text: text() })
        : () => undefined,
  };
  const roles: readonly (readonly [role: Role, count: number])[] = [
    ['api', scenario.apis],
    ['worker', scenario.workers],
    ['reconciler', scenario.reconcilers],
  ];
  for (const [role, count] of roles) {
    // In a deploy one of each is new: somebody must know what others do not.
    for (let i = 0; i < count; i += 1)
      startMachine(context, role, scenario.kind !== 'deploy' || i === 0 || random.chance(0.5));
  }
  const clients: WorkersClient[] = scenario.operations.map((work) => ({ work, ended: false }));
  for (const client of clients) void beClient(context, client);
  void beOperator(context, 'operator-ada');
  void beOperator(context, 'operator-ben');
  startChaos(context);

  let events = 0;
  const runUntil = async (isOver: () => boolean): Promise<void> => {
    while (!isOver() && auditor.violations.length === 0) {
      if ((events += 1) > EVENTS_MAX || !timeline.step())
        return auditor.report(null, 'outside', `the history does not end (event ${events})`);
      await turn();
    }
  };
  await runUntil(() => timeline.now >= scenario.faultTimeMs);
  makeCalm(context);
  const calmUntil = timeline.now + CALM_MAX_MS;
  await runUntil(
    () => timeline.now >= calmUntil || (clients.every(({ ended }) => ended) && isQuiet(context)),
  );
  const lateUntil = timeline.now + LATE_MAX_MS;
  await runUntil(() => timeline.now >= lateUntil);
  // Whoever comes back is told the same.
  let asked = 0;
  for (const { work } of clients) void askOnce(context, work).then(() => (asked += 1));
  await runUntil(() => asked === clients.length && isQuiet(context));
  if (auditor.violations.length === 0)
    auditor.conclude(await bare.audit({ limit: 1_000 }), committedBodies(bare));
  for (const { world } of context.machines) world.kill();
  return {
    seed: options.seed,
    scenario,
    violations: auditor.violations,
    events,
    timeMs: timeline.now,
    trace: lines,
  };
}

/** Machines freeze and die by themselves too, not only where they were hit. */
function startChaos(context: WorkersContext): void {
  const { timeline, random } = context;
  const look = (): void => {
    if (context.calm) return;
    strike(context, random.pick(context.machines));
    timeline.setTimer(random.between(50, 500), look);
  };
  timeline.setTimer(random.between(0, 300), look);
}

function strike(context: WorkersContext, machine: Machine | undefined): void {
  const { random, timeline, scenario } = context;
  if (context.calm || machine === undefined) return;
  const { rates } = scenario;
  const isKilled = random.chance(rates.kill);
  if (!isKilled && !random.chance(rates.freeze)) return;
  timeline.setTimer(0, () => {
    if (!isKilled) freeze(context, machine, 50);
    else if (machine.world.state === 'running' && !context.calm) kill(context, machine);
  });
}

function freeze(context: WorkersContext, machine: Machine, leastMs: number): void {
  if (machine.world.state !== 'running' || context.calm) return;
  machine.world.freeze();
  const ms = context.random.between(leastMs, FREEZE_MAX_MS);
  context.trace(null, () => `${machine.name} freezes for ${ms} ms`);
  context.timeline.setTimer(ms, () => {
    context.trace(null, () => `${machine.name} goes on`);
    machine.world.thaw();
  });
}

function kill(context: WorkersContext, machine: Machine): void {
  if (machine.world.state === 'dead') return;
  context.trace(null, () => `${machine.name} is killed`);
  context.auditor.facts.gone.add(machine.name);
  machine.world.kill();
  context.machines.splice(context.machines.indexOf(machine), 1);
  startMachine(context, machine.role, context.calm || machine.isNew);
}

/** No more faults; the deploy is over. */
function makeCalm(context: WorkersContext): void {
  context.calm = true;
  context.trace(null, () => '--- the faults are over ---');
  for (const machine of context.machines.slice()) {
    machine.world.thaw();
    // Not waited for: that a worker hands over when it stops is shown elsewhere.
    if (!machine.isNew) kill(context, machine);
  }
}

/** Whether nothing is open any more. */
function isQuiet({ auditor }: WorkersContext): boolean {
  const { messages, records } = auditor.facts;
  const isEnded = [...records.values()].every(({ state }) => state === 'completed' || state === 'failed');
  return isEnded && [...messages.values()].every(({ state, owner }) => state === 'dead' && owner !== null);
}

function committedBodies({ rows }: MemoryStore): ReadonlyMap<number, number> {
  return new Map(
    rows
      .entries()
      .filter(([key]) => key.startsWith(bodyRow('')))
      .map(([key, row]) => [Number(key.slice(bodyRow('').length)), (row as BodyRow).messages]),
  );
}
