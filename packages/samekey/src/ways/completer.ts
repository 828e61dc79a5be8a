/**
 * Pushes unfinished operations to their end without waiting for the client: accepted ones that nobody has begun, and phased ones
 * whose attempt has ended without an answer. Whoever begins one claims it first, so any number of processes may do this.
 *
 * Invariant: an operation that this process does not know by name is left alone.
 */

import type { Engine } from '../core/engine.ts';
import { textOfError } from '../core/listener.ts';
import type { Outcome } from '../core/outcome.ts';
import type { SamekeyRecord } from '../core/record.ts';
import type { DueRequest, Store } from '../core/store.ts';
import { type Handler, NO_PLACES } from '../core/work.ts';
import type { OperationInternals } from './operation.ts';

/** What it needs of an instance. */
export interface CompleterOptions {
  readonly store: Store;
  readonly engine: Engine;
  /** By name, former names included. */
  readonly operations: ReadonlyMap<string, OperationInternals<unknown>>;
}

/** One operation that was pushed, and what came of it; `error` when its handler threw. */
export interface Pushed {
  readonly record: SamekeyRecord;
  readonly outcome: Outcome;
}

/** Pushes on up to `limit` operations at once; resolves when all have ended. Without a backoff whatever may run is due. */
export async function pushDue(
  options: CompleterOptions,
  limit: number,
  backoff: Pick<DueRequest, 'backoffMinMs' | 'backoffMaxMs'> = {},
): Promise<readonly Pushed[]> {
  const { store, operations } = options;
  const kept = [...operations].filter(([, { keepsInput }]) => keepsInput).map(([name]) => name);
  if (kept.length === 0 || limit < 1) return [];
  const skipped = unreadable.get(options.engine) ?? new Set<string>();
  unreadable.set(options.engine, skipped);
  // What nobody here can read stays due, and the oldest come first: without more room it would keep out all others.
  const due = await store.due({ operations: kept, limit: limit + skipped.size, ...backoff });
  const found = new Set(due.map(nameOf));
  for (const name of skipped) if (!found.has(name)) skipped.delete(name);
  const readable = due.filter((record) => !skipped.has(nameOf(record))).slice(0, limit);
  return Promise.all(
    readable.map(async (record) => ({ record, outcome: await push(options, record, skipped) })),
  );
}

/** Records whose input this process could not read, while they are due. */
const unreadable = new WeakMap<Engine, Set<string>>();
const UNREADABLE_MAX = 1_000;

function nameOf(record: SamekeyRecord): string {
  return JSON.stringify([record.scope, record.key, record.claimId]);
}

async function push(
  { engine, operations }: CompleterOptions,
  record: SamekeyRecord,
  skipped: Set<string>,
): Promise<Outcome> {
  const operation = operations.get(record.operation);
  if (operation === undefined || record.input === null) {
    return { kind: 'in-progress', retryAfterMs: 1_000 };
  }
  const { scope, key, input } = record;
  let handler: Handler;
  try {
    handler = operation.handler(operation.codec.decode(input));
  } catch (error) {
    // Written by code of another version perhaps; its neighbours go on.
    if (skipped.size < UNREADABLE_MAX) skipped.add(nameOf(record));
    const message = `An input of "${operation.names.name}" cannot be read and is left alone: ${textOfError(error)}. A codec must read what earlier code has written.`;
    engine.misuse('input-unreadable', message, operation.names.name);
    return { kind: 'in-progress', retryAfterMs: 1_000 };
  }
  return engine.run(
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
    },
    handler,
  );
}
