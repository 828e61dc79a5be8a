/** What a history of background work is made of: drawn from its seed before it begins. */

import type { Random } from '../random.ts';
import { type FaultRates, NO_FAULTS } from '../simulator/scenario.ts';

/**
 * `calm`: no faults at all · `deploy`: half of the processes run code without a handler and an operation that others have · `store`: the
 * connection to the store misbehaves · `chaos`: everything.
 */
export type WorkersHistoryKind = 'calm' | 'deploy' | 'store' | 'chaos';

/** `order`: transactional, with messages, perhaps handed over · `report`: deferred · `pay`: phased, an effect at the provider. */
export type WorkName = 'order' | 'report' | 'pay';

/** One thing a client wants done, under one key. */
export interface WorkPlan {
  readonly operation: WorkName;
  readonly key: string;
  /** Messages without a group that its transaction enqueues, and those of the group of its account. */
  readonly notes: number;
  readonly entries: number;
  readonly account: string;
  /** Whether it enqueues one that kills whoever handles it. */
  readonly bomb: boolean;
  /** Whether it goes on with a worker. */
  readonly handsOver: boolean;
  /** Of a payment: whether the provider knows its key. */
  readonly rule: 'downstreamKey' | 'reconcile';
  readonly startMs: number;
  readonly retryMs: number;
}

/** All of it. */
export interface WorkersScenario {
  readonly seed: number;
  readonly kind: WorkersHistoryKind;
  /** Faults stop after this. */
  readonly faultTimeMs: number;
  /** Processes of each role. */
  readonly apis: number;
  readonly workers: number;
  readonly reconcilers: number;
  readonly operations: readonly WorkPlan[];
  readonly rates: WorkersRates;
}

/** How often things go wrong. */
export interface WorkersRates extends FaultRates {
  /** Of a shipment whose handler says that it does not know, and of a message that its handler gives up. */
  readonly doubt: number;
}

const NO_DOUBTS: WorkersRates = { ...NO_FAULTS, doubt: 0 };

/** The topics of the application. A process of the code before the deploy has no handler for `entry`, and no operation `report`. */
export const TOPICS = ['note', 'entry', 'ship', 'bomb'] as const;
export type Topic = (typeof TOPICS)[number];

/** In milliseconds. A freeze may last longer than any claim or lease. */
export const CLAIM_TTL_MS = 1_500;
export const LEASE_MS = 1_000;
export const DELIVERY_TIME_MAX_MS = 2_500;
export const CALL_MAX_MS = 300;
export const DELIVERIES_MAX = 4;

/** Draws one. */
export function drawWorkers(seed: number, random: Random): WorkersScenario {
  const kind = random.weighted<WorkersHistoryKind>({ calm: 5, deploy: 20, store: 15, chaos: 60 });
  const faultTimeMs = random.between(1_000, 10_000);
  const rates = drawRates(kind, random);
  const bombs = kind === 'chaos' && random.chance(0.3);
  return {
    seed,
    kind,
    faultTimeMs,
    apis: random.between(1, 2),
    workers: random.between(1, 3),
    reconcilers: random.between(1, 2),
    operations: Array.from({ length: random.between(2, 6) }, (_, i) =>
      drawWork(`k${i}`, faultTimeMs, bombs, random),
    ),
    rates,
  };
}

function drawWork(key: string, faultTimeMs: number, bombs: boolean, random: Random): WorkPlan {
  const operation = random.weighted<WorkName>({ order: 8, report: 2, pay: 2 });
  return {
    operation,
    key,
    notes: random.between(0, 2),
    entries: random.between(0, 2),
    account: random.pick(['a', 'b']),
    bomb: bombs && random.chance(0.4),
    handsOver: operation === 'order' && random.chance(0.7),
    rule: random.pick(['downstreamKey', 'reconcile'] as const),
    startMs: random.between(0, faultTimeMs),
    retryMs: random.pick([50, 300, 1_000]),
  };
}

function drawRates(kind: WorkersHistoryKind, random: Random): WorkersRates {
  if (kind === 'calm') return NO_DOUBTS;
  const maybe = (rate: number): number => (random.chance(0.6) ? rate : 0);
  const provider = maybe(0.3);
  const doubt = random.pick([0, 0.1, 0.6]);
  const store = random.pick([0.05, 0.15, 0.3]);
  switch (kind) {
    case 'deploy':
      return { ...NO_DOUBTS, doubt, provider, slow: maybe(0.2) };
    case 'store':
      return { ...NO_DOUBTS, doubt, provider, store, operator: maybe(0.4) };
    default:
      return {
        ...NO_DOUBTS,
        doubt,
        provider,
        store: maybe(store),
        freeze: maybe(0.3),
        kill: maybe(0.1),
        operator: maybe(0.9),
        hang: maybe(0.05),
        slow: maybe(0.2),
      };
  }
}
