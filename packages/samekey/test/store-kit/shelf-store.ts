/**
 * A small store of records in files, written from docs/internals/adding-a-store.md with `samekey/store-kit` alone: one file for each
 * record, read and written synchronously, so that no two verbs interleave. One process, and no fsync: it says so itself.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type {
  AuditAct,
  AuditRow,
  ByHand,
  HandResult,
  NewAuditRow,
  RecordId,
  SamekeyRecord,
  State,
  Store,
  Swept,
} from 'samekey';
import {
  aFunction,
  auditLimit,
  callerOf,
  checkByHand,
  checkErase,
  checkNotes,
  type Decision,
  decideCheckpoint,
  decideClaim,
  decideErase,
  decideFinish,
  decideForget,
  decidePostpone,
  decideRenew,
  decideReopen,
  decideSettle,
  decideSweep,
  decideTakeUnknown,
  giveUpRow,
  handRow,
  idText,
  compareDue,
  isDue,
  isListed,
  isPurgeable,
  readOptions,
  reapedOf,
  required,
  type Table,
  text,
  serverView,
  STATES,
  type View,
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

type Decide<Request, Result> = (
  record: SamekeyRecord | null,
  request: Request,
  view: View,
) => Decision<Result>;

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
    rowOf?: (before: SamekeyRecord, after: SamekeyRecord | null, request: Request) => NewAuditRow | undefined,
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

  function byHand<Request extends RecordId & ByHand>(
    act: AuditAct,
    requests: readonly Request[],
    decide: Decide<Request, HandResult>,
  ): HandResult[] {
    checkByHand(requests);
    return apply(requests, decide, (before, after, request) => handRow(act, before, after, request));
  }

  return {
    name: 'shelf',
    capabilities: Object.freeze({
      transactions: false,
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

    async sweep(limit, until) {
      const swept: Swept[] = [];
      for (const record of all()) {
        if (swept.length >= limit) break;
        const decision = decideSweep(record, serverView(record, now()), until);
        if (decision === undefined || decision.write === undefined) continue;
        write(record, decision.write);
        swept.push(decision.result);
      }
      return swept;
    },
    due: async ({ operations, limit, after, ...backoff }) =>
      all()
        .filter((record) => operations.includes(record.operation) && isDue(record, now(), backoff))
        .filter((record) => !after || compareDue(record, after) > 0)
        .toSorted(compareDue)
        .slice(0, limit),
    async takeUnknown({ operations, limit, ...request }) {
      const taken: SamekeyRecord[] = [];
      for (const record of all().toSorted((a, b) => (a.reconcileAfter ?? 0) - (b.reconcileAfter ?? 0))) {
        if (taken.length >= limit) break;
        if (operations !== null && !operations.includes(record.operation)) continue;
        const after = decideTakeUnknown(record, request, serverView(record, now()));
        if (after === undefined) continue;
        write(record, after);
        taken.push(after);
      }
      return taken;
    },
    postpone: async (requests) => apply(requests, decidePostpone, giveUpRow),
    async reap(limit) {
      const gone = all()
        .filter((record) => isPurgeable(record, now()))
        .slice(0, limit);
      for (const record of gone) write(record, null);
      return reapedOf(gone.map(({ scope }) => scope));
    },

    settle: async (requests) => byHand('settle', requests, decideSettle),
    reopen: async (requests) => byHand('reopen', requests, decideReopen),
    forget: async (requests) => byHand('forget', requests, decideForget),
    async erase(request) {
      checkErase(request);
      let [erased, left] = [0, 0];
      for (const record of all().filter(({ scope }) => callerOf(scope) === request.scope)) {
        const { write: after, result } = decideErase(record, request, { now: now() });
        if (result === 'already') continue;
        if (result === 'left' || !after || erased >= request.limit) {
          left += 1;
          continue;
        }
        write(record, after);
        audited([handRow('erase', record, after, request)]);
        erased += 1;
      }
      return { erased, left };
    },
    list: async (request) =>
      all()
        .filter((record) => isListed(record, request))
        .toSorted((a, b) => b.createdAt - a.createdAt)
        .slice(0, request.limit ?? 100),
    async count() {
      const counts = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<State, number>;
      for (const { state } of all()) counts[state] += 1;
      return counts;
    },

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
