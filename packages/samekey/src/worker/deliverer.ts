/**
 * Runs the handler of one message and writes what became of it.
 *
 * Invariants: the delivery was counted before the handler is called · success is told only after the handler's promise · a failure
 * counts as proven without effect only by `NotExecutedError` · a handler that says that it does not know is not called again.
 */

import {
  InvariantError,
  isNotExecutedError,
  isOutcomeUnknownError,
  OutcomeUnknownError,
} from '../core/errors.ts';
import { textOfError } from '../core/listener.ts';
import { messageKeyText, type TakenMessage } from '../core/message.ts';
import { contradictionRow, createNoter } from '../core/noter.ts';
import { answerOf, isReply } from '../core/reply.ts';
import type { FinishRequest } from '../core/store.ts';
import { systemWorld } from '../system.ts';
import { type ReceivedMessage, RunningDelivery } from './delivery.ts';
import type { Ends } from './ends.ts';
import type { DeliveringOptions, WorkerProbePoint } from './options.ts';
import { recordOfAnswer, recordOfDeath, recordOfUnknown } from './settle.ts';

/** A message whose worker died with its last delivery. */
const NEVER_ENDED = 'Its last delivery began and never ended: its worker died, or its handler hung.';
/** Errors are kept for people: their beginning tells. */
const ERROR_LENGTH_MAX = 2_000;

/** Longest time of one note to the audit, in milliseconds. */
const NOTE_TIME_MAX_MS = 5_000;

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
  const { emit, handlers, leaseMs, deliveryTimeMaxMs } = options;
  const world = systemWorld();
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

  /** Told, and noted beside the delivery: the message has ended as it should. */
  function contradicted(delivery: RunningDelivery, record: FinishRequest): void {
    emit({ type: 'contradiction', ...about(delivery), record });
    const { scope, key, attempt, to: wanted } = record;
    const reason = `message ${delivery.taken.id}`;
    void noter.note(
      contradictionRow({ id: { scope, key }, operation: null, attempt, found: null, wanted, reason }),
    );
  }

  async function succeeded(delivery: RunningDelivery, value: unknown): Promise<void> {
    const { taken, lease, leasedUntil } = delivery;
    if (delivery.saidUnknown !== null) throw new OutcomeUnknownError(delivery.saidUnknown);
    if (isReply(value) && value.status >= 500) throw new Error(`The handler answered ${value.status}.`);
    // What nobody will ask for need not be an answer: a driver's result with a BigInt in it must not bring the message back.
    const answer = taken.owner === null ? null : answerOf(value);
    const record = answer === null ? null : recordOfAnswer(taken, answer);
    if (options.probe !== undefined) await probe('end.before', delivery);
    const result = await ends.done({ ...lease, record }, leasedUntil);
    if (options.probe !== undefined) await probe('end.applied', delivery);
    if (record !== null) options.store.hints?.changed(record);
    if (result === 'contradiction' && record !== null) contradicted(delivery, record);
    if (result === 'lost') emit({ type: 'lease-lost', ...about(delivery) });
    else if (result !== 'unclear') {
      emit({ type: 'delivered', ...told(delivery) });
      if (answer?.error !== undefined)
        emit({ type: 'answer-not-stored', ...about(delivery), error: answer.error });
    }
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
    if (result === 'lost') emit({ type: 'lease-lost', ...about(delivery) });
    else emit({ type: 'delivery-failed', ...told(delivery), error, proven, retryInMs: delayMs });
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
    if (record !== null) options.store.hints?.changed(record);
    if (result === 'lost') return emit({ type: 'lease-lost', ...about(delivery) });
    if (result === 'contradiction' && record !== null) contradicted(delivery, record);
    emit({ type: 'dead-letter', ...told(delivery), error, record: record?.to ?? null });
  }

  return {
    async begin(taken, askedAt) {
      return new RunningDelivery(taken, {
        downstreamKey: isSync ? () => digestOf(taken) as string : constant(await digestOf(taken)),
        startedAt: performance.now(),
        leasedUntil: askedAt + leaseMs,
        timeMaxMs: deliveryTimeMaxMs,
        async note(request) {
          const result = await ends.note(request);
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
      const request = { id, place, leaseId, started, delayMs: 0, error: null, proven: false, begun: false };
      await ends.retry(request, askedAt + leaseMs);
    },
  };
}

function about({ taken }: RunningDelivery): { id: string; topic: string; delivery: number } {
  return { id: taken.id, topic: taken.topic, delivery: taken.started };
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
    durationMs: performance.now() - delivery.startedAt,
    traceparent: traceparent ?? null,
  };
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
  { backoffMinMs, backoffMaxMs }: Pick<DeliveringOptions, 'backoffMinMs' | 'backoffMaxMs'>,
  deliveries: number,
): number {
  const most = Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.min(40, deliveries - 1));
  return Math.round(most * (0.5 + Math.random() / 2));
}

function textOf(error: unknown): string {
  const text = error instanceof Error ? error.stack : undefined;
  return (typeof text === 'string' ? text : textOfError(error)).slice(0, ERROR_LENGTH_MAX);
}

function constant(key: string): () => string {
  return () => key;
}
