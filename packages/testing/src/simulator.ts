/**
 * The simulator: a whole installation in one process and in virtual time. Several Samekey instances share one store; clients
 * retry, double-click and hang up; connections lose, delay, repeat and reorder; processes freeze, die and restart; people
 * settle and reopen. Then the faults stop, everybody gets an end, and the auditor judges.
 *
 * Invariants: one seed, one history, on every machine · each event runs to its end before the next · faults end, so what
 * does not end afterwards is stuck.
 * Sources: TigerBeetle's VOPR; FoundationDB's simulation (Zhou et al., 2021).
 */

import { encodeScope } from 'samekey/internals/core/scope';
import type { RecordId } from 'samekey/internals/core/record';
import type { Store } from 'samekey/internals/store/store';
import type { World } from 'samekey/internals/core/world';
import { memoryStore } from 'samekey/internals/stores/memory/index';
import { createAuditor, type Violation } from './auditor.ts';
import { FAKE_WALL_START } from './fake-world.ts';
import { createGate } from './gate.ts';
import { createRandom } from './random.ts';
import { makeCalm, settleSome, startChaos } from './simulator/chaos.ts';
import { type Client, comeBack, startClient } from './simulator/client.ts';
import type { Context, TraceLine } from './simulator/context.ts';
import { startProcess } from './simulator/process.ts';
import { createProvider } from './simulator/provider.ts';
import {
  drawScenario,
  FREEZE_MAX_MS,
  type Intent,
  LATENESS_MAX_MS,
  RECORD_SIZE_MAX_BYTES,
  type Scenario,
} from './simulator/scenario.ts';
import { createWatch } from './simulator/watched-store.ts';
import { createTimeline, type Timers, turn } from './timeline.ts';

/** What a store under simulation lives on. */
export interface SimulatedMachine extends Timers {
  /** The store's clock: whole milliseconds since 1970. It may jump ahead. */
  now(): number;
  /** A clock that never jumps, in milliseconds, for stores that trust no wall clock. */
  monotonicNow(): number;
}

/** A real store under simulation: empty when the history begins, with the simulated machine's clock. */
export interface SimulatedDatabase {
  /** A handle as one more process would hold it; whoever made the database closes it. */
  connect(): Store;
  /**
   * Whether its store takes for the time what its processes have seen of it, which stands still while all are silent; default false. Records
   * may then live longer.
   */
  readonly timeLags?: boolean;
}

/** Options of {@link simulate}. */
export interface SimulateOptions {
  readonly seed: number;
  /** The store all processes share; default the memory store. Its calls must take effect within the turn they are made in. */
  readonly store?: (machine: SimulatedMachine) => Store;
  /**
   * A store with real input and output instead: each process gets a handle of its own, virtual time stands still until a call
   * is answered, and calls reach it one at a time, so that the history follows from its seed all the same. What goes wrong on the
   * way is still made in front of it.
   */
  readonly database?: (machine: SimulatedMachine) => Promise<SimulatedDatabase>;
  /** What stands between every engine and its connection, on the machine of its process: a tier, a planted bug; default nothing. */
  readonly client?: (connection: Store, world: World) => Store;
  /**
   * Whether its operations are phased, with effects at a simulated provider, instead of plain; default false. Of the phases only effects.
   */
  readonly phased?: boolean;
  /** Keeps every line of the history; default false. */
  readonly trace?: boolean;
}

/** One history. */
export interface History {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly violations: readonly Violation[];
  /** How many events it took. */
  readonly events: number;
  /** Virtual milliseconds. */
  readonly timeMs: number;
  readonly trace: readonly TraceLine[];
}

const EVENTS_MAX = 50_000;
const SETTLE_AFTER_MS = 8_000;

/** Runs one history to its end and judges it. */
export async function simulate(options: SimulateOptions): Promise<History> {
  const random = createRandom(options.seed);
  const scenario = drawScenario(options.seed, random, options.phased ?? false);
  const timeline = createTimeline(random);
  const lines: TraceLine[] = [];
  let jumpedMs = 0;
  let events = 0;
  const storeNow = (): number => Math.floor(FAKE_WALL_START + timeline.now) + jumpedMs;
  const { rates } = scenario;
  const machine: SimulatedMachine = {
    now: storeNow,
    monotonicNow: () => timeline.now,
    setTimer: (ms, callback) => timeline.setTimer(ms, callback),
  };
  const database = await options.database?.(machine);
  const timeLags = database?.timeLags ?? false;
  const auditor = createAuditor({
    now: () => timeline.now,
    claimsMayEnd: rates.store > 0 || rates.storeClock > 0 || rates.hang > 0,
    clockJumps: rates.storeClock > 0,
    timeLags,
    slackMs: { quiet: 500 + LATENESS_MAX_MS, frozen: 500 + LATENESS_MAX_MS + 2 * FREEZE_MAX_MS },
  });
  const ids = scenario.intents.map(idOf);
  const gate = database === undefined ? null : createGate({ oneAtATime: true });
  // Where code that knows a renamed operation leaves its pointers.
  const pointers = scenario.intents.filter(({ operation }) => operation.renamed).map(renamedIdOf);
  const watch = createWatch({ auditor, storeNow, ids: [...ids, ...pointers], gate, timeLags });
  const { store, connect } = storesOf(options, machine, database, watch);
  const context: Context = {
    scenario,
    random,
    timeline,
    auditor,
    store,
    connect,
    storeNow,
    // Most of a history is a quiet end; on a real store each sweep is a handful of statements.
    tidyEveryMs: gate === null ? 1_000 : 3_000,
    client: (connection, world) => (options.client ?? ((same) => same))(withSizeMax(connection), world),
    provider: createProvider({ timeline, random, rates, isCalm: () => context.calm }),
    processes: [],
    processCount: 0,
    requestCount: 0,
    calm: false,
    strike: () => undefined,
    standStill: () => undefined,
    strikeWorld: () => undefined,
    jumpStoreClock(ms) {
      jumpedMs += ms;
    },
    trace:
      options.trace === true
        ? (id, text) => void lines.push({ at: timeline.now, id, text: text() })
        : () => undefined,
  };
  for (let i = 0; i < scenario.processes; i += 1) context.processes.push(startProcess(context));
  startChaos(context);
  const clients = scenario.intents.map((intent, i) => startClient(context, intent, ids[i] as RecordId));

  const runUntil = async (done: () => boolean): Promise<void> => {
    while (!done()) {
      if ((events += 1) > EVENTS_MAX || !timeline.step())
        return auditor.report(null, 'outside', `the history does not end (event ${events})`);
      await (gate?.settled() ?? turn());
    }
  };
  const lastStart = Math.max(scenario.faultTimeMs, ...scenario.intents.map(({ startMs }) => startMs + 1_000));
  await runUntil(() => timeline.now >= lastStart);
  await finish(context, clients, runUntil);
  return {
    seed: options.seed,
    scenario,
    violations: auditor.violations,
    events,
    timeMs: timeline.now,
    trace: lines,
  };
}

/** The one store in memory, or a handle on the database for each process and one for chaos and people. */
function storesOf(
  options: SimulateOptions,
  machine: SimulatedMachine,
  database: SimulatedDatabase | undefined,
  watch: (store: Store) => Store,
): Pick<Context, 'store' | 'connect'> {
  if (database !== undefined) {
    const connect = (): Store => watch(database.connect());
    return { store: connect(), connect };
  }
  const store = watch((options.store ?? ((at) => memoryStore({ now: () => at.now() })))(machine));
  return { store, connect: () => store };
}

/** A store that says it keeps no large records, so that some answers are stored without their body. */
function withSizeMax(connection: Store): Store {
  const capabilities = { ...connection.capabilities, recordSizeMaxBytes: RECORD_SIZE_MAX_BYTES };
  return { ...connection, capabilities };
}

/** No more faults: everybody gets an end, late statements arrive, claims end, and then the state of things is judged. */
async function finish(
  context: Context,
  clients: readonly Client[],
  runUntil: (done: () => boolean) => Promise<void>,
): Promise<void> {
  const { timeline, auditor, processes } = context;
  makeCalm(context);
  const quietAt = timeline.now + SETTLE_AFTER_MS;
  await runUntil(() => timeline.now >= quietAt);
  auditor.judgeUnknown();
  await settleSome(context, 1);
  const ended = (): boolean =>
    clients.every(({ end }) => end !== null) && processes.every(({ open }) => open === 0);
  for (let round = 0; round < 2; round += 1) {
    await settleUntil(context, runUntil, ended);
    for (const client of clients) comeBack(context, client);
  }
  await settleUntil(context, runUntil, ended);
  let left: number | null = null;
  void Promise.all(processes.map(({ samekey }) => samekey.close({ drainMs: 60_000 }))).then((counts) => {
    left = counts.reduce((sum, count) => sum + count, 0);
  });
  await runUntil(() => left !== null);
  if (left !== 0) auditor.report(null, 'outside', `${String(left)} requests never ended in their process`);
  const overAt = timeline.now + 5_000;
  await runUntil(() => timeline.now >= overAt);
  auditor.conclude();
}

function idOf({ scope, key, operation }: Intent): RecordId {
  return { scope: encodeScope(scope, operation.name), key };
}

function renamedIdOf({ scope, key, operation }: Intent): RecordId {
  return { scope: encodeScope(scope, `${operation.name}-renamed`), key };
}

/** Runs until all have ended; a person settles what becomes unknown meanwhile. */
async function settleUntil(
  context: Context,
  runUntil: (done: () => boolean) => Promise<void>,
  ended: () => boolean,
): Promise<void> {
  while (!ended()) {
    const until = context.timeline.now + SETTLE_AFTER_MS;
    await runUntil(() => ended() || context.timeline.now >= until);
    if (context.auditor.violations.length > 0) return;
    await settleSome(context, 1);
  }
}
