/**
 * The batcher (contract §10.4): groups concurrent calls of one verb into one bulk call. A lone call goes out after the
 * current microtask. A busy lane shares commits: the next flush starts when the last one returns, and after a flush of
 * several rows the next first one waits for what this turn of the event loop still has to read (`World.soon`), as it
 * comes with it. Where the store works on several calls at once, what waits is dealt out to as many flushes, each of
 * which is worth a call.
 *
 * Invariants: a caller gets its own row's result, after the store's reply, once · a request is in at most one flush at
 * a time, and no two on one record share a flush; in flushes that overlap the store lets them take turns
 * (`Store.callsAtOnceMax`) · a bad row fails alone (bisection) · a flush whose reply was lost is repeated as it was,
 * because only repeating the same conditional write can tell what became of it · every wait ends at the caller's
 * deadline.
 */

import { isStoreError, StoreError } from '../core/errors.ts';
import { pause } from '../core/pause.ts';
import type { Timer, World } from '../core/world.ts';

/** How a lane groups and sends. */
export interface LaneOptions<Request, Result> {
  readonly world: World;
  send(requests: readonly Request[]): Promise<readonly Result[]>;
  /** Two requests with the same id never share a flush: one statement must not touch a row twice. */
  idOf(request: Request): string;
  /** Roughly how many bytes the request adds to a statement. */
  sizeOf(request: Request): number;
  /** Whether the row was locked by somebody: it goes into the next flush. */
  isBusy(result: Result): boolean;
  readonly rowsMax: number;
  readonly bytesMax: number;
  /** Calls under way at once. */
  readonly callsAtOnceMax: number;
  /** Longest wait for one call of the store; then its reply counts as lost. */
  readonly callTimeMaxMs: number;
  onError(error: StoreError): void;
  /** Told of each call when it has come back, or is not waited for any longer; null: nobody wants to know. */
  readonly onCall:
    | ((call: {
        readonly rows: number;
        readonly busy: number;
        readonly durationMs: number;
        readonly failed: boolean;
      }) => void)
    | null;
}

/** One verb's queue. */
export interface Lane<Request, Result> {
  /**
   * Resolves with the store's result; rejects with `StoreError` when the store could not answer by `deadline`
   * (monotonic).
   */
  submit(request: Request, deadline: number): Promise<Result>;
}

interface Item<Request, Result> {
  readonly request: Request;
  readonly id: string;
  readonly size: number;
  readonly deadline: number;
  /** Whether it was in a flush whose fate is not known. */
  unclear: boolean;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: StoreError) => void;
}

/** A flush beside others is not made of fewer rows. */
const SHARE_MIN_ROWS = 8;
const BACKOFF_MIN_MS = 5;
const BACKOFF_MAX_MS = 250;

/** Makes a lane for one verb. */
export function createLane<Request, Result>(options: LaneOptions<Request, Result>): Lane<Request, Result> {
  const { world } = options;
  let queue: Item<Request, Result>[] = [];
  let pumps = 0;
  let starting = false;
  let backoffMs = 0;
  /** Nothing is sent before (monotonic), while there is a backoff. */
  let resumeAt = 0;
  /** Whether the last flush had several rows. */
  let grouped = false;
  const soon = world.soon ?? queueMicrotask;
  const startPump = (): void => {
    starting = false;
    void pump();
  };

  function submit(request: Request, deadline: number): Promise<Result> {
    return new Promise((resolve, reject) => {
      const id = options.idOf(request);
      queue.push({ request, id, size: options.sizeOf(request), deadline, unclear: false, resolve, reject });
      if (!starting && pumps < options.callsAtOnceMax) {
        starting = true;
        pumps += 1;
        // Where groups form, what is still to be read in this turn joins the first flush; alone it goes at once.
        (grouped ? soon : queueMicrotask)(startPump);
      }
    });
  }

  async function pump(): Promise<void> {
    while (queue.length > 0) {
      if (backoffMs > 0) await pause(world, Math.max(0, resumeAt - world.monotonicNow()));
      dropLate();
      const batch = nextBatch();
      grouped = batch.length > 1;
      // What waited longest is sent first.
      const sent = batch.length > 0 ? flush(batch) : undefined;
      if (queue.length > 0 && !starting && pumps < options.callsAtOnceMax) {
        pumps += 1;
        void pump();
      }
      if (sent !== undefined) await sent;
    }
    pumps -= 1;
  }

  function nextBatch(): Item<Request, Result>[] {
    const first = queue[0];
    if (first === undefined) return [];
    if (queue.length === 1) {
      queue = [];
      return [first];
    }
    const batch: Item<Request, Result>[] = [];
    const rest: Item<Request, Result>[] = [];
    const ids = new Set<string>();
    let bytes = 0;
    // What the others take has left the queue.
    const share = Math.ceil(queue.length / (options.callsAtOnceMax - pumps + 1));
    const rowsMax = Math.min(options.rowsMax, Math.max(share, SHARE_MIN_ROWS));
    for (const item of queue) {
      const fits = batch.length === 0 || (batch.length < rowsMax && bytes + item.size <= options.bytesMax);
      if (fits && !ids.has(item.id)) {
        batch.push(item);
        ids.add(item.id);
        bytes += item.size;
      } else {
        rest.push(item);
      }
    }
    queue = rest;
    return batch;
  }

  async function flush(batch: readonly Item<Request, Result>[]): Promise<void> {
    const { onCall } = options;
    const sentAt = onCall === null ? 0 : world.monotonicNow();
    const called = (busy: number, isFailure: boolean): void =>
      onCall?.({ rows: batch.length, busy, durationMs: world.monotonicNow() - sentAt, failed: isFailure });
    let results: readonly Result[];
    try {
      results = await callOf(
        options,
        batch.map((item) => item.request),
      );
    } catch (thrown) {
      const error = asStoreError(thrown);
      called(0, true);
      options.onError(error);
      await failed(batch, error);
      return;
    }
    backoffMs = 0;
    const busy: Item<Request, Result>[] = [];
    for (const [i, item] of batch.entries()) {
      const result = results[i] as Result;
      if (options.isBusy(result)) busy.push(item);
      else item.resolve(result);
    }
    called(busy.length, false);
    if (busy.length > 0) {
      if (busy.length === batch.length) backOff(BACKOFF_MIN_MS);
      queue.push(...busy);
    }
  }

  async function failed(batch: readonly Item<Request, Result>[], error: StoreError): Promise<void> {
    if (error.applied === 'unknown' && error.transient) {
      for (const item of batch) item.unclear = true;
      queue.unshift(...batch);
      backOff(Math.min(BACKOFF_MAX_MS, Math.max(BACKOFF_MIN_MS, backoffMs * 2)));
      return;
    }
    if (error.transient || batch.length === 1) {
      for (const item of batch) item.reject(item.unclear ? lostReply(error) : error);
      return;
    }
    // Some of it may have been applied, whatever the halves say.
    if (error.applied === 'unknown') for (const item of batch) item.unclear = true;
    // Something in this batch cannot be stored: halve until it stands alone, so that its neighbours go through.
    const half = batch.length >> 1;
    await flush(batch.slice(0, half));
    await flush(batch.slice(half));
  }

  /**
   * Counted from now and not from the next call: a caller that has less time than the backoff takes would be dropped
   * unsent each time, and without a call that succeeds the backoff would stay for ever.
   */
  function backOff(ms: number): void {
    backoffMs = ms;
    resumeAt = world.monotonicNow() + ms * (0.5 + world.random());
  }

  function dropLate(): void {
    const now = world.monotonicNow();
    if (queue.every((item) => item.deadline > now)) return;
    const late = queue.filter((item) => item.deadline <= now);
    queue = queue.filter((item) => item.deadline > now);
    for (const item of late) {
      item.reject(
        new StoreError('The store did not answer in time: check that it is reachable, then try again.', {
          applied: item.unclear ? 'unknown' : 'no',
        }),
      );
    }
  }

  return { submit };
}

/** One call of the store, within its time; what comes later is heard by nobody. */
function callOf<Request, Result>(
  options: LaneOptions<Request, Result>,
  requests: readonly Request[],
): Promise<readonly Result[]> {
  const { world, callTimeMaxMs } = options;
  return new Promise((resolve, reject) => {
    let timer: Timer | undefined = world.setTimer(callTimeMaxMs, () => {
      timer = undefined;
      reject(new StoreError(`The store took longer than ${callTimeMaxMs} ms.`, { applied: 'unknown' }));
    });
    options.send(requests).then(
      (results) => {
        timer?.cancel();
        resolve(results);
      },
      (error: unknown) => {
        timer?.cancel();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}

/** A store throws `StoreError` only; anything else is its bug, after which nobody knows what was applied. */
function asStoreError(thrown: unknown): StoreError {
  if (isStoreError(thrown)) return thrown;
  return new StoreError('The store failed in a way it does not know: see the cause.', {
    applied: 'unknown',
    transient: false,
    cause: thrown,
  });
}

/** Refused now, but an earlier flush with this row had no reply: it may have been applied then. */
function lostReply(error: StoreError): StoreError {
  const { transient, busy, retryAfterMs } = error;
  return new StoreError(error.message, { applied: 'unknown', transient, busy, retryAfterMs, cause: error });
}
