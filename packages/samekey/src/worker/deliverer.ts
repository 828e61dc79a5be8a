/**
 * Runs the handler of one message and writes what became of it.
 *
 * Invariants: the delivery was counted before the handler is called · success is told only after the handler's
 * promise · a failure counts as proven without effect only by `NotExecutedError` · a handler that says that it does not
 * know is not called again.
 */

import {
  InvariantError,
  isNotExecutedError,
  isOutcomeUnknownError,
  isStoreError,
  OutcomeUnknownError,
} from '../core/errors.ts';
import { textOfError } from '../core/listener.ts';
import { type Lease, messageKeyText, type RetryRequest, type TakenMessage } from '../store/message.ts';
import { contradictionRow, createNoter } from '../engine/ending/noter.ts';
import { pause } from '../core/pause.ts';
import type { SamekeyRecord } from '../core/record.ts';
import { referenceOf } from '../store/references.ts';
import { answerOf, isReply } from '../ways/reply.ts';
import type { FinishRequest } from '../store/store.ts';
import { type ReceivedMessage, RunningDelivery } from './delivery.ts';
import type { Ends } from './delivery-ends.ts';
import type { DeliveringOptions, WorkerProbePoint } from './options.ts';
import { type LateEnd, meaningOf } from './late-end.ts';
import { recordOfAnswer, recordOfDeath, recordOfUnknown } from './delivery-outcome.ts';

/** A message whose worker died with its last delivery. */
const NEVER_ENDED = 'Its last delivery began and never ended: its worker died, or its handler hung.';
/** Errors are kept for people: their beginning tells. */
const ERROR_LENGTH_MAX = 2_000;

/** Longest time of one note to the audit, in milliseconds. */
const NOTE_TIME_MAX_MS = 5_000;
/**
 * How often the record of a delivery that came too late is looked for, and the first pause between, in milliseconds.
 */
const LATE_TRIES_MAX = 5;
const LATE_PAUSE_MS = 500;

/** Delivers. */
export interface Deliverer {
  /** Makes the delivery of a message that was asked for at `askedAt` (monotonic). */
  begin(taken: TakenMessage, askedAt: number): Promise<RunningDelivery>;
  /** Calls the handler; `ended` is called when it has returned, the promise resolves when that is written. */
  run(delivery: RunningDelivery, ended: () => void): Promise<void>;
  /** Gives it back unbegun. */
  handBack(taken: TakenMessage, askedAt: number): Promise<void>;
}

/** Makes it. `isStopping`: a failure then costs no waiting. */
export function createDeliverer(
  options: DeliveringOptions,
  ends: Ends,
  isStopping: () => boolean,
): Deliverer {
  const { emit, handlers, leaseMs, deliveryTimeMaxMs, world } = options;
  const noter = createNoter({
    store: options.store,
    world,
    callTimeMaxMs: NOTE_TIME_MAX_MS,
    failed: (error) => emit({ type: 'store-error', verb: 'note', error }),
  });
  const encoder = new TextEncoder();
  const digestOf = ({ id }: TakenMessage): string | Promise<string> =>
    world.sha256(encoder.encode(messageKeyText(id)));
  // Most handlers of no outside call never ask for the key.
  const isSync = typeof world.sha256(new Uint8Array()) === 'string';

  async function probe(point: WorkerProbePoint, { taken }: RunningDelivery): Promise<void> {
    if (options.probe !== undefined) await options.probe(point, taken.id);
  }

  /** Told, and noted beside the delivery: its end does not fit the record. */
  function contradicted(
    delivery: RunningDelivery,
    record: Pick<FinishRequest, 'scope' | 'key' | 'attempt' | 'to'>,
    found: SamekeyRecord | null,
  ): void {
    const { scope, key, attempt, to: wanted } = record;
    emit({ type: 'contradiction', ...about(delivery), record: { scope, key } });
    const reason = `message ${delivery.taken.id}`;
    const operation = found?.operation ?? null;
    void noter.note(
      contradictionRow({
        id: { scope, key },
        operation,
        attempt,
        found: found?.state ?? null,
        wanted,
        reason,
      }),
    );
  }

  /**
   * The message is somebody else's, or gone; what its handler did stays done. `answer`: null, if nobody knows what that
   * was.
   */
  async function endedLate(delivery: RunningDelivery, answer: FinishRequest | null): Promise<void> {
    if (delivery.tellLost()) emit({ type: 'lease-lost', ...about(delivery) });
    const { owner } = delivery.taken;
    if (owner === null) return;
    let end: LateEnd = 'not-known';
    if (answer !== null) end = answer.to === 'completed' ? 'success' : 'refusal';
    const found = await patiently('find', () => options.store.find([owner]));
    if (found === undefined) return;
    const [record = null] = found;
    const wanted = answer ?? ({ ...owner, to: 'completed' } as const);
    let meaning = meaningOf(record, owner, end);
    let stands = record;
    if (answer !== null && (meaning === 'take' || meaning === 'take-and-tell')) {
      // No longer handed over: nobody knew what became of it. Whatever was decided in between refuses this.
      const request: FinishRequest = { ...answer, handedOver: false };
      const [result] = (await patiently('finish', () => options.store.finish([request]))) ?? [];
      if (result?.kind === 'refused') {
        stands = result.record;
        meaning = meaningOf(stands, owner, end);
      } else if (result !== undefined) {
        options.store.hints?.changed(answer);
        emit({ type: 'late-answer', ...told(delivery), record: answer.to });
      }
    }
    if (meaning === 'contradiction' || meaning === 'take-and-tell') contradicted(delivery, wanted, stands);
  }

  /** Repeats what the store could not answer for; undefined when it never did. */
  async function patiently<T>(verb: string, call: () => Promise<T>): Promise<T | undefined> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call();
      } catch (error) {
        emit({ type: 'store-error', verb, error });
        if (tries === LATE_TRIES_MAX || !isStoreError(error) || !error.transient) return undefined;
        await pause(world, LATE_PAUSE_MS * tries);
      }
    }
  }

  async function succeeded(delivery: RunningDelivery, value: unknown): Promise<void> {
    const { taken, lease, leasedUntil } = delivery;
    if (delivery.saidUnknown !== null) throw new OutcomeUnknownError(delivery.saidUnknown);
    if (isReply(value) && value.status >= 500) throw new Error(`The handler answered ${value.status}.`);
    // What nobody will ask for need not be an answer: a driver's result with a BigInt in it must not bring the message
    // back.
    const answer = taken.owner === null ? null : answerOf(value);
    const record = answer === null ? null : recordOfAnswer(taken, answer);
    if (options.probe !== undefined) await probe('end.before', delivery);
    const result = await ends.done({ ...lease, record }, leasedUntil);
    if (options.probe !== undefined) await probe('end.applied', delivery);
    if (result === 'unclear') return;
    if (result === 'lost') return endedLate(delivery, record);
    if (record !== null) options.store.hints?.changed(record);
    if (result === 'contradiction' && record !== null) contradicted(delivery, record, null);
    emit({ type: 'delivered', ...told(delivery) });
    if (answer?.error !== undefined)
      emit({ type: 'answer-not-stored', ...about(delivery), error: answer.error });
  }

  async function failed(delivery: RunningDelivery, error: unknown): Promise<void> {
    const { taken, lease, leasedUntil } = delivery;
    if (isOutcomeUnknownError(error)) delivery.unknown(error.reason);
    const isUnknown = delivery.saidUnknown !== null;
    const proven = !isUnknown && isNotExecutedError(error);
    if (isUnknown || delivery.givesUp || taken.started - taken.forgiven >= options.deliveriesMax) {
      return bury(delivery, error, { begun: true, proven });
    }
    const delayMs = isStopping() ? 0 : backoff(options, taken.started - taken.forgiven);
    if (options.probe !== undefined) await probe('end.before', delivery);
    const result = await ends.retry(
      { ...lease, delayMs, error: textOf(error), proven, begun: true },
      leasedUntil,
    );
    if (options.probe !== undefined) await probe('end.applied', delivery);
    if (result === 'lost') return lost(delivery, proven);
    // Told once it is written (F150): until then it is not known to be tried again.
    if (result !== 'unclear')
      emit({ type: 'delivery-failed', ...told(delivery), error, proven, retryInMs: delayMs });
  }

  /** The end of a failed delivery came too late. */
  async function lost(delivery: RunningDelivery, proven: boolean): Promise<void> {
    if (!proven) return endedLate(delivery, null);
    if (delivery.tellLost()) emit({ type: 'lease-lost', ...about(delivery) });
  }

  async function bury(
    delivery: RunningDelivery,
    error: unknown,
    how: { readonly begun: boolean; readonly proven: boolean },
  ): Promise<void> {
    const { taken, lease, leasedUntil } = delivery;
    const record =
      delivery.saidUnknown === null
        ? recordOfDeath(taken, how.proven)
        : recordOfUnknown(taken, delivery.saidUnknown);
    const result = await ends.dead({ ...lease, error: textOf(error), ...how, record }, leasedUntil);
    // Without a word of the store it is no dead letter yet (F150): it comes again when its lease has ended.
    if (result === 'unclear') return;
    // What was not begun did nothing.
    if (result === 'lost') return lost(delivery, how.proven || !how.begun);
    if (record !== null) options.store.hints?.changed(record);
    if (result === 'contradiction' && record !== null) contradicted(delivery, record, null);
    emit({ type: 'dead-letter', ...told(delivery), error, record: record?.to ?? null });
  }

  function told(delivery: RunningDelivery): ReturnType<typeof about> & {
    durationMs: number;
    traceparent: string | null;
  } {
    const { headers } = delivery.taken;
    const traceparent =
      headers === null ? undefined : (JSON.parse(headers) as { traceparent?: string }).traceparent;
    return {
      ...about(delivery),
      durationMs: world.monotonicNow() - delivery.startedAt,
      traceparent: traceparent ?? null,
    };
  }

  return {
    async begin(taken, askedAt) {
      return new RunningDelivery(taken, {
        downstreamKey: isSync ? () => digestOf(taken) as string : constant(await digestOf(taken)),
        now: () => world.monotonicNow(),
        leasedUntil: askedAt + leaseMs,
        timeMaxMs: deliveryTimeMaxMs,
        async note(request) {
          const reference =
            taken.owner === null ? undefined : await referenceOf(world, 'provider-id', request.providerId);
          const result = await ends.note({ ...request, reference });
          if (options.probe !== undefined) await options.probe('note.applied', taken.id);
          return result;
        },
      });
    },

    async run(delivery, ended) {
      const { taken } = delivery;
      let outcome: { readonly value: unknown } | { readonly error: unknown };
      try {
        if (taken.exhausted) {
          ended();
          return await bury(delivery, new Error(NEVER_ENDED), { begun: false, proven: false });
        }
        if (options.probe !== undefined) await probe('handler.before', delivery);
        const handler = handlers.get(taken.topic);
        // What its payload is, only the handler knows.
        if (handler === undefined) throw new InvariantError('a message of an unknown topic was taken');
        // It stood still since it asked: another worker may have the message by now, or may have ended it.
        if (delivery.isOver) {
          delivery.ended = true;
          ended();
          // Not begun, so not counted; if it is another's already, nothing is lost.
          await ends.retry(unbegun(delivery.lease), delivery.leasedUntil);
          return;
        }
        outcome = { value: await handler(received(taken) as ReceivedMessage<never>, delivery) };
      } catch (error) {
        outcome = { error };
      }
      delivery.ended = true;
      ended();
      if (options.probe !== undefined) await probe('handler.after', delivery);
      if ('error' in outcome) return failed(delivery, outcome.error);
      try {
        await succeeded(delivery, outcome.value);
      } catch (error) {
        // An answer of 500 and above.
        await failed(delivery, error);
      }
    },

    async handBack(taken, askedAt) {
      const { id, place, leaseId, started } = taken;
      // An exhausted one was not counted this time.
      if (taken.exhausted) return;
      await ends.retry(unbegun({ id, place, leaseId, started }), askedAt + leaseMs);
    },
  };
}

/** Back as if it had not been taken. */
function unbegun(lease: Lease): RetryRequest {
  return { ...lease, delayMs: 0, error: null, proven: false, begun: false };
}

function about({ taken }: RunningDelivery): { id: string; topic: string; delivery: number } {
  return { id: taken.id, topic: taken.topic, delivery: taken.started };
}

function received(taken: TakenMessage): ReceivedMessage {
  const { id, topic, group, createdAt, headers } = taken;
  return {
    id,
    topic,
    group,
    payload: JSON.parse(taken.payload) as unknown,
    headers: headers === null ? {} : (JSON.parse(headers) as Record<string, string>),
    createdAt,
  };
}

/** Doubled with each delivery; half of it is chance, so that what failed together does not come again together. */
function backoff(
  { backoffMinMs, backoffMaxMs, world }: Pick<DeliveringOptions, 'backoffMinMs' | 'backoffMaxMs' | 'world'>,
  deliveries: number,
): number {
  const most = Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.min(40, deliveries - 1));
  return Math.round(most * (0.5 + world.random() / 2));
}

function textOf(error: unknown): string {
  const text = error instanceof Error ? error.stack : undefined;
  return (typeof text === 'string' ? text : textOfError(error)).slice(0, ERROR_LENGTH_MAX);
}

function constant(key: string): () => string {
  return () => key;
}
