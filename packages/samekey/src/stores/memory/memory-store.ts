/**
 * The memory store: a map and the state table, nothing else. It is the oracle that other stores are compared with, so
 * it is written for clarity, and its verbs are not those of `stores/verbs`: what is wrong there shows here. It lives in
 * one process and dies with it: for tests, demos, and single processes whose handlers can be repeated after a restart.
 *
 * Invariants: every verb runs to its end within one turn of the event loop, so no two interleave · at its size limit it
 * refuses new keys and drops nothing that is claimed, unknown or still to be replayed (F49).
 */

import { responseBytes } from '../../core/response.ts';
import {
  type AuditAct,
  type ByHand,
  checkByHand,
  checkErase,
  checkNotes,
  giveUpRow,
  handRow,
  transitionRow,
} from '../../store/audit.ts';
import { checkEnds, settlements } from '../../store/ends.ts';
import { isListed } from '../../store/listed.ts';
import {
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
  serverView,
} from '../../store/machine/index.ts';
import type { StoreWithMessages } from '../../store/message.ts';
import { aFunction, readOptions, type Table, trueOrFalse, wholeNumber } from '../../core/options.ts';
import { reapedOf } from '../../store/reaped.ts';
import {
  compareDue,
  idText,
  isDue,
  isErased,
  isPurgeable,
  type RecordId,
  type SamekeyRecord,
} from '../../core/record.ts';
import { callerOf } from '../../core/scope.ts';
import type { Capabilities, CheckpointResult, Reaped, Store, Swept } from '../../store/store.ts';
import type { Decide, RowOf } from '../verbs/change.ts';
import { countsOf, listLimit } from '../verbs/reads.ts';
import { createMemoryAudit } from './audit.ts';
import { createMemoryReferences } from './references.ts';
import { createMessages } from './messages.ts';
import { createTransactions, type MemoryTransactions } from './transactions.ts';

/** Options of the memory store. */
export interface MemoryStoreOptions {
  /** Most records kept; default 100,000. */
  readonly recordsMax?: number;
  /** Most bytes of stored answers kept, roughly; default 256 MiB. */
  readonly bytesMax?: number;
  /** Most messages kept, dead letters among them; default 100,000. At the limit whatever enqueues one fails. */
  readonly messagesMax?: number;
  /** Whether each change of a record's state leaves a row in the audit; default false. */
  readonly auditTransitions?: boolean;
  /**
   * Test-only clock: milliseconds since 1970. Default: the process's monotonic clock, set by the wall clock at start.
   */
  readonly now?: () => number;
}

const CAPABILITIES: Capabilities = Object.freeze({
  transactions: true,
  transactionLock: true,
  serverClock: true,
  timePrecisionMs: 1,
  durable: false,
  shared: false,
  recordSizeMaxBytes: null,
});

const ROWS = {
  recordsMax: wholeNumber(1, undefined, 100_000),
  bytesMax: wholeNumber(1, undefined, 256 * 1024 * 1024),
  messagesMax: wholeNumber(1, undefined, 100_000),
  auditTransitions: trueOrFalse(false),
  now: aFunction<() => number>(),
} satisfies Table<MemoryStoreOptions>;

/** The memory store, with its messages and transactions. */
export interface MemoryStore extends Store, StoreWithMessages, MemoryTransactions {}

/** Makes a store in this process's memory. Throws `OptionsError` for unknown options and limits below 1. */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { recordsMax, bytesMax, messagesMax, auditTransitions, ...own } = readOptions(
    'memoryStore',
    ROWS,
    options,
  );
  const now = own.now ?? (() => Math.floor(performance.timeOrigin + performance.now()));
  const records = new Map<string, SamekeyRecord>();
  const audit = createMemoryAudit();
  const referring = createMemoryReferences(records);
  const byCaller = new Map<string, number>();
  let bytes = 0;

  function apply<Request extends RecordId, Result>(
    requests: readonly Request[],
    decide: Decide<Request, Result>,
    rowOf?: RowOf<Request>,
  ): Result[] {
    return requests.map((request) => applyOne(request, decide, rowOf));
  }

  function applyOne<Request extends RecordId, Result>(
    request: Request,
    decide: Decide<Request, Result>,
    rowOf?: RowOf<Request>,
  ): Result {
    const before = records.get(idText(request)) ?? null;
    const { write: after, result } = decide(before, request, serverView(before, now()));
    write(request, before, after);
    const row = before === null || after === undefined ? undefined : rowOf?.(before, after, request);
    if (row !== undefined) audit.add([row], now());
    return result;
  }

  function byHand<Request extends RecordId & ByHand, Result>(
    act: AuditAct,
    requests: readonly Request[],
    decide: Decide<Request, Result>,
  ): Result[] {
    checkByHand(requests);
    return apply(requests, decide, (before, after, request) => handRow(act, before, after, request));
  }

  function write(id: RecordId, before: SamekeyRecord | null, after: SamekeyRecord | null | undefined): void {
    if (after === undefined) return;
    bytes += responseBytes(after?.response ?? null) - responseBytes(before?.response ?? null);
    if ((before === null) !== (after === null)) countOne(callerOf(id.scope), after === null ? -1 : 1);
    if (after === null || isErased(after)) referring.remove(id);
    if (after === null) records.delete(idText(id));
    else records.set(idText(id), Object.freeze(after));
    const row = auditTransitions ? transitionRow(before, after) : undefined;
    if (row !== undefined) audit.add([row], now());
  }

  function countOne(caller: string, change: number): void {
    const count = (byCaller.get(caller) ?? 0) + change;
    if (count > 0) byCaller.set(caller, count);
    else byCaller.delete(caller);
  }

  function reap(most: number): Reaped {
    const time = now();
    const gone: SamekeyRecord[] = [];
    for (const record of records.values()) {
      if (gone.length >= most) break;
      if (!isPurgeable(record, time)) continue;
      write(record, record, null);
      gone.push(record);
    }
    return reapedOf(gone.map(({ scope }) => scope));
  }

  const outbox = createMessages({
    messagesMax,
    now,
    find: (id) => records.get(idText(id)) ?? null,
    apply: applyOne,
    audit: (row) => audit.add([row], now()),
    refer: (owner, { reference }) => {
      if (owner !== null && reference !== undefined) referring.put(owner, { reference, effect: null });
    },
  });
  const isFull = (): boolean => records.size >= recordsMax || bytes >= bytesMax;
  const transactions = createTransactions({
    records,
    now,
    view: (record) => serverView(record, now()),
    write: (before, after) => write(after, before, after),
    isFull,
    checkRoom: (count) => outbox.checkRoom(count),
    put: (messages) => outbox.put(messages),
    refer: (owner, reference) => referring.put(owner, reference),
  });

  return {
    name: 'memory',
    capabilities: CAPABILITIES,
    messages: outbox.messages,
    ...transactions,

    claim: async (requests) =>
      requests.map((request) => {
        const isNew = !records.has(idText(request));
        if (isNew && isFull()) reap(REAP_WHEN_FULL);
        if (isNew && isFull()) return { kind: 'full' };
        return apply([request], decideClaim)[0] as ReturnType<typeof decideClaim>['result'];
      }),
    renew: async (requests) => apply(requests, decideRenew),
    checkpoint: async (requests) =>
      requests.map((request) => {
        const result: CheckpointResult = applyOne(request, decideCheckpoint);
        if (result.kind === 'applied' && request.reference !== undefined)
          referring.put(request, request.reference);
        return result;
      }),
    async finish(requests) {
      checkEnds(requests);
      return apply(requests, decideFinish);
    },
    find: async (ids) => ids.map((id) => records.get(idText(id)) ?? null),

    async sweep(most, until) {
      const swept: Swept[] = [];
      for (const record of records.values()) {
        if (swept.length >= most) break;
        const decision = decideSweep(record, serverView(record, now()), until);
        if (decision === undefined) continue;
        write(record, record, decision.write);
        swept.push(decision.result);
      }
      return swept;
    },
    reap: async (most) => reap(most),
    due: async ({ operations, limit: most, after, ...backoff }) =>
      [...records.values()]
        .filter((record) => operations.includes(record.operation) && isDue(record, now(), backoff))
        .filter((record) => !after || compareDue(record, after) > 0)
        .toSorted(compareDue)
        .slice(0, most),

    async takeUnknown({ operations, limit: most, ...request }) {
      const taken = [...records.values()]
        .filter(({ operation }) => operations?.includes(operation) ?? true)
        .toSorted((a, b) => (a.reconcileAfter ?? 0) - (b.reconcileAfter ?? 0))
        .map((record) => ({ record, after: decideTakeUnknown(record, request, serverView(record, now())) }))
        .filter(({ after }) => after !== undefined)
        .slice(0, most);
      return taken.map(({ record, after }) => {
        write(record, record, after);
        return after as SamekeyRecord;
      });
    },
    postpone: async (requests) => apply(requests, decidePostpone, giveUpRow),

    settle: async (requests) => byHand('settle', settlements(requests), decideSettle),
    reopen: async (requests) => byHand('reopen', requests, decideReopen),
    forget: async (requests) => byHand('forget', requests, decideForget),
    async erase(request) {
      checkErase(request);
      let erased = 0;
      let left = 0;
      for (const record of records.values()) {
        if (callerOf(record.scope) !== request.scope) continue;
        const { write: after, result } = decideErase(record, request, { now: now() });
        if (result === 'already') continue;
        if (!after || erased >= request.limit) left += 1;
        else {
          write(record, record, after);
          outbox.dropDeadOf(record);
          audit.add([handRow('erase', record, after, request)], now());
          erased += 1;
        }
      }
      return { erased, left };
    },
    audit: async (request) => audit.list(request),
    async note(rows) {
      checkNotes(rows);
      audit.add(rows, now());
    },
    pruneAudit: async (request) => audit.prune(request, now()),
    // Exact as it is: nothing has to be told.
    counters: {
      add: async () => undefined,
      read: async (callers) => new Map(callers.map((caller) => [caller, byCaller.get(caller) ?? 0])),
      recount: async (caller) => byCaller.get(caller) ?? 0,
    },

    references: {
      find: async (references, limit) => referring.find(references, limit),
      underWay: async (operations, limit) => [
        ...referring.underWay(operations, limit),
        ...outbox.underWay(operations, limit),
      ],
    },
    list: async (request) =>
      [...records.values()]
        .filter((record) => isListed(record, request))
        .toSorted((a, b) => b.createdAt - a.createdAt)
        .slice(0, listLimit(request)),
    async count() {
      return countsOf([...records.values()].map(({ state }) => [state, 1]));
    },

    identity: ownIdentity(),
    ready: async () => undefined,
    close: async () => undefined,
  };
}

/** Enough to make room, few enough not to hold up a request. */
const REAP_WHEN_FULL = 100;

/** Nobody else can reach it. Its id is drawn when it is asked for: Workers draw nothing while a module is loaded. */
function ownIdentity(): NonNullable<Store['identity']> {
  let databaseId: string | undefined;
  return async () => ({ service: 'memory', databaseId: (databaseId ??= crypto.randomUUID()) });
}
