/** The janitor's options, checked before anything starts. */

import { OptionsError } from '../core/errors.ts';
import { callListener } from '../core/listener.ts';
import { UNKNOWN_MAX_MS } from '../store/machine/index.ts';
import type { MessageStore } from '../store/message.ts';
import {
  aFunction,
  anything,
  having,
  orNull,
  readOptions,
  type Table,
  wholeNumber,
} from '../core/options.ts';
import type { Store } from '../store/store.ts';
import type { World } from '../core/world.ts';
import { internalsOf, type Samekey } from '../samekey.ts';
import { systemWorld } from '../system.ts';
import type { JanitorEvent } from './janitor-events.ts';
import type { AuditRetention } from './pruner.ts';

/** Options of `createJanitor`: `samekey` or `store`. */
export interface JanitorOptions extends Partial<AuditRetention> {
  readonly samekey?: Samekey<never>;
  readonly store?: Store;
  /** How often claims that are over are ended, in milliseconds; default 10,000. */
  readonly sweepMs?: number;
  /** How often expired records are looked for, in milliseconds; default 60,000. */
  readonly reapMs?: number;
  /** Records in one batch; default 500. */
  readonly batchSizeMax?: number;
  /** How long an outcome stays unknown before its record fails for good, in milliseconds; default 30 days. */
  readonly unknownMaxMs?: number;
  /** How long `run()` may take, in milliseconds; default 600,000. */
  readonly runTimeMaxMs?: number;
  readonly onEvent?: (event: JanitorEvent) => void;
  /** The machine; default `systemWorld()`. For tests. */
  readonly world?: World;
}

/** The options with their defaults filled in. */
interface CheckedJanitorOptions
  extends Required<Omit<JanitorOptions, 'samekey' | 'store' | 'onEvent'>>,
    AuditRetention {
  readonly store: Store;
  /** Null: the store keeps none. */
  readonly messages: MessageStore | null;
  readonly emit: (event: JanitorEvent) => void;
}

const ROWS = {
  samekey: anything<Samekey<never>>(),
  store: anything<Store>(),
  sweepMs: wholeNumber(1, undefined, 10_000),
  reapMs: wholeNumber(1, undefined, 60_000),
  batchSizeMax: wholeNumber(1, 10_000, 500),
  unknownMaxMs: wholeNumber(1, undefined, UNKNOWN_MAX_MS),
  auditRetentionMs: orNull(wholeNumber(0, undefined, null)),
  transitionRetentionMs: orNull(wholeNumber(0, undefined, null)),
  runTimeMaxMs: wholeNumber(1, undefined, 600_000),
  onEvent: aFunction<(event: JanitorEvent) => void>(),
  world: having<World>(['newClaimId'], 'a world: systemWorld(), or one for tests'),
} satisfies Table<JanitorOptions>;

/** Fills in defaults. Throws `OptionsError` naming the option. */
export function checkJanitorOptions(options: JanitorOptions): CheckedJanitorOptions {
  const { samekey, store: alone, onEvent, ...own } = readOptions('createJanitor', ROWS, options);
  const store = samekey === undefined ? alone : internalsOf(samekey).store;
  if (store === undefined || (samekey !== undefined && alone !== undefined)) {
    throw new OptionsError('createJanitor takes either samekey or store; give exactly one of them.');
  }
  return {
    ...own,
    store,
    world: own.world ?? systemWorld(),
    messages: (store as { readonly messages?: MessageStore }).messages ?? null,
    emit(event) {
      // A listener's fault is not the janitor's.
      if (onEvent !== undefined) callListener(onEvent, [event], () => undefined);
    },
  };
}
