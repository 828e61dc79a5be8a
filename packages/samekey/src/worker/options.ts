/** The worker's options, checked before anything starts. */

import { OptionsError } from '../core/errors.ts';
import { UNKNOWN_MAX_MS } from '../store/machine/index.ts';
import { callListener } from '../core/listener.ts';
import type { MessageStore } from '../store/message.ts';
import {
  aFunction,
  anything,
  byName,
  checkWholeNumber,
  having,
  nestedWithDefaults,
  readOptions,
  type Table,
  trueOrFalse,
  wholeNumber,
} from '../core/options.ts';
import type { Store } from '../store/store.ts';
import type { World } from '../core/world.ts';
import { messagesOf } from '../outbox/outbox.ts';
import { internalsOf, type Samekey, type SamekeyInternals } from '../samekey.ts';
import { systemWorld } from '../system.ts';
import type { MessageHandler } from './delivery.ts';
import type { WorkerEvent } from './worker-events.ts';

/** Places at which a test may stop, race or kill a worker. */
export type WorkerProbePoint =
  | 'take.applied'
  | 'handler.before'
  | 'handler.after'
  | 'note.applied'
  | 'end.before'
  | 'end.applied';

/**
 * How long a failed message waits: doubled with each delivery, and half of it is chance. An unfinished operation is
 * pushed on at once after its first attempt, and waits so after each further one.
 */
export interface BackoffOptions {
  /** After the first failure, in milliseconds; default 1,000. */
  readonly minMs?: number;
  /** At most, in milliseconds; default 600,000. */
  readonly maxMs?: number;
}

/**
 * Options of `createWorker`: `samekey` or `store`, and the handlers. Handlers need a store that keeps messages; without
 * them a worker pushes operations on, on any store.
 */
export interface WorkerOptions {
  /** An instance: its unfinished operations are pushed on too. */
  readonly samekey?: Samekey<never>;
  /** Without an instance: where the messages are. */
  readonly store?: Store;
  /** By topic. Messages of other topics are left to other workers. */
  readonly handlers?: Readonly<Record<string, MessageHandler>>;
  /** Handlers that run at once; default 10. */
  readonly concurrency?: number;
  /** Messages taken in one statement; default `concurrency`. */
  readonly batchSizeMax?: number;
  /**
   * How long a message is a worker's without renewal, in milliseconds; default 30,000. Renewed while the handler runs.
   */
  readonly leaseMs?: number;
  /** How long a handler may run, in milliseconds; default 300,000. */
  readonly deliveryTimeMaxMs?: number;
  /** How often an idle worker looks at the most, in milliseconds; default 1,000. It begins with 25 and doubles. */
  readonly pollMs?: number;
  /** Deliveries of a message before it is given up; default 20. */
  readonly deliveriesMax?: number;
  readonly backoff?: BackoffOptions;
  /** Whether to be woken by the store (LISTEN on a connection of its own); default true. */
  readonly listen?: boolean;
  /** How often claims that are over are ended, in milliseconds; default 10,000. */
  readonly sweepMs?: number;
  /** How often unfinished operations are pushed on, in milliseconds; default 1,000. */
  readonly pushMs?: number;
  /**
   * How long an outcome stays unknown before it fails for good, in milliseconds; default 30 days, the same as a
   * janitor's.
   */
  readonly unknownMaxMs?: number;
  readonly onEvent?: (event: WorkerEvent) => void;
  /** The machine; default `systemWorld()`. For tests. */
  readonly world?: World;
  /** For tests. */
  readonly probe?: (point: WorkerProbePoint, messageId: string) => void | Promise<void>;
}

/** The options with their defaults filled in. */
export interface CheckedWorkerOptions {
  readonly store: Store;
  /** Null: the store keeps none, and nothing is delivered. */
  readonly messages: MessageStore | null;
  readonly internals: SamekeyInternals | null;
  readonly handlers: ReadonlyMap<string, MessageHandler>;
  readonly concurrency: number;
  readonly batchSizeMax: number;
  readonly leaseMs: number;
  readonly deliveryTimeMaxMs: number;
  readonly pollMs: number;
  readonly deliveriesMax: number;
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  readonly listen: boolean;
  readonly sweepMs: number;
  readonly pushMs: number;
  readonly unknownMaxMs: number;
  readonly emit: (event: WorkerEvent) => void;
  readonly world: World;
  readonly probe: WorkerOptions['probe'];
}

/** The options of a worker that delivers. */
export interface DeliveringOptions extends CheckedWorkerOptions {
  readonly messages: MessageStore;
}

const ROWS = {
  samekey: anything<Samekey<never>>(),
  store: anything<Store>(),
  handlers: byName(aFunction<MessageHandler>()),
  concurrency: wholeNumber(1, 10_000, 10),
  batchSizeMax: wholeNumber(1, 10_000),
  leaseMs: wholeNumber(100, undefined, 30_000),
  deliveryTimeMaxMs: wholeNumber(1, undefined, 300_000),
  pollMs: wholeNumber(1, undefined, 1_000),
  deliveriesMax: wholeNumber(1, undefined, 20),
  backoff: nestedWithDefaults({
    minMs: wholeNumber(0, undefined, 1_000),
    maxMs: wholeNumber(0),
  } satisfies Table<BackoffOptions>),
  listen: trueOrFalse(true),
  sweepMs: wholeNumber(1, undefined, 10_000),
  pushMs: wholeNumber(1, undefined, 1_000),
  unknownMaxMs: wholeNumber(1, undefined, UNKNOWN_MAX_MS),
  onEvent: aFunction<(event: WorkerEvent) => void>(),
  world: having<World>(['newClaimId'], 'a world: systemWorld(), or one for tests'),
  probe: aFunction<NonNullable<WorkerOptions['probe']>>(),
} satisfies Table<WorkerOptions>;

/** Fills in defaults. Throws `OptionsError` naming the option. */
export function checkWorkerOptions(options: WorkerOptions): CheckedWorkerOptions {
  const { samekey, store: alone, backoff, onEvent, ...own } = readOptions('createWorker', ROWS, options);
  const internals = samekey === undefined ? null : internalsOf(samekey);
  const store = internals?.store ?? alone;
  if (store === undefined || (samekey !== undefined && alone !== undefined)) {
    throw new OptionsError('createWorker takes either samekey or store; give exactly one of them.');
  }
  const handlers = new Map(Object.entries(own.handlers ?? {}));
  const { minMs, maxMs = Math.max(minMs, 600_000) } = backoff;
  return {
    ...own,
    store,
    world: own.world ?? systemWorld(),
    // Without handlers it only pushes operations on and sweeps, which every store can do.
    messages:
      handlers.size > 0
        ? messagesOf(store)
        : ((store as { readonly messages?: MessageStore }).messages ?? null),
    internals,
    handlers,
    batchSizeMax: own.batchSizeMax ?? own.concurrency,
    backoffMinMs: minMs,
    backoffMaxMs: checkWholeNumber('backoff.maxMs', maxMs, minMs),
    emit(event) {
      // A listener's fault is not the message's.
      if (onEvent !== undefined) callListener(onEvent, [event], () => undefined);
    },
  };
}
