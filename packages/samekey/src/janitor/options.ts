/** The janitor's options, checked before anything starts. */

import { OptionsError } from '../core/errors.ts';
import { callListener } from '../core/listener.ts';
import { UNKNOWN_MAX_MS } from '../core/machine.ts';
import type { MessageStore } from '../core/message.ts';
import { refuseUnknown, wholeNumber } from '../core/settings.ts';
import type { Store } from '../core/store.ts';
import { internalsOf, type Samekey } from '../samekey.ts';
import type { JanitorEvent } from './events.ts';
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
}

/** The options with their defaults filled in. */
export interface CheckedJanitorOptions
  extends Required<Omit<JanitorOptions, 'samekey' | 'store' | 'onEvent'>>,
    AuditRetention {
  readonly store: Store;
  /** Null: the store keeps none. */
  readonly messages: MessageStore | null;
  readonly emit: (event: JanitorEvent) => void;
}

const NAMES: readonly (keyof JanitorOptions)[] = [
  'samekey',
  'store',
  'sweepMs',
  'reapMs',
  'batchSizeMax',
  'unknownMaxMs',
  'auditRetentionMs',
  'transitionRetentionMs',
  'runTimeMaxMs',
  'onEvent',
];

/** Fills in defaults. Throws `OptionsError` naming the option. */
export function checkJanitorOptions(options: JanitorOptions): CheckedJanitorOptions {
  refuseUnknown('createJanitor', options ?? {}, NAMES);
  const { samekey, onEvent, auditRetentionMs = null, transitionRetentionMs = null } = options;
  const store = samekey === undefined ? options.store : internalsOf(samekey).store;
  if (store === undefined || (samekey !== undefined && options.store !== undefined)) {
    throw new OptionsError('createJanitor takes either samekey or store; give exactly one of them.');
  }
  return {
    store,
    messages: (store as { readonly messages?: MessageStore }).messages ?? null,
    sweepMs: wholeNumber('sweepMs', options.sweepMs ?? 10_000, 1),
    reapMs: wholeNumber('reapMs', options.reapMs ?? 60_000, 1),
    batchSizeMax: wholeNumber('batchSizeMax', options.batchSizeMax ?? 500, 1, 10_000),
    unknownMaxMs: wholeNumber('unknownMaxMs', options.unknownMaxMs ?? UNKNOWN_MAX_MS, 1),
    auditRetentionMs: orNull('auditRetentionMs', auditRetentionMs),
    transitionRetentionMs: orNull('transitionRetentionMs', transitionRetentionMs),
    runTimeMaxMs: wholeNumber('runTimeMaxMs', options.runTimeMaxMs ?? 600_000, 1),
    emit(event) {
      // A listener's fault is not the janitor's.
      if (onEvent !== undefined) callListener(onEvent, [event], () => undefined);
    },
  };
}

function orNull(name: string, value: number | null): number | null {
  return value === null ? null : wholeNumber(name, value, 0);
}
