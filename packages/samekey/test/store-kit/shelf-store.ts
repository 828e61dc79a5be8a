/**
 * A small store of records in files, written from docs/internals/adding-a-store.md with `samekey/store-kit` alone: one file for each
 * record, read and written synchronously, so that no two verbs interleave. One process, and no fsync: it says so itself.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { AuditRow, NewAuditRow, RecordId, SamekeyRecord, Store } from 'samekey';
import {
  aFunction,
  auditLimit,
  callerOf,
  type Change,
  checkNotes,
  compareDue,
  countsOf,
  createDue,
  createHand,
  createReap,
  createSweep,
  createTakeUnknown,
  createWalkingErase,
  type Decide,
  decideCheckpoint,
  decideClaim,
  decideFinish,
  decideRenew,
  decideSweep,
  idText,
  isDue,
  isListed,
  isPurgeable,
  listLimit,
  readOptions,
  required,
  type RowOf,
  serverView,
  type Table,
  takeBy,
  takePurgeable,
  text,
} from 'samekey/store-kit';

/** Options of {@link shelfStore}. */
export interface ShelfStoreOptions {
  /** An empty folder of its own. */
  readonly folder: string;
  /** Test-only clock: milliseconds since 1970. */
  readonly now?: () => number;
}

const ROWS = {
  folder: required(text()),
  now: aFunction<() => number>(),
} satisfies Table<ShelfStoreOptions>;

/** Makes it. Throws `OptionsError`. */
export function shelfStore(options: ShelfStoreOptions): Store {
  const { folder, now = Date.now } = readOptions('shelfStore', ROWS, options);
  mkdirSync(folder, { recursive: true });
  let rows: AuditRow[] = [];
  let seq = 0;

  const pathOf = (id: RecordId): string =>
    join(folder, createHash('sha256').update(idText(id)).digest('hex'));
  const all = (): SamekeyRecord[] => readdirSync(folder).flatMap((name) => read(join(folder, name)) ?? []);

  function write(id: RecordId, after: SamekeyRecord | null): void {
    if (after === null) rmSync(pathOf(id), { force: true });
    else writeFileSync(pathOf(id), serialize(after));
  }

  function audited(added: readonly (NewAuditRow | undefined)[]): void {
    for (const row of added) {
      if (row === undefined) continue;
      const { scope, key, operation, attempt, act, from, to, reason, actor } = row;
      seq += 1;
      rows.push({
        seq: String(seq),
        at: now(),
        scope,
        key,
        operation,
        attempt,
        act,
        from,
        to,
        reason,
        actor,
      });
    }
  }

  /** One after the other: a later request sees what an earlier one wrote. */
  function apply<Request extends RecordId, Result>(
    requests: readonly Request[],
    decide: Decide<Request, Result>,
    rowOf?: RowOf<Request>,
  ): Result[] {
    return requests.map((request) => {
      const before = read(pathOf(request));
      const decision = decide(before, request, serverView(before, now()));
      if (decision.write === undefined) return decision.result;
      write(request, decision.write);
      if (before !== null) audited([rowOf?.(before, decision.write, request)]);
      return decision.result;
    });
  }

  // The same for the verbs off the hot path. No two calls interleave here, so none is ever BUSY.
  const change: Change = async (requests, decide, rowOf) => apply(requests, decide, rowOf);
  const take = takeBy(change);

  return {
    name: 'shelf',
    capabilities: Object.freeze({
      transactions: false,
      transactionLock: false,
      serverClock: true,
      timePrecisionMs: 1,
      durable: false,
      shared: false,
      recordSizeMaxBytes: null,
    }),

    claim: async (requests) => apply(requests, decideClaim),
    renew: async (requests) => apply(requests, decideRenew),
    checkpoint: async (requests) => apply(requests, decideCheckpoint),
    finish: async (requests) => apply(requests, decideFinish),
    find: async (ids) => ids.map((id) => read(pathOf(id))),

    // Settle, reopen, forget, postpone.
    ...createHand({ change }),
    sweep: createSweep({
      take,
      over: async (limit, unknownMaxMs) =>
        all()
          .filter((record) => decideSweep(record, serverView(record, now()), { unknownMaxMs }) !== undefined)
          .slice(0, limit),
    }),
    due: createDue(async ({ operations, limit, after, ...backoff }) =>
      all()
        .filter((record) => operations.includes(record.operation) && isDue(record, now(), backoff))
        .filter((record) => after === null || compareDue(record, after) > 0)
        .toSorted(compareDue)
        .slice(0, limit),
    ),
    takeUnknown: createTakeUnknown(take, async (operations, limit) =>
      all()
        .filter(({ state, operation }) => state === 'unknown' && (operations?.includes(operation) ?? true))
        .filter(({ reconcileAfter }) => reconcileAfter !== null && reconcileAfter <= now())
        .toSorted((a, b) => (a.reconcileAfter ?? 0) - (b.reconcileAfter ?? 0))
        .slice(0, limit),
    ),
    reap: createReap({
      reap: (limit) =>
        takePurgeable(
          take,
          all()
            .filter((record) => isPurgeable(record, now()))
            .slice(0, limit),
        ),
    }),
    erase: createWalkingErase({
      async *walk(scope) {
        yield all()
          .filter((record) => callerOf(record.scope) === scope)
          .map((record) => ({ record }));
      },
      change: (found, { decide, rowOf }) =>
        change(
          found.map(({ record }) => record),
          decide,
          rowOf,
        ),
    }),
    list: async (request) =>
      all()
        .filter((record) => isListed(record, request))
        .toSorted((a, b) => b.createdAt - a.createdAt)
        .slice(0, listLimit(request)),
    count: async () => countsOf(all().map(({ state }) => [state, 1])),

    audit: async (request) =>
      rows
        .filter(
          ({ scope, key, act, seq: number }) =>
            (request.scope === undefined || request.scope === scope) &&
            (request.key === undefined || request.key === key) &&
            (request.acts === undefined || request.acts.includes(act)) &&
            (request.before === undefined || Number(number) < Number(request.before)),
        )
        .toReversed()
        .slice(0, auditLimit(request)),
    async note(added) {
      checkNotes(added);
      audited(added);
    },
    async pruneAudit({ olderThanMs, acts, limit }) {
      const old = rows
        .filter(({ act, at }) => acts.includes(act) && at <= now() - olderThanMs)
        .slice(0, limit);
      rows = rows.filter((row) => !old.includes(row));
      return old.length;
    },

    ready: async () => undefined,
    close: async () => undefined,
  };
}

/** Bytes come back as a Buffer, which is equal and behaves differently. */
function plain(bytes: Uint8Array | null): Uint8Array | null {
  return bytes === null ? null : new Uint8Array(bytes);
}

function read(path: string): SamekeyRecord | null {
  if (!existsSync(path)) return null;
  const record = deserialize(readFileSync(path)) as SamekeyRecord;
  return {
    ...record,
    response: record.response && { ...record.response, body: plain(record.response.body) },
    input: plain(record.input),
  };
}
