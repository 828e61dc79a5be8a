/**
 * Pushes unfinished operations to their end without waiting for the client: accepted ones that nobody has begun, and
 * phased ones whose attempt has ended without an answer. Whoever begins one claims it first, so any number of processes
 * may do this.
 *
 * Invariants: an operation that this process does not know by name, an input that it cannot read, and steps that its
 * code does not know are left alone, and keep nobody behind them waiting (F109, F149) · a place that has become free
 * takes the next, whatever its neighbours do (F143).
 */

import type { Engine } from '../engine/engine.ts';
import { textOfError } from '../core/listener.ts';
import type { Outcome } from '../core/outcome.ts';
import { idText, type SamekeyRecord } from '../core/record.ts';
import type { DueRequest, Store } from '../store/store.ts';
import { type Handler, NO_PLACES } from '../engine/work.ts';
import type { OperationInternals } from './define-operation.ts';

/** What it needs of an instance. */
interface CompleterOptions {
  readonly store: Store;
  readonly engine: Engine;
  /** By name, former names included. */
  readonly operations: ReadonlyMap<string, OperationInternals<unknown>>;
}

/** One operation that was pushed, and what came of it. */
export interface Pushed {
  readonly record: SamekeyRecord;
  readonly outcome: Outcome;
}

/** Pushes on what is due. */
export interface Completer {
  /** Operations that run here now. */
  readonly running: number;
  /**
   * Begins what is due, until so many run. Resolves when they have begun, with whether more may be due. Rejects with
   * `StoreError`.
   */
  look(): Promise<boolean>;
  /** Resolves when none runs. */
  idle(): Promise<void>;
}

/** How a completer works. */
interface CompleterSettings extends Pick<DueRequest, 'backoffMinMs' | 'backoffMaxMs'> {
  /** Operations that run at once. */
  readonly concurrency: number;
  /** Called when one has ended. */
  readonly ended: (pushed: Pushed) => void;
  /** Called instead when it rejected: a fault of ours. */
  readonly failed: (error: unknown) => void;
  /** Whether to begin nothing more. */
  readonly isStopping?: () => boolean;
}

/** Records of one page behind the first unreadable one; their inputs are read with them. */
const PAGE_MIN = 100;
/** What cannot be read here is looked at no more often, in milliseconds. */
const PASS_MS = 10_000;

/** Makes a completer. */
export function createCompleter(options: CompleterOptions, settings: CompleterSettings): Completer {
  const { store, engine, operations } = options;
  const { concurrency, ended, failed, isStopping, ...backoff } = settings;
  const running = new Map<string, Promise<void>>();
  /** The last one that nothing can be done with here: the next look goes on behind it. Null: at the beginning. */
  let passed: SamekeyRecord | null = null;
  let passedFrom = 0;

  function mayBegin(): boolean {
    return running.size < concurrency && isStopping?.() !== true;
  }

  function begin(record: SamekeyRecord, how: Runnable): void {
    const name = idText(record);
    const pushing = push(engine, record, how).finally(() => running.delete(name));
    running.set(
      name,
      pushing.then((outcome) => ended({ record, outcome }), failed),
    );
  }

  return {
    get running() {
      return running.size;
    },
    async look() {
      const known = [...operations].filter(([, { keepsInput }]) => keepsInput).map(([name]) => name);
      if (known.length === 0) return false;
      const now = engine.world.monotonicNow();
      // From the beginning now and then: what stands there may be due again, or readable.
      if (now - passedFrom >= PASS_MS) passed = null;
      if (passed === null) passedFrom = now;
      while (mayBegin()) {
        const limit = passed === null ? concurrency : Math.max(PAGE_MIN, concurrency);
        const due = await store.due({ operations: known, limit, after: passed, ...backoff });
        for (const record of due) {
          if (running.has(idText(record))) continue;
          if (running.size >= concurrency) return true;
          const how = isLeftAlone(engine, record) ? null : runnable(options, record);
          if (how === null) passed = record;
          else begin(record, how);
        }
        if (due.length < limit) return false;
      }
      return true;
    },
    async idle() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}

/**
 * Pushes on up to `limit` operations at once; resolves when all have ended. Without a backoff whatever may run is due.
 */
export async function pushDue(options: CompleterOptions, limit: number): Promise<readonly Pushed[]> {
  const all: Pushed[] = [];
  const errors: unknown[] = [];
  const completer = createCompleter(options, {
    concurrency: limit,
    ended: (pushed) => void all.push(pushed),
    failed: (error) => void errors.push(error),
  });
  await completer.look();
  await completer.idle();
  if (errors.length > 0) throw errors[0];
  return all;
}

/** Records whose steps this process's code does not know, by the claim that left them. */
const leftAlone = new WeakMap<Engine, Set<string>>();
const LEFT_ALONE_MAX = 1_000;

function leaveAlone(engine: Engine, record: SamekeyRecord): void {
  const names = leftAlone.get(engine) ?? new Set<string>();
  leftAlone.set(engine, names);
  // Who is forgotten is asked once more, and answers the same.
  if (names.size >= LEFT_ALONE_MAX) names.clear();
  names.add(claimName(record));
}

function isLeftAlone(engine: Engine, record: SamekeyRecord): boolean {
  return leftAlone.get(engine)?.has(claimName(record)) === true;
}

/** Code that knows them claims it anew. */
function claimName(record: SamekeyRecord): string {
  return JSON.stringify([record.scope, record.key, record.claimId]);
}

/** What a record is run with. */
interface Runnable {
  readonly operation: OperationInternals<unknown>;
  readonly handler: Handler;
  readonly input: Uint8Array;
}

/** Null: it cannot be read here, is left alone, and its neighbours go on. */
function runnable({ engine, operations }: CompleterOptions, record: SamekeyRecord): Runnable | null {
  const operation = operations.get(record.operation);
  const { input } = record;
  if (operation === undefined || input === null || record.unreadable !== undefined) return null;
  try {
    return { operation, input, handler: operation.handler(operation.codec.decode(input)) };
  } catch (error) {
    // Written by code of another version perhaps.
    const message = `An input of "${operation.names.name}" cannot be read and is left alone: ${textOfError(error)}. A codec must read what earlier code has written.`;
    engine.misuse('input-unreadable', message, operation.names.name);
    return null;
  }
}

async function push(
  engine: Engine,
  record: SamekeyRecord,
  { operation, handler, input }: Runnable,
): Promise<Outcome> {
  const { scope, key } = record;
  const outcome = await engine.run(
    {
      operation: record.operation,
      id: { scope, key },
      younger: NO_PLACES,
      // Whose request it is was decided when it was accepted.
      fingerprint: record.fingerprint ?? { label: 'input', digest: await engine.world.sha256(input) },
      refingerprint: () => undefined,
      settings: operation.settings,
      input,
      entry: 'take',
      pendingTimeMaxMs: 0,
      takesSteps: operation.takesSteps,
    },
    handler,
  );
  // It holds steps that this code does not know: left for code that does (F109).
  if (outcome.kind === 'unknown' && record.steps !== null) leaveAlone(engine, record);
  return outcome;
}
