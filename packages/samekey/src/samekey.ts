/**
 * A Samekey instance: an engine on a store, usable without HTTP. Adapters (`samekey/express`, `samekey/fetch` …) take one.
 */

import type { Attempt } from './core/attempt.ts';
import { canonicalJson } from './core/canonical-json.ts';
import { Engine } from './core/engine.ts';
import { KeyError, OptionsError } from './core/errors.ts';
import type { EventListener } from './core/events.ts';
import { checkKey, describeKeyFault } from './core/key.ts';
import { identityOf, otherNames } from './core/operation.ts';
import type { Outcome } from './core/outcome.ts';
import { type Fingerprint, FORMAT_VERSION } from './core/record.ts';
import { type Reply, toResponse, valueOf } from './core/reply.ts';
import { response } from './core/response.ts';
import { encodeScope } from './core/scope.ts';
import {
  OPERATION_OPTIONS,
  type OperationOptions,
  refuseUnknown,
  resolveSettings,
  wholeNumber,
} from './core/settings.ts';
import type { Store } from './core/store.ts';
import type { World } from './core/world.ts';
import { systemWorld } from './system.ts';

/** Options of an instance; those of {@link OperationOptions} are defaults for all its operations. */
export interface SamekeyOptions extends OperationOptions {
  readonly store: Store;
  /** Receives every event, synchronously. */
  readonly onEvent?: EventListener;
  /** How long one call of the store may take, in milliseconds; default 2,000. Then its reply counts as lost. */
  readonly storeTimeMaxMs?: number;
  /** How long an answer waits for its record to be stored before it leaves unstored, in milliseconds; default 2,000. */
  readonly saveTimeMaxMs?: number;
  /** How long the process keeps trying to store such an answer, in milliseconds; default 600,000. */
  readonly saveKeepMaxMs?: number;
  /** How many such answers are kept; default 1,000. */
  readonly saveCountMax?: number;
  /** How many bytes of such answers are kept; default 64 MiB. */
  readonly saveBytesMax?: number;
  /** How many duplicates may wait for attempts of other processes; default 1,000. */
  readonly waitersMax?: number;
  /** Rows in one flush; default 500. */
  readonly batchRowsMax?: number;
  /** Bytes in one flush, roughly; default 4 MiB. */
  readonly batchBytesMax?: number;
  /** The record format to write, while code that reads the newer one is still being deployed; default the newest. */
  readonly writeVersion?: number;
  /** The machine; default `systemWorld()`. For tests. */
  readonly world?: World;
}

/** One request for `samekey.run`. Options of {@link OperationOptions} may be given for it alone. */
export interface RunRequest extends OperationOptions {
  /** The operation's name. */
  readonly operation: string;
  /** Earlier names of the operation, oldest first; never dropped from the list while records of them may live. */
  readonly formerly?: readonly string[];
  /** Whom the key is unique for: tenant, principal; or `singleTenant()`. */
  readonly scope: readonly string[];
  readonly key: string;
  /** What must be equal on a retry: any JSON value, or bytes. `null` for nothing. */
  readonly fingerprint: unknown;
}

/** What `samekey.run` resolves with: the outcome, and the handler's value where there is one. */
export type RunOutcome<Value> =
  | (Extract<Outcome, { kind: 'executed' | 'replay' }> & { readonly value: Value })
  | Exclude<Outcome, { kind: 'executed' | 'replay' }>;

/** An instance. */
export interface Samekey {
  readonly store: Store;
  /**
   * Runs the handler once for this key and gives every matching retry the same value. The handler returns any JSON value or a
   * `reply(status, value)`; what it throws is thrown to its caller after the record was settled by the policy.
   * Throws `KeyError` and `OptionsError` for bad input; every expected outcome is a value.
   */
  run<Value>(
    request: RunRequest,
    handler: (attempt: Attempt) => Promise<Value | Reply<Value>> | Value | Reply<Value>,
  ): Promise<RunOutcome<Value>>;
  /** Checks the store; throws `SchemaError` with the command that mends it. */
  ready(): Promise<void>;
  /**
   * Stops: takes no new claims, lets running attempts end for up to `drainMs` (default 10,000), then leaves the rest to the
   * end of their claims. Resolves with how many were left. The store is closed too; the clients given to it are not.
   */
  close(options?: { readonly drainMs?: number }): Promise<number>;
}

// Registered: an adapter may come from another copy of this package.
const ENGINE: unique symbol = Symbol.for('samekey.engine');

/** What adapters use of an instance. */
export interface SamekeyInternals {
  readonly engine: Engine;
  readonly defaults: OperationOptions;
}

/** The engine behind an instance, for adapters. Throws `OptionsError` for anything else. */
export function internalsOf(samekey: Samekey): SamekeyInternals {
  const internals = (samekey as { [ENGINE]?: SamekeyInternals } | undefined)?.[ENGINE];
  if (internals === undefined)
    throw new OptionsError('This is not a Samekey instance: pass what createSamekey returned.');
  return internals;
}

const INSTANCE_OPTIONS: readonly (keyof SamekeyOptions)[] = [
  ...OPERATION_OPTIONS,
  'store',
  'onEvent',
  'storeTimeMaxMs',
  'saveTimeMaxMs',
  'saveKeepMaxMs',
  'saveCountMax',
  'saveBytesMax',
  'waitersMax',
  'batchRowsMax',
  'batchBytesMax',
  'writeVersion',
  'world',
];
const RUN_OPTIONS: readonly string[] = [
  ...OPERATION_OPTIONS,
  'operation',
  'formerly',
  'scope',
  'key',
  'fingerprint',
];
const MIB = 1024 * 1024;

/** Makes an instance. Options are checked here; unknown ones are refused. Throws `OptionsError`. */
export function createSamekey(options: SamekeyOptions): Samekey {
  refuseUnknown('createSamekey', options, INSTANCE_OPTIONS);
  const { store } = options;
  if (typeof store?.claim !== 'function') {
    throw new OptionsError('createSamekey needs a store: memoryStore(), sqliteStore({ database }) …');
  }
  const world = options.world ?? systemWorld();
  const engine = new Engine({
    store,
    world,
    onEvent: options.onEvent ?? null,
    callTimeMaxMs: wholeNumber('storeTimeMaxMs', options.storeTimeMaxMs ?? 2_000, 1),
    saveTimeMaxMs: wholeNumber('saveTimeMaxMs', options.saveTimeMaxMs ?? 2_000, 1),
    saveKeepMaxMs: wholeNumber('saveKeepMaxMs', options.saveKeepMaxMs ?? 600_000, 0),
    saveCountMax: wholeNumber('saveCountMax', options.saveCountMax ?? 1_000, 0),
    saveBytesMax: wholeNumber('saveBytesMax', options.saveBytesMax ?? 64 * MIB, 0),
    waitersMax: wholeNumber('waitersMax', options.waitersMax ?? 1_000, 0),
    batchRowsMax: wholeNumber('batchRowsMax', options.batchRowsMax ?? 500, 1),
    batchBytesMax: wholeNumber('batchBytesMax', options.batchBytesMax ?? 4 * MIB, 1),
    writeVersion: wholeNumber('writeVersion', options.writeVersion ?? FORMAT_VERSION, 1, FORMAT_VERSION),
  });
  const defaults: OperationOptions = Object.fromEntries(
    OPERATION_OPTIONS.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  );
  // Checked now, so that a wrong default is found at start; an instance without a policy is fine until something runs.
  resolveSettings({ policy: 'standard', ...defaults }, {});

  const samekey: Samekey & { readonly [ENGINE]: SamekeyInternals } = {
    [ENGINE]: { engine, defaults },
    store,
    ready: () => store.ready(),
    async close({ drainMs = 10_000 } = {}) {
      const left = await engine.close(wholeNumber('drainMs', drainMs, 0));
      await store.close();
      return left;
    },
    run: (request, handler) => run(engine, defaults, request, handler),
  };
  return Object.freeze(samekey);
}

async function run<Value>(
  engine: Engine,
  defaults: OperationOptions,
  request: RunRequest,
  handler: (attempt: Attempt) => Promise<Value | Reply<Value>> | Value | Reply<Value>,
): Promise<RunOutcome<Value>> {
  refuseUnknown('samekey.run', request, RUN_OPTIONS);
  const settings = resolveSettings(defaults, request);
  const fault = checkKey(request.key);
  if (fault !== null) throw new KeyError(fault, describeKeyFault(fault));
  const names = { name: request.operation, formerly: request.formerly ?? [] };
  const idOf = (name: string): { scope: string; key: string } => ({
    scope: encodeScope(request.scope, name),
    key: request.key,
  });
  const fingerprint: Fingerprint = {
    label: RUN_LABEL,
    digest: await digestOf(engine.world, request.fingerprint),
  };
  const outcome = await engine.run(
    {
      operation: request.operation,
      id: idOf(identityOf(names)),
      otherIds: otherNames(names).map(idOf),
      fingerprint,
      refingerprint: () => undefined,
      settings,
    },
    {
      async start(attempt) {
        try {
          return { kind: 'answered', response: toResponse(await handler(attempt)) };
        } catch (error) {
          return { kind: 'threw', error, response: response(500) };
        }
      },
    },
  );
  if (outcome.kind === 'executed') {
    // The record is settled; whoever called gets what its handler threw.
    if (outcome.error !== null) throw outcome.error.thrown;
    return { ...outcome, value: valueOf(outcome.response) as Value };
  }
  return outcome.kind === 'replay' ? { ...outcome, value: valueOf(outcome.response) as Value } : outcome;
}

/** Names how `samekey.run` makes its fingerprints. */
const RUN_LABEL = 'run1';

/** A leading byte tells the two forms apart, so that bytes never equal a value. */
const VALUE_FORM = 1;
const BYTES_FORM = 2;

function digestOf(world: World, fingerprint: unknown): string | Promise<string> {
  if (fingerprint instanceof Uint8Array) return world.sha256(withForm(BYTES_FORM, fingerprint));
  const text: string | undefined = JSON.stringify(fingerprint);
  if (text === undefined) {
    throw new OptionsError(
      'The fingerprint must be a JSON value or bytes; null says that nothing is compared.',
    );
  }
  const encoder = new TextEncoder();
  const canonical = canonicalJson(encoder.encode(text));
  if (canonical.kind !== 'canonical') {
    throw new OptionsError(
      `The fingerprint cannot be compared (${canonical.kind}): pass a smaller JSON value, or bytes.`,
    );
  }
  return world.sha256(withForm(VALUE_FORM, encoder.encode(canonical.text)));
}

function withForm(form: number, bytes: Uint8Array): Uint8Array {
  const marked = new Uint8Array(bytes.length + 1);
  marked[0] = form;
  marked.set(bytes, 1);
  return marked;
}
