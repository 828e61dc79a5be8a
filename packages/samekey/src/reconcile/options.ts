/** The reconciler's options, checked before anything starts. */

import { OptionsError } from '../core/errors.ts';
import { callListener } from '../core/listener.ts';
import type { RecordId, SamekeyRecord } from '../core/record.ts';
import {
  aFunction,
  anything,
  byName,
  checkWholeNumber,
  having,
  nested,
  nestedWithDefaults,
  orNull,
  readOptions,
  required,
  type Table,
  text,
  trueOrFalse,
  wholeNumber,
} from '../core/options.ts';
import type { Store } from '../store/store.ts';
import type { World } from '../core/world.ts';
import { internalsOf, type Samekey, type SamekeyInternals } from '../samekey.ts';
import { systemWorld } from '../system.ts';
import type { OpenEffect } from './effect-of.ts';
import type { ReconcileEvent } from './reconcile-events.ts';
import type { CallRule } from './no-effect.ts';
import type { Verdict } from './verdict.ts';

/** What a question is told. */
export interface Inquiry {
  /** How often this outcome has been asked about, this time included. */
  readonly inquiry: number;
  /**
   * How long ago the call was made at the most, by the store's clock, in milliseconds: the provider may have forgotten
   * it.
   */
  readonly callAgeMs: number;
  /** The phased operation's effect that is open; null for the other ways. */
  readonly effect: OpenEffect | null;
  /** Aborted at `inquiryTimeMaxMs`, and when the reconciler stops. */
  readonly signal: AbortSignal;
}

/** How the outcomes of one operation are found out. */
export interface ReconcileOperation {
  /**
   * Asks the provider what became of an attempt. May be called more than once for one outcome; changes nothing there.
   */
  readonly inquire: (record: SamekeyRecord, inquiry: Inquiry) => Promise<Verdict>;
  /**
   * How long a call to the provider may be under way after its claim has ended, in milliseconds; default 60,000, and
   * never less than what an effect says of its call. "No effect" does not count earlier.
   */
  readonly callTimeMaxMs?: number;
  /**
   * Every call carries a key that is the same in each attempt, and under which the provider makes one payment only.
   * Default false: then "no effect" counts only if the owner told its own end. Effects of the rule `downstreamKey` are
   * known to carry one.
   */
  readonly downstreamKey?: boolean;
  /**
   * How long the provider remembers what it is asked by, in milliseconds: "no effect" does not count later. Null: for
   * ever, as it remembers references. Default: what an effect of the rule `downstreamKey` says; else 24 hours with
   * `downstreamKey`, null without.
   */
  readonly retentionMs?: number | null;
}

/** Places at which a test may stop, race or kill a reconciler. */
export type ReconcileProbePoint = 'take.applied' | 'inquire.before' | 'inquire.after' | 'settle.applied';

/** Options of `createReconciler`: `samekey` or `store`, and the operations. */
export interface ReconcilerOptions {
  /** An instance: former names of its operations are known too. */
  readonly samekey?: Samekey<never>;
  readonly store?: Store;
  /** By name. Outcomes of other operations are left to other reconcilers, and to operators. */
  readonly operations: Readonly<Record<string, ReconcileOperation>>;
  /** How long a question waits that got no answer, doubled each time: from 30,000 to 3,600,000 ms. */
  readonly backoff?: { readonly minMs?: number; readonly maxMs?: number };
  /** Questions about one outcome before it is left to an operator; default 50, about two days. */
  readonly inquiriesMax?: number;
  /** Questions at once; default 10. */
  readonly concurrency?: number;
  /** How long an outcome is this reconciler's, in milliseconds; default 60,000. More than a question takes. */
  readonly leaseMs?: number;
  /** How often it looks for what is due, in milliseconds; default 10,000. */
  readonly pollMs?: number;
  /** How long a question may take, in milliseconds; default 20,000. */
  readonly inquiryTimeMaxMs?: number;
  /** Records looked through for a webhook that names none; default 10,000. */
  readonly lookupMax?: number;
  /** Who settles, for the audit; default `reconciler`. */
  readonly actor?: string;
  readonly onEvent?: (event: ReconcileEvent) => void;
  /** For tests. */
  readonly world?: World;
  readonly probe?: (point: ReconcileProbePoint, id: RecordId) => void | Promise<void>;
}

/** How an operation is asked about, with its defaults. */
export type CheckedOperation = CallRule & Pick<ReconcileOperation, 'inquire'>;

/** The options with their defaults filled in. */
export interface CheckedReconcilerOptions {
  readonly store: Store;
  readonly world: World;
  /** By every name that records may have. */
  readonly operations: ReadonlyMap<string, CheckedOperation>;
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  readonly inquiriesMax: number;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly inquiryTimeMaxMs: number;
  readonly lookupMax: number;
  readonly actor: string;
  readonly emit: (event: ReconcileEvent) => void;
  readonly probe: (point: ReconcileProbePoint, id: RecordId) => Promise<void>;
}

const OPERATION_ROWS = {
  inquire: required(aFunction<ReconcileOperation['inquire']>()),
  callTimeMaxMs: wholeNumber(0, undefined, 60_000),
  downstreamKey: trueOrFalse(false),
  retentionMs: orNull(wholeNumber(1)),
} satisfies Table<ReconcileOperation>;

const NO_OPERATIONS =
  'createReconciler needs operations: { [name]: { inquire } }, one for each whose outcomes it can find out.';

const ROWS = {
  samekey: anything<Samekey<never>>(),
  store: anything<Store>(),
  operations: required(byName(nested(OPERATION_ROWS)), NO_OPERATIONS),
  backoff: nestedWithDefaults({
    minMs: wholeNumber(1, undefined, 30_000),
    maxMs: wholeNumber(1),
  } satisfies Table<NonNullable<ReconcilerOptions['backoff']>>),
  inquiriesMax: wholeNumber(1, undefined, 50),
  concurrency: wholeNumber(1, 1_000, 10),
  leaseMs: wholeNumber(1),
  pollMs: wholeNumber(1, undefined, 10_000),
  inquiryTimeMaxMs: wholeNumber(1, undefined, 20_000),
  lookupMax: wholeNumber(1, undefined, 10_000),
  // It stands in the audit.
  actor: text('reconciler'),
  onEvent: aFunction<(event: ReconcileEvent) => void>(),
  world: having<World>(['monotonicNow', 'setTimer'], 'a world: systemWorld(), or one for tests'),
  probe: aFunction<NonNullable<ReconcilerOptions['probe']>>(),
} satisfies Table<ReconcilerOptions>;

/** Fills in defaults. Throws `OptionsError` naming the option. */
export function checkReconcilerOptions(options: ReconcilerOptions): CheckedReconcilerOptions {
  const {
    samekey,
    store: alone,
    backoff,
    onEvent,
    probe,
    ...own
  } = readOptions('createReconciler', ROWS, options);
  const internals = samekey === undefined ? null : internalsOf(samekey);
  const store = internals?.store ?? alone;
  if (store === undefined || (samekey !== undefined && alone !== undefined)) {
    throw new OptionsError('createReconciler takes either samekey or store; give exactly one of them.');
  }
  const { inquiryTimeMaxMs } = own;
  const { minMs, maxMs = Math.max(minMs, 3_600_000) } = backoff;
  return {
    ...own,
    store,
    world: own.world ?? internals?.engine.world ?? systemWorld(),
    operations: namedOperations(own.operations, internals),
    backoffMinMs: minMs,
    backoffMaxMs: checkWholeNumber('backoff.maxMs', maxMs, minMs),
    // Else another one asks about it while this one still does.
    leaseMs: checkWholeNumber(
      `leaseMs (inquiryTimeMaxMs is ${inquiryTimeMaxMs})`,
      own.leaseMs ?? Math.max(60_000, inquiryTimeMaxMs * 2),
      inquiryTimeMaxMs + 1,
    ),
    emit(event) {
      if (onEvent !== undefined) callListener(onEvent, [event], () => undefined);
    },
    async probe(point, id) {
      if (probe !== undefined) await probe(point, id);
    },
  };
}

function namedOperations(
  given: Readonly<Record<string, ReconcileOperation>>,
  internals: SamekeyInternals | null,
): ReadonlyMap<string, CheckedOperation> {
  const operations = new Map<string, CheckedOperation>();
  for (const [name, operation] of Object.entries(given)) {
    const { retentionMs, ...others } = readOptions(`The operation "${name}"`, OPERATION_ROWS, operation);
    const known = internals?.operations.get(name);
    for (const one of [name, known?.names.name ?? name, ...(known?.names.formerly ?? [])])
      operations.set(one, { ...others, retentionMs });
  }
  if (operations.size === 0) throw new OptionsError(NO_OPERATIONS);
  return operations;
}
