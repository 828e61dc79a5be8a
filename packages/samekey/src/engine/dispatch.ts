/**
 * The one way from the engine to a store: groups calls, bounds their time, asserts what goes in and what comes out, and
 * tells of errors. Nothing above it calls a store's hot path directly.
 */

import { createLane, type Lane } from './batcher.ts';
import { InvariantError, type StoreError } from '../core/errors.ts';
import type { Emit, StoreVerb } from './events.ts';
import { idText, type RecordId, type SamekeyRecord, type Unreadable } from '../core/record.ts';
import { responseBytes } from '../core/response.ts';
import { asUnread } from '../store/seal-marks.ts';
import { createStoreHealth } from './store-health.ts';
import type {
  CheckpointRequest,
  CheckpointResult,
  ClaimRequest,
  ClaimResult,
  FinishRequest,
  FinishResult,
  HotStore,
  RenewRequest,
  RenewResult,
  Store,
} from '../store/store.ts';
import type { Reservation, ReservedId, TransactionalStore } from '../store/transaction.ts';
import type { World } from '../core/world.ts';

/** Limits of the dispatcher. */
interface DispatchOptions {
  /** Rows in one flush at most. */
  readonly batchRowsMax: number;
  /** Bytes in one flush at most, roughly. */
  readonly batchBytesMax: number;
  /** One call of the store at most, in milliseconds. */
  readonly callTimeMaxMs: number;
}

/** A store's hot path, one row at a time; the rows travel together. Each call ends by its `deadline` (monotonic). */
export interface Dispatch {
  claim(request: ClaimRequest, deadline: number): Promise<ClaimResult>;
  renew(request: RenewRequest, deadline: number): Promise<RenewResult>;
  finish(request: FinishRequest, deadline: number): Promise<FinishResult>;
  checkpoint(request: CheckpointRequest, deadline: number): Promise<CheckpointResult>;
  find(id: RecordId, deadline: number): Promise<SamekeyRecord | null>;
  /** Who has a key that a transaction may have reserved. */
  reservation(request: ReservedId, deadline: number): Promise<Reservation>;
}

/** Wraps the hot path of a store. */
export function createDispatch(
  store: HotStore &
    Pick<Store, 'name' | 'refuseCaller' | 'callsAtOnceMax'> &
    Pick<TransactionalStore, 'reservations'>,
  world: World,
  options: DispatchOptions,
  emit: Emit,
): Dispatch {
  const health = createStoreHealth(store.name, world);

  function lane<Request extends RecordId, Result>(
    verb: StoreVerb,
    send: (requests: readonly Request[]) => Promise<readonly Result[]>,
    checkResult: (request: Request, result: Result) => void,
    sizeOf: (request: Request) => number,
    idOf: (request: Request) => string = idText,
  ): Lane<Request, Result> {
    const grouped = createLane<Request, Result>({
      world,
      idOf,
      sizeOf,
      isBusy,
      rowsMax: options.batchRowsMax,
      bytesMax: options.batchBytesMax,
      callsAtOnceMax: store.callsAtOnceMax ?? 1,
      callTimeMaxMs: options.callTimeMaxMs,
      onCall:
        emit === null
          ? null
          : ({ rows, busy, durationMs, failed }) =>
              emit({ type: 'store-call', verb, rows, busy, durationMs, failed }),
      onError(error: StoreError) {
        health.failed(error);
        emit?.({ type: 'store-error', verb, applied: error.applied, error });
      },
      async send(requests) {
        const results = await send(requests);
        health.answered();
        check(
          results.length === requests.length,
          `${verb} answered ${results.length} of ${requests.length} rows`,
        );
        // Copied only where a seal was met.
        let read = results;
        for (const [i, request] of requests.entries()) {
          const given = results[i] as Result;
          const result = asUnread(given);
          if (result !== given) read = read.with(i, result);
          checkResult(request, result);
        }
        return read;
      },
    });
    return {
      submit(request, deadline) {
        try {
          store.refuseCaller?.();
        } catch (error) {
          return Promise.reject(error instanceof Error ? error : new Error(String(error)));
        }
        return grouped.submit(request, deadline);
      },
    };
  }

  /** Nothing stored for one scope is ever visible to another: a store that mixes rows up is stopped here. */
  function checkRecord(id: RecordId, record: SamekeyRecord | null): void {
    if (record === null) return;
    check(
      record.scope === id.scope && record.key === id.key,
      'the store answered with the record of another scope or key',
    );
    if (record.unreadable !== undefined) tellUnreadable(id, record.operation, record.unreadable);
  }

  function tellUnreadable({ scope, key }: RecordId, operation: string, why: Unreadable): void {
    emit?.({ type: 'record-unreadable', id: { scope, key }, operation, ...why });
  }

  const claims = lane<ClaimRequest, ClaimResult>(
    'claim',
    (requests) => store.claim(requests),
    (request, result) => {
      if (result.kind === 'found') checkRecord(request, result.record);
      else if (result.kind === 'claimed') {
        check(result.attempt >= 1, `claim granted attempt ${result.attempt}`);
        const why = result.resumed?.unreadable;
        if (why !== undefined) tellUnreadable(request, request.operation, why);
      }
    },
    (request) => ROW_BYTES + (request.input?.length ?? 0),
  );
  const checkpoints = lane<CheckpointRequest, CheckpointResult>(
    'checkpoint',
    (requests) => store.checkpoint(requests),
    (request, result) => {
      if (result.kind === 'refused') checkRecord(request, result.record);
    },
    (request) => ROW_BYTES + (request.steps?.length ?? 0),
  );
  const renewals = lane<RenewRequest, RenewResult>(
    'renew',
    (requests) => store.renew(requests),
    (request, result) => {
      if (result.kind === 'lost') checkRecord(request, result.record);
    },
    () => ROW_BYTES,
  );
  const finishes = lane<FinishRequest, FinishResult>(
    'finish',
    (requests) => store.finish(requests),
    (request, result) => {
      if (result.kind === 'refused') checkRecord(request, result.record);
    },
    (request) => ROW_BYTES + responseBytes(request.response),
  );
  const { finds, reservations } = readLanes(store, lane, checkRecord);

  return {
    claim(request, deadline) {
      checkClaim(request);
      return claims.submit(request, deadline);
    },
    renew(request, deadline) {
      checkFence(request);
      return renewals.submit(request, deadline);
    },
    finish(request, deadline) {
      checkFinish(request);
      return finishes.submit(request, deadline);
    },
    checkpoint(request, deadline) {
      checkFence(request);
      return checkpoints.submit(request, deadline);
    },
    find(id, deadline) {
      checkId(id);
      return finds.submit(id, deadline);
    },
    reservation(request, deadline) {
      checkId(request);
      return reservations.submit(request, deadline);
    },
  };
}

type MakeLane = <Request extends RecordId, Result>(
  verb: StoreVerb,
  send: (requests: readonly Request[]) => Promise<readonly Result[]>,
  checkResult: (request: Request, result: Result) => void,
  sizeOf: (request: Request) => number,
  idOf?: (request: Request) => string,
) => Lane<Request, Result>;

/** What writes nothing. */
function readLanes(
  store: HotStore & Pick<TransactionalStore, 'reservations'>,
  lane: MakeLane,
  checkRecord: (id: RecordId, record: SamekeyRecord | null) => void,
): {
  readonly finds: Lane<RecordId, SamekeyRecord | null>;
  readonly reservations: Lane<ReservedId, Reservation>;
} {
  let asked = 0;
  return {
    finds: lane(
      'find',
      (ids) => store.find(ids),
      checkRecord,
      () => ROW_BYTES,
    ),
    reservations: lane(
      'reservations',
      async (requests) => {
        if (store.reservations === undefined) throw new InvariantError('the store reserves no keys');
        return store.reservations(requests);
      },
      () => undefined,
      () => ROW_BYTES,
      // Many ask about one key at once: they write nothing, and share a flush.
      () => String((asked += 1)),
    ),
  };
}

function checkClaim(request: ClaimRequest): void {
  checkId(request);
  check(request.claimTtlMs > 0, 'a claim must last');
  check(request.attemptMax >= 1, 'attemptMax must allow one attempt');
  check(request.entry !== 'accept' || request.input !== null, 'a request that is only noted needs its input');
}

/** What no end may be, whatever wanted it. */
function checkFinish(request: FinishRequest): void {
  checkFence(request);
  const final = request.to === 'completed' || request.to === 'failed';
  check(final || request.response === null, `an answer was given for a record that becomes ${request.to}`);
  check(
    (request.proof !== null) === (request.to === 'retryable'),
    `${request.to} with proof ${request.proof}`,
  );
  check(
    !request.unbindFingerprint || request.to === 'retryable',
    'only a retryable record may unbind its fingerprint',
  );
}

/** What a row costs beside its body: ids, fingerprint, times. */
const ROW_BYTES = 512;

function isBusy(result: unknown): boolean {
  return (result as { kind?: unknown } | null)?.kind === 'busy';
}

function check(condition: boolean, message: string): void {
  if (!condition) throw new InvariantError(message);
}

function checkId(id: RecordId): void {
  check(id.scope.length > 0 && id.key.length > 0, 'a record needs a scope and a key');
}

function checkFence(request: RecordId & { readonly claimId: string; readonly attempt: number }): void {
  checkId(request);
  check(request.claimId.length > 0 && request.attempt >= 1, 'a write after a claim needs its fence');
}
