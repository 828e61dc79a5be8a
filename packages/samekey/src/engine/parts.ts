/**
 * The parts of one engine, put together: who claims, keeps, ends, waits and looks, and what they share. They are made
 * once; the engine only sends requests through them.
 */

import { type Abandoned, createAbandoned } from './abandoned.ts';
import { type Admission, createAdmission } from './admission.ts';
import { createClaimer } from './claimer.ts';
import { createReserver } from './reserver.ts';
import { createDispatch } from './dispatch.ts';
import { isStoreError } from '../core/errors.ts';
import type { EventListener } from './events.ts';
import { createExecute, type Execute } from './execution.ts';
import type { FingerprintSecrets } from '../fingerprint/fingerprint.ts';
import { Flights } from './flight.ts';
import { createJoin, type Join } from './join.ts';
import { createNoter } from './ending/noter.ts';
import type { OwnerOptions } from './owner.ts';
import { createRecording } from './recording.ts';
import { createRenewer } from './renewer.ts';
import { createReplayCache, type ReplayCache } from './replay-cache.ts';
import { createSaver } from './ending/saver.ts';
import { createSettler } from './ending/settler.ts';
import { createStanding, type Standing } from './standing.ts';
import type { Store } from '../store/store.ts';
import type { Telling } from './telling.ts';
import { UnderWay } from './work-count.ts';
import { Unfit } from './unfit.ts';
import { createUsualLengths, type UsualLengths } from './usual.ts';
import { createWaiter, type Waiter } from './waiter.ts';
import type { World } from '../core/world.ts';

/** Bounds of an engine, in milliseconds, rows and bytes. */
export interface EngineOptions {
  readonly store: Store;
  readonly world: World;
  readonly callTimeMaxMs: number;
  readonly saveTimeMaxMs: number;
  readonly saveKeepMaxMs: number;
  readonly saveCountMax: number;
  readonly saveBytesMax: number;
  readonly waitersMax: number;
  readonly keptBytesMax: number;
  readonly replayCacheBytesMax: number;
  readonly replayCacheTimeMaxMs: number;
  readonly batchRowsMax: number;
  readonly batchBytesMax: number;
  /** Format written into records; during a deploy one behind what is read. */
  readonly writeVersion: number;
  /** The newest format that is read. What is read and what is written have versions of their own (F112). */
  readonly readVersion: number;
  readonly onEvent: EventListener | null;
  /** For fingerprints of values, and of routes that have no secrets of their own. */
  readonly fingerprintSecrets: FingerprintSecrets | null;
}

/** What the engine sends its requests through. */
export interface Parts {
  readonly flights: Flights;
  readonly underWay: UnderWay;
  readonly usual: UsualLengths;
  readonly cache: ReplayCache;
  readonly abandoned: Abandoned;
  readonly admission: Admission;
  readonly waiter: Waiter;
  readonly standing: Standing;
  readonly join: Join;
  readonly execute: Execute;
  /** What goes on by itself until it is stopped. */
  readonly stops: readonly { stop(): void }[];
}

/** Makes them. */
export function createParts(options: EngineOptions, telling: Telling, isClosing: () => boolean): Parts {
  const { store, world, callTimeMaxMs, writeVersion, readVersion } = options;
  const { hints, capabilities } = store;
  const { recordSizeMaxBytes } = capabilities;
  const { emit } = telling;
  const [flights, underWay] = [new Flights(), new UnderWay()];
  const [usual, unfit] = [createUsualLengths(), new Unfit()];
  const dispatch = createDispatch(store, world, options, emit);
  const calls = { world, dispatch, callTimeMaxMs };
  const renewer = createRenewer(world, dispatch, callTimeMaxMs, emit, (attempt) => telling.slow(attempt));
  const { saveCountMax: countMax, saveBytesMax: bytesMax, saveKeepMaxMs: timeMaxMs } = options;
  const saver = createSaver({ ...calls, countMax, bytesMax, timeMaxMs });
  const abandoned = createAbandoned(world, dispatch, callTimeMaxMs, emit);
  const cache = createReplayCache({
    world,
    bytesMax: options.replayCacheBytesMax,
    timeMaxMs: options.replayCacheTimeMaxMs,
  });
  const waiter = createWaiter({ ...calls, waitersMax: options.waitersMax, hints });
  const claims = { abandoned, cache, usual, unfit, writeVersion, readVersion, isClosing };
  const claimer = createClaimer({ ...calls, ...claims });
  const reserver = createReserver({ ...calls, ...claims, claimer });
  const recording = createRecording(world, dispatch);
  const settler = createSettler({
    ...calls,
    recording,
    renewer,
    abandoned,
    saver,
    hints,
    readVersion,
    flights,
    saveTimeMaxMs: options.saveTimeMaxMs,
    recordSizeMaxBytes,
    emit,
    noter: createNoter({
      store,
      world,
      callTimeMaxMs,
      failed(error) {
        const applied = isStoreError(error) ? error.applied : 'unknown';
        emit?.({ type: 'store-error', verb: 'note', applied, error });
      },
    }),
    usual,
    unfit,
    track: underWay.track,
  });
  const ownerOptions: OwnerOptions = {
    ...calls,
    recording,
    recordSizeMaxBytes,
    track: underWay.track,
    misuse: (code, message, operation) => telling.misuse(code, message, operation),
    // It wanted to go on with what its call gave.
    contradicts: (attempt, effect, found) =>
      settler.contradicts(attempt, { wanted: 'in_progress', found, reason: 'effect-late', effect }),
  };
  const stopListening = store.onClockOff?.((offMs) => telling.clockOff(offMs));
  return {
    flights,
    underWay,
    usual,
    cache,
    abandoned,
    admission: createAdmission(world, claimer, reserver, emit),
    waiter,
    standing: createStanding({ ...calls, claimer, usual, readVersion, isClosing }),
    join: createJoin(world, flights, usual),
    execute: createExecute({ world, telling, flights, underWay, renewer, claimer, settler, ownerOptions }),
    stops: [renewer, saver, abandoned, waiter, { stop: () => stopListening?.() }],
  };
}
