/**
 * Pushes unfinished operations to their end without waiting for the client: accepted ones that nobody has begun, and phased ones
 * whose attempt has ended without an answer. Whoever begins one claims it first, so any number of processes may do this.
 *
 * Invariant: an operation that this process does not know by name is left alone.
 */

import type { Engine } from '../core/engine.ts';
import type { Outcome } from '../core/outcome.ts';
import type { SamekeyRecord } from '../core/record.ts';
import type { DueRequest, Store } from '../core/store.ts';
import type { Handler } from '../core/work.ts';
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
  const due = await store.due({ operations: kept, limit, ...backoff });
  return Promise.all(due.map(async (record) => ({ record, outcome: await push(options, record) })));
}

async function push({ engine, operations }: CompleterOptions, record: SamekeyRecord): Promise<Outcome> {
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
    const message = `An input of "${operation.names.name}" cannot be read and is left alone: ${String(error)}. A codec must read what earlier code has written.`;
    engine.misuse('input-unreadable', message, operation.names.name);
    return { kind: 'in-progress', retryAfterMs: 1_000 };
  }
  return engine.run(
    {
      operation: record.operation,
      id: { scope, key },
      otherIds: [],
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
