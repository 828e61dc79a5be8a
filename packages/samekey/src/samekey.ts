/**
 * A Samekey instance: an engine on a store, usable without HTTP. Adapters (`samekey/express`, `samekey/fetch` …) take
 * one.
 */

import type { Attempt } from './engine/attempt.ts';
import { type Comparable, comparableBytes } from './fingerprint/digest.ts';
import { Engine } from './engine/engine.ts';
import { OptionsError } from './core/errors.ts';
import type { EventListener } from './engine/events.ts';
import { type FingerprintSecrets, SECRETS_ROW } from './fingerprint/fingerprint.ts';
import {
  aFunction,
  anything,
  having,
  readOptions,
  refuseOthers,
  required,
  type Table,
  text,
  wholeNumber,
} from './core/options.ts';
import { FORMAT_VERSION, REPLAY_TRUST_MAX_MS } from './core/record.ts';
import { isProduction } from './ways/unprotected-fetch.ts';
import type { Reply, ReplyValue } from './ways/reply.ts';
import {
  OPERATION_OPTIONS,
  OPERATION_ROWS,
  type OperationOptions,
  type OperationSettings,
  resolveSettings,
  settingsOfRequests,
} from './core/settings.ts';
import { SCHEMA_ROW, type StandardSchema, validate } from './core/schema.ts';
import type { Store } from './store/store.ts';
import type { TransactionalStore, TransactionSource } from './store/transaction.ts';
import type { Transactions } from './ways/commit.ts';
import type { World } from './core/world.ts';
import { systemWorld } from './system.ts';
import {
  type DirectRequest,
  formerRequests,
  meetInvalid,
  requestObject,
  type RunOutcome,
  runDirect,
} from './ways/direct.ts';
import { type Operation, type OperationInternals, operationInternals } from './ways/define-operation.ts';
import { outright } from './ways/outright.ts';
import { defer, type DeferredOptions } from './ways/deferred.ts';
import { definePhased, type PhasedDefinition } from './ways/phased.ts';
import { definePlain, type PlainDefinition } from './ways/plain.ts';
import { defineTransactional, type TransactionalDefinition } from './ways/transactional.ts';

/** Options of an instance; those of {@link OperationOptions} are defaults for all its operations. */
export interface SamekeyOptions<Tx = unknown> extends OperationOptions {
  readonly store: Store;
  /**
   * Where your own transactions come from: `fromPg(pool)`, `fromKysely(db)`, `fromSqlite(store)` … The store must be in
   * the same database. Needed by `transactional` and `phased`.
   */
  readonly transactions?: TransactionSource<Tx, unknown>;
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
  /**
   * How many bytes of answers are kept while they stream through, of all of them together; default 64 MiB. An answer
   * that finds no room is streamed without being kept, and the event `stream-not-kept` tells of it.
   */
  readonly keptBytesMax?: number;
  /** How many duplicates may wait for attempts of other processes; default 1,000. */
  readonly waitersMax?: number;
  /**
   * Bytes of final answers that are replayed from memory for a moment; default 32 MiB, 0 asks the store each time.
   */
  readonly replayCacheBytesMax?: number;
  /** How long such an answer is trusted before the store is asked again, in milliseconds; default and most 5,000. */
  readonly replayCacheTimeMaxMs?: number;
  /** Rows in one flush; default 500. */
  readonly batchRowsMax?: number;
  /** Bytes in one flush, roughly; default 4 MiB. */
  readonly batchBytesMax?: number;
  /** The record format to write, while code that reads the newer one is still being deployed; default the newest. */
  readonly writeVersion?: number;
  /**
   * Secrets for fingerprints (HMAC-SHA-256 instead of SHA-256): of `run` and operations, and of routes that name none
   * of their own. Records made without are still compared. Default none.
   */
  readonly fingerprintSecrets?: FingerprintSecrets;
  /** The machine; default `systemWorld()`. For tests. */
  readonly world?: World;
}

/** One request for `samekey.run`. Options of {@link OperationOptions} may be given for it alone. */
export interface RunRequest extends OperationOptions, DirectRequest {
  /** The operation's name. */
  readonly operation: string;
  /**
   * What `fingerprint` must be, of any library that speaks Standard Schema. What is invalid claims nothing: outcome
   * `request-invalid`.
   */
  readonly schema?: StandardSchema;
}

/** An instance. */
export interface Samekey<Tx = unknown> {
  readonly store: Store;
  /**
   * Runs the handler once for this key and gives every matching retry the same value. The handler returns any JSON
   * value or a `reply(status, value)`; what it throws is thrown to its caller after the record was settled by the
   * policy. What it cannot store of an answer is told as `response-not-stored`, once and for ever. Throws `KeyError`,
   * `ValueError` and `OptionsError` for bad input; every expected outcome is a value.
   */
  run<Value>(
    request: RunRequest,
    handler: (attempt: Attempt) => Promise<Value | Reply<Value>> | Value | Reply<Value>,
  ): Promise<RunOutcome<Value>>;
  /**
   * Defines an operation whose handler runs in your own transaction: its writes and the completion of the key commit
   * together. Throws `OptionsError`.
   */
  transactional<Input, Returned>(
    definition: TransactionalDefinition<Input, Returned, Tx>,
  ): Operation<Input, ReplyValue<Returned>>;
  /**
   * Defines an operation of several steps: phases, which commit in your own transactions, and effects, which are calls
   * to the outside. A later attempt goes on where the last one stopped. Throws `OptionsError`.
   */
  phased<Input, Returned>(
    definition: PhasedDefinition<Input, Returned, Tx>,
  ): Operation<Input, ReplyValue<Returned>>;
  /**
   * Defines an operation in the plain way: a handler from an input to a reply, without transactions. Throws
   * `OptionsError`.
   */
  plain<Input, Returned>(
    definition: PlainDefinition<Input, Returned>,
  ): Operation<Input, ReplyValue<Returned>>;
  /**
   * Leaves an operation's work to a worker: a request is only noted, with its input, and answered `pending` (202). The
   * worker runs it in its own way. Takes what `plain`, `transactional` or `phased` returned. Throws `OptionsError`.
   */
  deferred<Input, Value>(
    operation: Operation<Input, Value>,
    options?: DeferredOptions,
  ): Operation<Input, Value>;
  /** Checks the store; throws `SchemaError` with the command that mends it. */
  ready(): Promise<void>;
  /**
   * Stops: takes no new claims, gives back those under which nothing ran, lets running attempts end for up to `drainMs`
   * (default 10,000), then leaves the rest to the end of their claims. Resolves with how many were left. The store is
   * closed too; the clients given to it are not.
   */
  close(options?: { readonly drainMs?: number }): Promise<number>;
}

// Registered: an adapter may come from another copy of this package.
const ENGINE: unique symbol = Symbol.for('samekey.engine');

/** What adapters use of an instance. */
export interface SamekeyInternals {
  readonly engine: Engine;
  readonly defaults: OperationOptions;
  readonly store: Store;
  /** What was defined, by name and former names. */
  readonly operations: ReadonlyMap<string, OperationInternals<unknown>>;
}

/** The engine behind an instance, for adapters. Throws `OptionsError` for anything else. */
export function internalsOf(samekey: Samekey<never>): SamekeyInternals {
  const internals = (samekey as { [ENGINE]?: SamekeyInternals } | undefined)?.[ENGINE];
  if (internals === undefined)
    throw new OptionsError('This is not a Samekey instance: pass what createSamekey returned.');
  return internals;
}

const MIB = 1024 * 1024;

const INSTANCE_ROWS = {
  ...OPERATION_ROWS,
  store: required(
    having<Store>(['claim', 'ready'], 'a store: memoryStore(), sqliteStore({ service, database }) …'),
    'createSamekey needs a store: memoryStore(), sqliteStore({ service, database }) …',
  ),
  transactions: having<TransactionSource<never, unknown>>(
    ['run'],
    'made by fromPg, fromKysely, fromSqlite …',
  ),
  onEvent: aFunction(),
  storeTimeMaxMs: wholeNumber(1, undefined, 2_000),
  saveTimeMaxMs: wholeNumber(1, undefined, 2_000),
  saveKeepMaxMs: wholeNumber(0, undefined, 600_000),
  saveCountMax: wholeNumber(0, undefined, 1_000),
  saveBytesMax: wholeNumber(0, undefined, 64 * MIB),
  keptBytesMax: wholeNumber(0, undefined, 64 * MIB),
  waitersMax: wholeNumber(0, undefined, 1_000),
  replayCacheBytesMax: wholeNumber(0, undefined, 32 * MIB),
  replayCacheTimeMaxMs: wholeNumber(0, REPLAY_TRUST_MAX_MS, REPLAY_TRUST_MAX_MS),
  batchRowsMax: wholeNumber(1, undefined, 500),
  batchBytesMax: wholeNumber(1, undefined, 4 * MIB),
  writeVersion: wholeNumber(1, FORMAT_VERSION, FORMAT_VERSION),
  fingerprintSecrets: SECRETS_ROW,
  world: having<World>(['monotonicNow', 'setTimer'], 'a world: systemWorld(), or one of your own for tests'),
} satisfies Table<SamekeyOptions<never>>;

/** The names of {@link SamekeyOptions}. */
export const INSTANCE_OPTIONS: readonly string[] = Object.keys(INSTANCE_ROWS);

const RUN_ROWS = {
  ...OPERATION_ROWS,
  operation: required(text()),
  formerly: anything<NonNullable<RunRequest['formerly']>>(),
  scope: required(anything<readonly string[]>()),
  key: required(anything<string>()),
  fingerprint: required(anything<Comparable>()),
  schema: SCHEMA_ROW,
} satisfies Table<RunRequest>;

const CLOSE_ROWS = { drainMs: wholeNumber(0, undefined, 10_000) } satisfies Table<{
  readonly drainMs?: number;
}>;

/** Makes an instance. Options are checked here; unknown ones are refused. Throws `OptionsError`. */
export function createSamekey<Tx = unknown>(options: SamekeyOptions<Tx>): Samekey<Tx> {
  const own = readOptions('createSamekey', INSTANCE_ROWS, options);
  const { store } = options;
  const world = own.world ?? systemWorld();
  const engine = new Engine({
    store,
    world,
    onEvent: own.onEvent ?? null,
    callTimeMaxMs: own.storeTimeMaxMs,
    saveTimeMaxMs: own.saveTimeMaxMs,
    saveKeepMaxMs: own.saveKeepMaxMs,
    saveCountMax: own.saveCountMax,
    saveBytesMax: own.saveBytesMax,
    keptBytesMax: own.keptBytesMax,
    waitersMax: own.waitersMax,
    replayCacheBytesMax: own.replayCacheBytesMax,
    replayCacheTimeMaxMs: own.replayCacheTimeMaxMs,
    batchRowsMax: own.batchRowsMax,
    batchBytesMax: own.batchBytesMax,
    writeVersion: own.writeVersion,
    readVersion: FORMAT_VERSION,
    fingerprintSecrets: own.fingerprintSecrets ?? null,
  });
  tellUnfit(engine, store);
  const transactions = transactionsFor(store, options.transactions);
  const defaults: OperationOptions = Object.fromEntries(
    OPERATION_OPTIONS.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  );
  // Checked now, so that a wrong default is found at start; an instance without a policy is fine until something runs.
  resolveSettings({ policy: 'standard', ...defaults }, {});

  const settingsOf = settingsOfRequests(defaults);

  const operations = new Map<string, OperationInternals<unknown>>();
  function register<Input, Value>(operation: Operation<Input, Value>): Operation<Input, Value> {
    const internals = operationInternals<unknown>(operation);
    for (const name of [internals.names.name, ...(internals.names.formerly ?? [])]) {
      if (operations.has(name)) throw new OptionsError(`The operation "${name}" is defined twice.`);
      operations.set(name, internals);
    }
    return operation;
  }

  /** Workers are to know it as what keeps its input. */
  function replace<Input, Value>(operation: Operation<Input, Value>): Operation<Input, Value> {
    const internals = operationInternals<unknown>(operation);
    for (const name of [internals.names.name, ...(internals.names.formerly ?? [])]) {
      if (operations.get(name)?.engine !== engine) {
        throw new OptionsError(`The operation "${name}" was defined by another instance: defer it there.`);
      }
      operations.set(name, internals);
    }
    return operation;
  }

  const samekey: Samekey<Tx> & { readonly [ENGINE]: SamekeyInternals } = {
    [ENGINE]: { engine, defaults, store, operations },
    store,
    ready: () => store.ready(),
    async close(how) {
      const left = await engine.close(readOptions('close', CLOSE_ROWS, how).drainMs);
      await store.close();
      return left;
    },
    run: (request, handler) => run(engine, settingsOf, request, handler),
    transactional: (definition) => register(defineTransactional(engine, defaults, transactions, definition)),
    plain: (definition) => register(definePlain(engine, defaults, definition)),
    deferred: (operation, how) => replace(defer(operation, how)),
    phased: (definition) => register(definePhased(engine, defaults, transactions, definition)),
  };
  return Object.freeze(samekey);
}

async function run<Value>(
  engine: Engine,
  settingsOf: (operation: string, own: OperationOptions) => OperationSettings,
  request: RunRequest,
  handler: (attempt: Attempt) => Promise<Value | Reply<Value>> | Value | Reply<Value>,
): Promise<RunOutcome<Value>> {
  refuseOthers('samekey.run', RUN_ROWS, requestObject('samekey.run', request));
  if (typeof handler !== 'function')
    throw new OptionsError(
      `The second argument of samekey.run is the handler: a function; it is ${typeof handler}.`,
    );
  const settings = settingsOf(request.operation, request);
  const { operation: name } = request;
  if (typeof name !== 'string' || name === '')
    throw new OptionsError(
      `An operation is named by a text: it is ${name === '' ? 'empty' : `of type ${typeof name}`}.`,
    );
  const names = { name };
  const { scope, key, fingerprint } = request;
  const compared = comparableBytes('The fingerprint', fingerprint);
  const taken = { scope, key, compared, formerly: formerRequests(request.formerly) };
  if (request.schema !== undefined) {
    const checked = await validate(SCHEMA_ROW.read(request.schema, 'schema'), fingerprint);
    if ('issues' in checked) return meetInvalid<Value>(engine, names, settings, taken, checked.issues);
  }
  return runDirect<Value>(engine, names, settings, taken, outright(handler));
}

/** What works in a test and not in production is told once, at start (F100). */
function tellUnfit(engine: Engine, store: Store): void {
  const made = (instances.get(store) ?? 0) + 1;
  instances.set(store, made);
  if (made === INSTANCES_MAX) {
    engine.misuse(
      'instance-per-request',
      `createSamekey was called ${made} times with one store: make one instance for the process, not one for each request, since each has caches, groups of writes and duplicates of its own.`,
    );
  }
  if (isProduction() && made === 1 && !store.capabilities.durable && !store.capabilities.shared) {
    engine.misuse(
      'store-not-durable',
      `The store "${store.name}" is in this process's memory, and NODE_ENV is production: after a restart, and in other processes, every key acts as never used. Use a store that lasts.`,
    );
  }
}

const instances = new WeakMap<Store, number>();
/** More than any application has on one store at once. */
const INSTANCES_MAX = 20;

/** Throws `OptionsError` unless the transactions are of the store's own database. */
function transactionsFor<Tx>(
  store: Store,
  source: TransactionSource<Tx, unknown> | undefined,
): Transactions<Tx> | null {
  if (source === undefined) return null;
  const { within, transactionFault } = store as Partial<TransactionalStore>;
  if (within === undefined || transactionFault === undefined || store.name !== source.dialect) {
    throw new OptionsError(
      `transactions of ${source.name} need a store in the same ${source.dialect} database; the store is ${store.name}.`,
    );
  }
  return { source, store: store as Store & TransactionalStore };
}
