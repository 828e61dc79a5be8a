/**
 * Transactions in memory: rows of the application's own, the verbs of records and new messages are staged, and applied
 * in one step without an await, or not at all.
 *
 * Nobody waits for anybody: who has read or written what another has committed since is rolled back and runs again
 * (`again`), as at SERIALIZABLE. So a renewal proves that a transaction whose COMMIT nobody answered cannot commit any
 * more.
 */

import { isStoreError, StoreError } from '../../core/errors.ts';
import {
  type Decision,
  decideCheckpoint,
  decideClaim,
  decideFinish,
  decideHandOver,
  type View,
} from '../../store/machine/index.ts';
import type { NewMessage, StoredMessage } from '../../store/message.ts';
import { decideEnqueue } from '../../store/machine/messages.ts';
import { type Fingerprint, idText, type RecordId, type SamekeyRecord } from '../../core/record.ts';
import type { NewReference } from '../../store/references.ts';
import type {
  CheckpointRequest,
  CheckpointResult,
  ClaimRequest,
  FencedId,
  FinishRequest,
  FinishResult,
  HandResult,
} from '../../store/store.ts';
import type {
  NewRecord,
  Reservation,
  Reserved,
  ReservedId,
  TransactionFault,
} from '../../store/transaction.ts';
import { createOverlay, type Overlay } from './overlay.ts';

/**
 * Rows of the application's own that are committed, by their keys. Values are copied in and out (`structuredClone`).
 */
export interface MemoryRows {
  get(key: string): unknown;
  /** In the order of their keys. */
  entries(): readonly (readonly [key: string, value: unknown])[];
}

/** An open transaction of `transaction()`: proof for `within`, and the application's rows. */
export interface MemoryTransaction {
  /** Undefined when there is none. */
  get(key: string): unknown;
  set(key: string, value: unknown): void;
  delete(key: string): void;
}

/** The store's verbs inside a user's transaction: they commit or roll back with it. */
export interface WithinMemory {
  /** Ends an attempt together with the transaction's other writes. On `refused` the transaction must roll back. */
  finish(request: FinishRequest): FinishResult;
  /** Notes what the attempt has done so far. On `refused` the transaction must roll back. */
  checkpoint(request: CheckpointRequest): CheckpointResult;
  /** Gives the attempt to the worker of a message. On `refused` the transaction must roll back. */
  handOver(owner: FencedId): HandResult;
  /** Puts messages in: they are delivered if and when the transaction commits. */
  enqueue(messages: readonly NewMessage[]): void;
  /** Refuses its COMMIT when more time has passed. */
  limit(timeMaxMs: number): Promise<void>;
  /** The same, and reserves the key until the transaction ends. Unless `reserved` it must roll back. */
  reserve(request: ClaimRequest, timeMaxMs: number): Reserved;
  /** Writes the whole record of a reserved key. On `refused` the transaction must roll back. */
  record(record: NewRecord): FinishResult;
}

/** What transactions are made of. */
interface MemoryTransactionsOptions {
  readonly records: ReadonlyMap<string, SamekeyRecord>;
  readonly now: () => number;
  readonly view: (record: SamekeyRecord | null) => View;
  /** Applies one changed record. */
  readonly write: (before: SamekeyRecord | null, after: SamekeyRecord) => void;
  /** Whether no further record has room. */
  readonly isFull: () => boolean;
  /** Throws when there is no room for so many messages. */
  readonly checkRoom: (messages: number) => void;
  /** Puts messages in at the end of the line. */
  readonly put: (messages: readonly StoredMessage[]) => void;
  /** Writes a reference, if the record still is its owner’s. */
  readonly refer: (owner: FencedId, reference: NewReference) => void;
}

/** The transactions of a store. */
export interface MemoryTransactions {
  readonly rows: MemoryRows;
  transaction<T>(body: (tx: MemoryTransaction) => T | Promise<T>): Promise<T>;
  within(tx: MemoryTransaction): WithinMemory;
  transactionFault(error: unknown): TransactionFault;
  reservations(requests: readonly ReservedId[]): Promise<readonly Reservation[]>;
}

/** A row of the application's; a new one for each write. */
interface Box {
  readonly value: unknown;
}

interface Staged {
  readonly rows: Overlay<Box>;
  readonly records: Overlay<SamekeyRecord>;
  readonly messages: StoredMessage[];
  readonly references: (readonly [owner: FencedId, reference: NewReference])[];
  /** The key that it has reserved. */
  reserved: string | null;
  commitUntil: number;
  isOpen: boolean;
}

/** Makes them. */
export function createTransactions(options: MemoryTransactionsOptions): MemoryTransactions {
  const { records, now } = options;
  const table = new Map<string, Box>();
  const conflicts = new WeakSet<object>();
  const begun = new WeakMap<MemoryTransaction, Staged>();
  const reservations = createReservations(now);

  function begin(): readonly [MemoryTransaction, Staged] {
    const staged: Staged = {
      rows: createOverlay(table),
      records: createOverlay(records),
      messages: [],
      references: [],
      reserved: null,
      commitUntil: Number.POSITIVE_INFINITY,
      isOpen: true,
    };
    const tx: MemoryTransaction = Object.freeze({
      get: (key: string) => structuredClone(opened(staged).rows.get(key)?.value),
      set: (key: string, value: unknown) => opened(staged).rows.set(key, { value: structuredClone(value) }),
      delete: (key: string) => opened(staged).rows.set(key, null),
    });
    begun.set(tx, staged);
    return [tx, staged];
  }

  /** All checks, then all writes: nothing throws once something is written. */
  function commit(staged: Staged): void {
    if (now() > staged.commitUntil)
      throw new StoreError('The transaction took longer than its claim lasts: it is rolled back.', {
        applied: 'no',
      });
    if (staged.rows.isStale() || staged.records.isStale()) throw conflict();
    options.checkRoom(staged.messages.length);
    for (const [key, box] of staged.rows.writes()) {
      if (box === null) table.delete(key);
      else table.set(key, box);
    }
    for (const [key, after] of staged.records.writes()) {
      // No verb in here deletes one.
      if (after !== null) options.write(records.get(key) ?? null, after);
    }
    for (const [owner, reference] of staged.references) options.refer(owner, reference);
    options.put(staged.messages);
  }

  function conflict(): StoreError {
    const error = new StoreError(
      'The transaction is rolled back: what it read or wrote was changed by another that has committed since. Run it again.',
      { applied: 'no' },
    );
    conflicts.add(error);
    return error;
  }

  return {
    rows: {
      get: (key) => structuredClone(table.get(key)?.value),
      entries: () =>
        [...table]
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, { value }]) => [key, structuredClone(value)] as const),
    },

    async transaction(body) {
      const [tx, staged] = begin();
      try {
        const result = await body(tx);
        commit(staged);
        return result;
      } finally {
        staged.isOpen = false;
        reservations.end(staged);
      }
    },

    within(tx) {
      const staged = opened(begun.get(tx));

      function one<Request extends RecordId, Result>(
        request: Request,
        decide: (record: SamekeyRecord | null, request: Request, view: View) => Decision<Result>,
      ): Result {
        const id = idText(request);
        const record = opened(staged).records.get(id) ?? null;
        const { write: after, result } = decide(record, request, options.view(record));
        if (after !== undefined) staged.records.set(id, after === null ? null : Object.freeze(after));
        return result;
      }

      return {
        finish: (request) => one(request, decideFinish),
        checkpoint(request) {
          const result = one(request, decideCheckpoint);
          if (result.kind === 'applied' && request.reference !== undefined)
            staged.references.push([request, request.reference]);
          return result;
        },
        handOver: (owner) => one(owner, decideHandOver),
        enqueue(messages) {
          // Their places follow the commits; what they are delayed by counts from now.
          opened(staged).messages.push(...messages.map((message) => decideEnqueue(message, 0, now())));
          for (const { owner, reference } of messages) {
            if (owner !== null && reference !== undefined)
              staged.references.push([owner, { reference, effect: null }]);
          }
        },
        async limit(timeMaxMs) {
          opened(staged).commitUntil = now() + timeMaxMs;
        },
        reserve(request, timeMaxMs) {
          opened(staged).commitUntil = now() + timeMaxMs;
          const id = idText(request);
          // Where there is no room, a claim says so.
          if (records.has(id) || options.isFull()) return 'known';
          if (reservations.of(id) !== undefined) return 'taken';
          reservations.add(id, staged, request.fingerprint);
          return 'reserved';
        },
        record: ({ claim, end }) => {
          const claimed = one(claim, decideClaim);
          if (claimed.kind !== 'claimed')
            return { kind: 'refused', record: claimed.kind === 'found' ? claimed.record : null };
          if (end !== null) return one(end, decideFinish);
          const fence = { scope: claim.scope, key: claim.key, claimId: claim.claimId, attempt: 1 };
          const handed = one(fence, decideHandOver);
          return handed.kind === 'applied'
            ? { kind: 'applied', expiresAt: claimed.expiresAt }
            : { kind: 'refused', record: null };
        },
      };
    },

    async reservations(requests) {
      return requests.map((request): Reservation => {
        const id = idText(request);
        const taken = reservations.of(id);
        if (records.has(id)) return 'known';
        if (taken === undefined) return 'free';
        return isAnother(taken, request.fingerprint) ? 'other' : 'same';
      });
    },

    transactionFault(error) {
      if (typeof error === 'object' && error !== null && conflicts.has(error)) return 'again';
      return isStoreError(error) && error.applied === 'no' ? 'rolled-back' : 'unclear';
    },
  };
}

/** What is reserved, by id. */
interface Reservations {
  /** Undefined: nobody has it. Of one whose time is up nothing can be committed any more. */
  of(id: string): Fingerprint | undefined;
  add(id: string, staged: Staged, fingerprint: Fingerprint): void;
  /** The transaction has ended. */
  end(staged: Staged): void;
}

function createReservations(now: () => number): Reservations {
  const all = new Map<string, { readonly staged: Staged; readonly fingerprint: Fingerprint }>();
  return {
    of(id) {
      const held = all.get(id);
      return held === undefined || now() > held.staged.commitUntil ? undefined : held.fingerprint;
    },
    add(id, staged, fingerprint) {
      all.set(id, { staged, fingerprint });
      staged.reserved = id;
    },
    end(staged) {
      const { reserved } = staged;
      if (reserved !== null && all.get(reserved)?.staged === staged) all.delete(reserved);
    },
  };
}

/** Of two that are made in different ways nobody knows. */
function isAnother(a: Fingerprint, b: Fingerprint): boolean {
  return a.label === b.label && a.digest !== b.digest;
}

function opened(staged: Staged | undefined): Staged {
  if (staged?.isOpen === true) return staged;
  throw new StoreError(
    'A transaction was used that has ended or belongs to another store: use it inside the function that transaction() of this ' +
      'store runs, and await everything there.',
    { applied: 'no', transient: false },
  );
}
