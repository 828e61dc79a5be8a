/**
 * The machines of an installation: APIs, workers that deliver and push operations on, and reconcilers, each with a clock, chance, timers and a
 * connection of its own. They freeze, die and are replaced; in a deploy some run older code.
 */

import { createOutbox } from 'samekey/internals/outbox/index';
import { createJanitor } from 'samekey/internals/janitor/index';
import { createReconciler, type Reconciler } from 'samekey/internals/reconcile/index';
import { createSamekey } from 'samekey/internals/samekey';
import type { MemoryStore } from 'samekey/internals/stores/memory/index';
import { fromMemory } from 'samekey/internals/tx/memory/index';
import { createWorker } from 'samekey/internals/worker/index';
import { FAKE_WALL_START, type FakeWorld, fakeWorld } from '../fake-world.ts';
import { shown } from '../simulator/context.ts';
import { CALL_TIME_MAX_MS } from '../simulator/scenario.ts';
import { type Application, application } from './application.ts';
import { connect } from './connection.ts';
import type { WorkersContext } from './context.ts';
import { handlersOf } from './handlers.ts';
import { inquiriesOf } from './inquiries.ts';
import { CALL_MAX_MS, CLAIM_TTL_MS, DELIVERIES_MAX, DELIVERY_TIME_MAX_MS, LEASE_MS } from './scenario.ts';

/** What a machine is there for. */
export type Role = 'api' | 'worker' | 'reconciler';

/** A machine. */
export interface Machine {
  readonly name: string;
  readonly role: Role;
  readonly world: FakeWorld;
  /** Whether it runs the code after the deploy. */
  readonly isNew: boolean;
  readonly application: Application;
  /** Of a reconciler: where webhooks come in. */
  readonly reconciler: Reconciler | null;
}

/** Starts one; its name is never used again. */
export function startMachine(context: WorkersContext, role: Role, isNew: boolean): Machine {
  const { timeline, random, machines } = context;
  const world = fakeWorld({
    name: `${role}${(context.machineCount += 1)}`,
    timeline,
    random,
    digest: 'fast',
    wallStart: FAKE_WALL_START + random.between(-10, 10) * 3_600_000,
    monotonicStart: random.next() * 1e6,
  });
  const store = connect(context, world);
  const samekey = createSamekey({
    store,
    world,
    transactions: fromMemory(store),
    claimTtlMs: CLAIM_TTL_MS,
    attemptMax: 1_000,
    reconcileAfterMs: 500,
    storeTimeMaxMs: CALL_TIME_MAX_MS,
    saveTimeMaxMs: 300,
    onEvent(event) {
      if (event.type !== 'store-call')
        context.trace('id' in event ? event.id : null, () => `${world.name} event ${shown(event)}`);
    },
  });
  const own = { context, world, isNew, samekey, outbox: createOutbox({ store, world }) };
  const machine: Machine = {
    name: world.name,
    role,
    world,
    isNew,
    application: application(own),
    reconciler: role === 'reconciler' ? startReconciler(context, world, store) : null,
  };
  if (role === 'worker') {
    createWorker({
      samekey,
      world,
      handlers: handlersOf(context, machine),
      concurrency: random.pick([1, 2, 5]),
      leaseMs: LEASE_MS,
      deliveryTimeMaxMs: DELIVERY_TIME_MAX_MS,
      deliveriesMax: DELIVERIES_MAX,
      pollMs: 200,
      backoff: { minMs: 20, maxMs: 400 },
      sweepMs: 700,
      pushMs: 300,
      onEvent(event) {
        if (event.type !== 'janitor-run') context.trace(null, () => `${world.name} event ${shown(event)}`);
        context.auditor.event(world.name, event);
      },
    }).start();
  }
  machines.push(machine);
  context.trace(null, () => `${world.name} starts, with ${isNew ? 'new' : 'old'} code`);
  return machine;
}

function startReconciler(context: WorkersContext, world: FakeWorld, store: MemoryStore): Reconciler {
  const reconciler = createReconciler({
    store,
    world,
    operations: inquiriesOf(context, world),
    actor: world.name,
    backoff: { minMs: 300, maxMs: 3_000 },
    inquiryTimeMaxMs: CALL_MAX_MS * 2,
    leaseMs: 1_500,
    pollMs: 500,
    onEvent: (event) => context.trace(null, () => `${world.name} event ${shown(event)}`),
  });
  reconciler.start();
  createJanitor({ store, world, sweepMs: 900, reapMs: 5_000 }).start();
  return reconciler;
}
