/**
 * What a history is made of: drawn from its seed before it begins. Small on purpose: few processes, few keys, many faults in
 * a short time meet in more ways than a long quiet history would.
 */

import { POLICIES, type PolicyName } from 'samekey/internals/core/policy';
import type { OperationOptions } from 'samekey/internals/core/settings';
import type { Random } from '../random.ts';

/**
 * `calm`: no faults at all · `rolling`: processes are replaced by `close` only · `store`: the connection to the store
 * misbehaves · `chaos`: everything.
 */
export type HistoryKind = 'calm' | 'rolling' | 'store' | 'chaos';

/** An operation of the simulated application. */
export interface OperationPlan {
  readonly name: string;
  /** How Samekey is told to run it. */
  readonly settings: Required<Omit<OperationOptions, 'policy'>> & { readonly policy: PolicyName };
  /** Whether every run answers with bytes of its own, or all with the same. */
  readonly answersDiffer: boolean;
  /** Whether its handlers look at the signal before their effect. */
  readonly heedsSignal: boolean;
  /** Whether its answers are too large for a record. */
  readonly answersLarge: boolean;
  /** Whether half of the processes know it under a later name, as in the middle of a deploy. */
  readonly renamed: boolean;
  /** The calls of a phased operation, in order; none: it is a plain one. */
  readonly effects: readonly EffectPlan[];
}

/** An effect of a phased operation. */
export interface EffectPlan {
  readonly name: string;
  readonly rule: 'downstreamKey' | 'inquire' | 'reconcile';
  readonly callTimeMaxMs: number;
  /** Whether its client asks the signal right before it sends, as HTTP clients do. */
  readonly asksSignal: boolean;
}

/** One thing a client wants done, under one key. */
export interface Intent {
  readonly operation: OperationPlan;
  readonly scope: readonly string[];
  readonly key: string;
  readonly body: number;
  readonly startMs: number;
  /** Requests sent at the same time at first. */
  readonly clicks: number;
  /** When the client stops listening, in milliseconds. */
  readonly patienceMs: number;
  readonly retryMs: number;
}

/** How often things go wrong. */
export interface FaultRates {
  /** Of a call to the store meeting a fault. */
  readonly store: number;
  /** Of a freeze, a kill, a restart, an operator's hand, a sweep or a reap at each look of chaos. */
  readonly freeze: number;
  readonly kill: number;
  readonly restart: number;
  readonly operator: number;
  readonly forget: number;
  readonly storeClock: number;
  /** Of a handler that never ends. */
  readonly hang: number;
  /** Of a handler that works longer than its claim. */
  readonly slow: number;
  /** Of a pause at each probe point. */
  readonly probe: number;
  /** Of a call to the provider meeting a fault. */
  readonly provider: number;
}

/** All of it. */
export interface Scenario {
  readonly seed: number;
  readonly kind: HistoryKind;
  /** Faults stop after this. */
  readonly faultTimeMs: number;
  readonly processes: number;
  readonly operations: readonly OperationPlan[];
  readonly intents: readonly Intent[];
  readonly rates: FaultRates;
}

/** The simulated store keeps no larger records, in bytes; but the application's answers that are large are larger. */
export const RECORD_SIZE_MAX_BYTES = 400;
/** How long one call of the store may take before its reply counts as lost. */
export const CALL_TIME_MAX_MS = 200;
/** How late a statement arrives at most: its own time-out at the store. */
export const LATENESS_MAX_MS = 1_500;
/** How long a freeze lasts at most. */
export const FREEZE_MAX_MS = 4_000;
/** `close` waits this long in rolling restarts: longer than any handler there runs. */
export const DRAIN_MS = 20_000;

/** Nothing goes wrong. */
export const NO_FAULTS: FaultRates = {
  store: 0,
  freeze: 0,
  kill: 0,
  restart: 0,
  operator: 0,
  forget: 0,
  storeClock: 0,
  hang: 0,
  slow: 0,
  probe: 0,
  provider: 0,
};

/** Draws a scenario, of phased operations if asked for. */
export function drawScenario(seed: number, random: Random, isPhased: boolean): Scenario {
  const kind = random.weighted<HistoryKind>({ calm: 5, rolling: 10, store: 30, chaos: 55 });
  const operations = Array.from({ length: random.between(1, 2) }, (_, i) => {
    const plain = drawOperation(i, kind, random);
    return isPhased ? drawPhased(plain, random) : plain;
  });
  const faultTimeMs = random.between(500, 5_000);
  const scopes = [
    ['t1', 'ann'],
    ['t2', 'ann'],
  ].slice(0, random.chance(0.4) ? 2 : 1);
  const keys = ['k1', 'k2'].slice(0, random.chance(0.3) ? 2 : 1);
  const intents = Array.from({ length: random.between(1, 4) }, () =>
    drawIntent(operations, scopes, keys, faultTimeMs, random),
  );
  return {
    seed,
    kind,
    faultTimeMs,
    processes: random.between(1, 3),
    operations,
    intents,
    rates: { ...drawRates(kind, random), provider: isPhased && random.chance(0.7) ? 0.3 : 0 },
  };
}

/** The same with effects instead of one handler. */
function drawPhased(plain: OperationPlan, random: Random): OperationPlan {
  const asksSignal = random.chance(0.6);
  return {
    ...plain,
    settings: { ...plain.settings, whenClaimEnds: 'resume' },
    answersLarge: false,
    effects: Array.from({ length: random.between(1, 2) }, (_, i) => ({
      name: `effect${i}`,
      rule: random.pick(['downstreamKey', 'inquire', 'inquire', 'reconcile'] as const),
      callTimeMaxMs: random.pick([100, 200, 300]),
      asksSignal,
    })),
  };
}

function drawOperation(i: number, kind: HistoryKind, random: Random): OperationPlan {
  const settings = {
    policy: random.pick(Object.keys(POLICIES) as PolicyName[]),
    whenClaimEnds: random.chance(0.5) ? ('unknown' as const) : ('resume' as const),
    claimTtlMs: random.pick([600, 1_000, 2_000]),
    attemptTimeMaxMs: kind === 'rolling' || kind === 'calm' ? 60_000 : random.pick([1_500, 3_000, 60_000]),
    attemptMax: random.chance(0.2) ? random.between(1, 3) : 10,
    retentionMs: random.chance(0.3) ? 8_000 : 60_000,
    replayMinMs: random.pick([4_000, 8_000, 30_000]),
    tombstoneMs: random.chance(0.2) ? 30_000 : 0,
    waitMaxMs: random.chance(0.3) ? random.between(50, 400) : 0,
    reconcileAfterMs: 1_000,
    retryWindowMs: 0,
    limits: null,
  };
  return {
    name: `op${i}`,
    settings,
    answersDiffer: random.chance(0.7),
    heedsSignal: random.chance(0.3),
    answersLarge: random.chance(0.1),
    renamed: random.chance(0.15),
    effects: [],
  };
}

function drawIntent(
  operations: readonly OperationPlan[],
  scopes: readonly (readonly string[])[],
  keys: readonly string[],
  faultTimeMs: number,
  random: Random,
): Intent {
  return {
    operation: random.pick(operations),
    scope: random.pick(scopes),
    key: random.pick(keys),
    body: random.chance(0.25) ? 2 : 1,
    // Some come back when the retention is over.
    startMs: random.chance(0.1) ? random.between(9_000, 70_000) : random.between(0, faultTimeMs),
    clicks: random.chance(0.4) ? random.between(2, 3) : 1,
    patienceMs: random.pick([100, 400, 1_500, 10_000]),
    retryMs: random.pick([20, 100, 300, 1_000]),
  };
}

function drawRates(kind: HistoryKind, random: Random): FaultRates {
  const slow = random.chance(0.5) ? 0.3 : 0;
  if (kind === 'calm') return { ...NO_FAULTS, slow };
  if (kind === 'rolling') return { ...NO_FAULTS, slow, restart: 0.3, probe: random.chance(0.5) ? 0.2 : 0 };
  const storeRate = random.pick([0.05, 0.15, 0.3, 0.6]);
  if (kind === 'store') return { ...NO_FAULTS, slow, store: storeRate };
  const maybe = (rate: number): number => (random.chance(0.5) ? rate : 0);
  return {
    store: maybe(storeRate),
    freeze: maybe(0.25),
    kill: maybe(0.15),
    restart: maybe(0.15),
    operator: maybe(0.4),
    forget: maybe(0.1),
    storeClock: random.chance(0.1) ? 0.1 : 0,
    hang: maybe(0.1),
    slow,
    probe: maybe(0.2),
    provider: 0,
  };
}
