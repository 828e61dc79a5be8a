/** Options of the tiered store, and their checks. */

import { OptionsError } from '../../core/errors.ts';
import type { StoreIdentity } from '../../store/identity.ts';
import { REPLAY_TRUST_MAX_MS } from '../../core/record.ts';
import {
  anything,
  byName,
  having,
  nested,
  readOptions,
  required,
  row,
  shown,
  type Table,
  text,
  wholeNumber,
} from '../../core/options.ts';
import type { ChangeHints, Store } from '../../store/store.ts';
import type { World } from '../../core/world.ts';
import { systemWorld } from '../../system.ts';

/**
 * A cache that several processes share: made by `redisCache`, or your own. What it loses, mixes up, holds too long or
 * answers too late changes no outcome; what it rejects with is counted and otherwise ignored.
 */
export interface SharedCache {
  /** What stands under each name, in that order; null for nothing. */
  get(names: readonly string[]): Promise<readonly (Uint8Array | null)[]>;
  /** Puts bytes under a name, for so many milliseconds. */
  put(name: string, bytes: Uint8Array, ttlMs: number): Promise<unknown>;
  drop(names: readonly string[]): Promise<unknown>;
}

/** Secrets that entries of the shared cache are signed with (HMAC-SHA-256), 16 bytes or more each. */
export interface CacheSecrets {
  /** The name of the one that new entries are signed with. */
  readonly current: string;
  /** By name; entries signed with any of them are believed. */
  readonly keys: Readonly<Record<string, Uint8Array>>;
}

/** Options of {@link tieredStore}. */
export interface TieredStoreOptions<S extends Store = Store> {
  /** The store that decides. Of a sealed one the seal goes outside: `sealed(tieredStore({ store, … }), ring)`. */
  readonly store: S;
  /** A cache shared by processes; needs a store with a clock of its own (`serverClock`). Default none. */
  readonly cache?: SharedCache;
  /**
   * Bytes of answers kept in this process at most, roughly; default 0. Each instance has such a cache already
   * (`replayCacheBytesMax`): this one serves several instances on one store.
   */
  readonly memoryBytesMax?: number;
  /** How long an answer is trusted after the store has read it, in milliseconds; default and most 5,000. */
  readonly trustMs?: number;
  /** How long the shared cache is waited for, in milliseconds; default 50. Then the store is asked. */
  readonly cacheTimeMaxMs?: number;
  /** Records that take more bytes are not put into the shared cache; default 256 KiB. */
  readonly entryBytesMax?: number;
  /**
   * The shared cache is asked while at least this part of the claims meets a final answer; default 0.1, 0 for always.
   * Below, most keys are new, and asking it first would only make them slower.
   */
  readonly replayShareMin?: number;
  /** Default none: whoever may write to the shared cache can then forge answers. */
  readonly secrets?: CacheSecrets;
  /**
   * Tells processes that a record may have changed which a request of theirs waits for: `redisHints`, or your own.
   * Default the store's, if it has any.
   */
  readonly hints?: ChangeHints;
  /** Clocks and timers; default `systemWorld()`. For tests. */
  readonly world?: TieredWorld;
}

/** What a tiered store needs of the machine. */
export type TieredWorld = Pick<World, 'monotonicNow' | 'wallNow' | 'setTimer'>;

/** What the tiers have done since the start, in entries. */
export interface CacheCounts {
  memoryHits: number;
  sharedHits: number;
  sharedMisses: number;
  /** Found in the shared cache and not believed: cut, forged, of another format, too old, of another request. */
  sharedRefused: number;
  /**
   * Not looked up: most keys were new, the cache was paused after a failure, or the store's clock was not known yet.
   */
  sharedSkipped: number;
  /** Calls that failed or took too long. */
  sharedFailures: number;
  fills: number;
  /** Not put into the shared cache: too large, or too much was on its way already. */
  fillsDropped: number;
}

/** A shared cache, and whose records are put into it. */
export interface SharedParts {
  readonly cache: SharedCache;
  readonly identity: () => Promise<StoreIdentity>;
}

/** Checked options, every default in place. */
export interface Checked {
  readonly store: Store;
  /** Null: there is none. */
  readonly shared: SharedParts | null;
  readonly memoryBytesMax: number;
  readonly trustMs: number;
  readonly cacheTimeMaxMs: number;
  readonly entryBytesMax: number;
  readonly replayShareMin: number;
  readonly secrets: CacheSecrets | null;
  readonly world: TieredWorld;
}

const ROWS = {
  store: required(
    having<Store>(['claim'], 'a store that decides: postgresStore({ pool }), mysqlStore({ … }) …'),
    'tieredStore needs a store that decides: postgresStore({ pool }), mysqlStore({ … }) …',
  ),
  cache: having<SharedCache>(
    ['get', 'put', 'drop'],
    'a cache with get, put and drop: redisCache({ client }), or one of your own',
  ),
  memoryBytesMax: wholeNumber(0, undefined, 0),
  trustMs: wholeNumber(1, REPLAY_TRUST_MAX_MS, REPLAY_TRUST_MAX_MS),
  cacheTimeMaxMs: wholeNumber(1, undefined, 50),
  entryBytesMax: wholeNumber(1, undefined, 256 * 1024),
  replayShareMin: row((given, path) => {
    if (typeof given === 'number' && given >= 0 && given <= 1) return given;
    throw new OptionsError(`${path} must be a number from 0 to 1; it is ${shown(given)}.`);
  }, 0.1),
  secrets: nested({
    current: required(text()),
    keys: required(byName(anything<Uint8Array>())),
  } satisfies Table<CacheSecrets>),
  hints: having<ChangeHints>(['watch', 'changed'], 'hints with watch and changed: redisHints({ … })'),
  world: having<TieredWorld>(
    ['monotonicNow', 'wallNow', 'setTimer'],
    'a world: systemWorld(), or one for tests',
  ),
} satisfies Table<TieredStoreOptions>;

const SECRET_BYTES_MIN = 16;

/** Checks the options. Throws `OptionsError`. */
export function checkOptions(options: TieredStoreOptions): Checked {
  const own = readOptions('tieredStore', ROWS, options);
  const { store, cache = null, secrets = null } = own;
  if (secrets !== null) checkSecrets(secrets);
  const shared = cache === null ? null : { cache, identity: checkCache(store) };
  const checked: Checked = { ...own, shared, secrets, world: own.world ?? systemWorld() };
  if (cache === null && checked.memoryBytesMax === 0 && options.hints === undefined) {
    throw new OptionsError('tieredStore has nothing to do: give it a cache, memoryBytesMax, or hints.');
  }
  return checked;
}

function checkCache(store: Store): () => Promise<StoreIdentity> {
  if (!isIdentified(store)) {
    throw new OptionsError(
      `A shared cache needs a store that says whose keys it holds, so that no two services are answered from each other's entries; "${store.name}" does not: use memoryBytesMax alone.`,
    );
  }
  if (!store.capabilities.serverClock) {
    throw new OptionsError(
      `A shared cache needs a store with a clock of its own, by which all processes know how old an answer is; "${store.name}" has none: use memoryBytesMax alone.`,
    );
  }
  // Registered by samekey/seal, of whatever copy of this package.
  if (Symbol.for('samekey.sealedOf') in store) {
    throw new OptionsError(
      'What a sealed store gives is open, and would lie open in the cache: seal the tiered store, sealed(tieredStore({ store, cache }), ring).',
    );
  }
  return () => store.identity();
}

function isIdentified(store: Store): store is Store & Required<Pick<Store, 'identity'>> {
  return store.identity !== undefined;
}

function checkSecrets({ current, keys }: CacheSecrets): void {
  const named = Object.entries(keys ?? {});
  if (!named.some(([name]) => name === current)) {
    throw new OptionsError(`The current secret "${current}" is not among the keys: add it.`);
  }
  for (const [name, secret] of named) {
    if (!(secret instanceof Uint8Array) || secret.length < SECRET_BYTES_MIN) {
      throw new OptionsError(`The secret "${name}" must be ${SECRET_BYTES_MIN} random bytes or more.`);
    }
  }
}
